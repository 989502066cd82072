#include "transform/functional.h"

#include <cstddef>
#include <string>

#include "transform/pixels.h"
#include "transform/smaller_image.h"
#include "transform/step_runner.h"

namespace pyfastdl {
namespace {

class RgbSink : public CanvasSink {
 public:
  explicit RgbSink(std::uint8_t* rgb) : cell_(reinterpret_cast<std::byte*>(rgb)) {}
  void put_row(const std::uint8_t* rgb, int y, Size size, bool mirror) override {
    writer_.write_row(rgb, y, size, mirror, cell_);
  }

 private:
  PixelWriter writer_{PixelFormat{DType::uint8, Layout::hwc}};
  std::byte* cell_;
};

std::string text(int height, int width) { return std::to_string(height) + "x" + std::to_string(width); }

}  // namespace

Status resized_crop(RowSource& image, const Region& crop, Size out, Filter filter, PassOrder order,
                    std::uint8_t* rgb_out, bool fast) {
  constexpr int kLimit = kMaxSide;
  const auto fits = [](int side) { return side >= 1 && side <= kLimit; };
  const auto near = [](int at) { return at >= -kLimit && at <= kLimit; };
  if (!fits(crop.height) || !fits(crop.width) || !near(crop.top) || !near(crop.left)) {
    return {Errc::invalid_argument, "resized_crop needs a crop with sides of 1 to " + std::to_string(kLimit) +
                                        " near the image, not " + text(crop.height, crop.width) + " at top " +
                                        std::to_string(crop.top) + ", left " + std::to_string(crop.left)};
  }
  if (!fits(out.height) || !fits(out.width)) {
    return {Errc::invalid_argument, "resized_crop needs a size with sides of 1 to " + std::to_string(kLimit) +
                                        ", not " + text(out.height, out.width)};
  }
  Steps steps;
  steps.start(image.size());
  steps.crop(crop);
  steps.resize(out, filter, order);
  if (fast) use_smaller_image(image, steps);
  RgbSink sink(rgb_out);
  StepRunner runner;
  return runner.run(steps, image, sink);
}

}  // namespace pyfastdl
