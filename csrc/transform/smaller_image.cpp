#include "transform/smaller_image.h"

namespace pyfastdl {

int least_eighths(Size crop, Size out) {
  for (const int eighths : {1, 2, 4}) {
    const auto keeps = [eighths](int side, int least) { return side * (eighths / 8.0) >= least; };
    if (keeps(crop.height, out.height) && keeps(crop.width, out.width)) return eighths;
  }
  return 8;
}

void use_smaller_image(RowSource& image, Steps& steps) {
  const Step& first = steps.list().front();
  if (!first.shows_input()) return;
  const int eighths = least_eighths(first.crop.size(), first.resize.out);
  if (eighths < 8 && image.shrink(eighths)) steps.shrink(eighths, image.size());
}

}  // namespace pyfastdl
