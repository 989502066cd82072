#include "transform/view_transformer.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "transform/one_by_one.h"

namespace pyfastdl {
namespace {

using testing::RgbImage;
using testing::StrictSource;

constexpr PassOrder kOrder = PassOrder::shrink_vertical_first;

View view(std::vector<Op> ops, Size size, DType dtype = DType::uint8) {
  return {std::make_shared<const Plan>(std::move(ops), kOrder, PixelFormat{dtype}), size};
}

std::vector<View> three() {
  return {view({RandomResizedCrop{{12, 14}}, RandomHorizontalFlip{}}, {12, 14}),
          view({RandomResizedCrop{{9, 9}, {0.05, 0.2}}, RandomGrayscale{0.5}}, {9, 9}, DType::float32),
          view({RandomCrop{{20, 20}, Padding{3, 3, 3, 3}}, RandomVerticalFlip{}}, {20, 20})};
}

struct Cells {
  explicit Cells(const std::vector<View>& views) {
    for (const View& v : views) memory.emplace_back(v.plan->cell_bytes(v.cell_size));
    for (auto& cell : memory) pointers.push_back(cell.data());
  }
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::byte*> pointers;
};

TEST(ViewTransformer, EachViewIsItsPlanWithTheViewsNumbersFromOneDecode) {
  const std::vector<View> views = three();
  ViewTransformer transformer(views);
  const RgbImage image = testing::noise({60, 70}, 1);
  for (std::uint64_t index = 0; index < 50; ++index) {
    SampleKey key{.seed = 4, .index = index};
    StrictSource source(image);
    Cells cells(views);
    const Status status = transformer.run(source, key, cells.pointers);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(source.starts(), 1);
    EXPECT_EQ(source.finishes(), 1);
    Region box = source.region();
    int top = 60, left = 70;
    for (std::size_t v = 0; v < views.size(); ++v) {
      key.view = static_cast<std::uint32_t>(v);
      const Plan& plan = *views[v].plan;
      const Draws draws = plan.sample(image.size, key);
      const RgbImage expected = testing::OneByOne(plan, image, draws).take();
      EXPECT_TRUE(cells.memory[v] == testing::cell_of(plan, expected)) << "view " << v;
      Steps steps;
      ASSERT_TRUE(plan.resolve(image.size, draws, steps).ok());
      EXPECT_TRUE(steps.needed().bottom() <= box.bottom() && steps.needed().right() <= box.right());
      top = std::min(top, steps.needed().top);
      left = std::min(left, steps.needed().left);
    }
    EXPECT_EQ(box.top, top);  // no more than what is needed
    EXPECT_EQ(box.left, left);
    if (HasFailure()) return;
  }
}

TEST(ViewTransformer, OneViewStreams) {
  const std::vector<View> views = {three()[0]};
  ViewTransformer transformer(views);
  Transformer alone(views[0].plan);
  const RgbImage image = testing::noise({60, 70}, 1);
  StrictSource source(image), again(image);
  Cells cells(views), expected(views);
  ASSERT_TRUE(transformer.run(source, {.seed = 1}, cells.pointers).ok());
  ASSERT_TRUE(alone.run(again, {.seed = 1}, {12, 14}, expected.pointers[0]).ok());
  EXPECT_TRUE(cells.memory == expected.memory);
}

TEST(ViewTransformer, AViewThatFailsFailsTheImage) {
  std::vector<View> views = three();
  views.push_back(view({RandomCrop{{61, 9}}}, {61, 9}));
  ViewTransformer transformer(views);
  const RgbImage image = testing::noise({60, 70}, 1);
  StrictSource source(image);
  Cells cells(views);
  const Status status = transformer.run(source, {}, cells.pointers);
  EXPECT_EQ(status.code(), Errc::bad_data);
  EXPECT_NE(status.message().find("RandomCrop needs an image of at least 61x9"), std::string::npos)
      << status.message();
  EXPECT_EQ(source.starts(), 0);
}

TEST(ViewTransformer, ErrorsOfTheSourceComeThrough) {
  const std::vector<View> views = three();
  ViewTransformer transformer(views);
  const RgbImage image = testing::noise({60, 70}, 1);
  Cells cells(views);
  StrictSource cut(image);
  cut.fail_at(5);
  EXPECT_EQ(transformer.run(cut, {}, cells.pointers).message(), "cut off");
  StrictSource unsound(image);
  unsound.fail_finish({Errc::bad_data, "cut off below"});
  EXPECT_EQ(transformer.run(unsound, {}, cells.pointers).message(), "cut off below");
}

TEST(ViewTransformer, AnImageThatShowsNowhereIsNotRead) {
  const auto outside = view({Pad{{-20, 0, 40, 0}}, CenterCrop{{5, 5}}}, {5, 5});
  const std::vector<View> views = {outside, outside};
  ViewTransformer transformer(views);
  const RgbImage image = testing::noise({10, 21}, 1);
  StrictSource source(image);
  Cells cells(views);
  ASSERT_TRUE(transformer.run(source, {}, cells.pointers).ok());
  EXPECT_EQ(source.starts(), 0);
  EXPECT_TRUE(cells.memory[1] == std::vector<std::byte>(75));
}

}  // namespace
}  // namespace pyfastdl
