// The operations of pyfastdl.transforms.functional: one image, no plan, RGB bytes out. Any thread; nothing blocks.
#pragma once

#include <cstdint>

#include "base/geometry.h"
#include "base/row_source.h"
#include "base/status.h"
#include "transform/filter.h"

namespace pyfastdl {

// Crops, then resizes, as torchvision does on PIL images: what lies outside the image is zero. `image` was opened;
// `rgb_out` has room for out.height * out.width * 3 bytes (rows top to bottom, three bytes a pixel).
// `fast`: the image may give fewer pixels, see smaller_image.h. Errc::invalid_argument for an empty crop or result. Throws std::bad_alloc.
Status resized_crop(RowSource& image, const Region& crop, Size out, Filter filter, PassOrder order,
                    std::uint8_t* rgb_out, bool fast = false);

}  // namespace pyfastdl
