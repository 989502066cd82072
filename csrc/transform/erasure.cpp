#include "transform/erasure.h"

#include <cstring>

#include "base/random.h"

namespace pyfastdl {
namespace {

template <std::size_t kItem>
void erase_items(const Erasure& erasure, const PixelWriter& writer, Size size, std::byte* cell) {
  const Region& box = erasure.box;
  const bool planes = writer.format().layout == Layout::chw;
  const std::size_t pixel_step = planes ? kItem : 3 * kItem;
  const std::size_t channel_step = planes ? writer.cell_bytes(size) / 3 : kItem;
  NormalNoise noise(erasure.noise);
  std::byte item[kItem];
  const auto set = [&](int channel, float value) {
    value = writer.arithmetic_value(value);
    writer.store(erasure.normalize ? writer.normalized(channel, value) : value, item);
  };
  for (int c = 0; c < 3; ++c) {
    if (erasure.value) set(c, static_cast<float>((*erasure.value)[static_cast<std::size_t>(c)]));
    for (int i = 0; i < box.height; ++i) {
      const int y = box.top + (erasure.flip_vertical ? box.height - 1 - i : i);
      std::byte* row = cell + static_cast<std::size_t>(c) * channel_step +
                       (static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width) +
                        static_cast<std::size_t>(box.left)) *
                           pixel_step;
      for (int j = 0; j < box.width; ++j) {
        if (!erasure.value) {
          float value;
          noise.fill(&value, 1);
          set(c, value);
        }
        const int x = erasure.flip ? box.width - 1 - j : j;
        std::memcpy(row + static_cast<std::size_t>(x) * pixel_step, item, kItem);
      }
    }
  }
}

}  // namespace

void erase(const Erasure& erasure, const PixelWriter& writer, Size size, std::byte* cell) {
  switch (item_bytes(writer.format().dtype)) {
    case 1:
      return erase_items<1>(erasure, writer, size, cell);
    case 2:
      return erase_items<2>(erasure, writer, size, cell);
    default:
      return erase_items<4>(erasure, writer, size, cell);
  }
}

}  // namespace pyfastdl
