// Size and Region: integers in pixels, height before width as torchvision orders them.
#pragma once

namespace pyfastdl {

struct Size {
  int height = 0;
  int width = 0;
  friend bool operator==(const Size&, const Size&) = default;
};

// The rectangle [top, top+height) x [left, left+width).
struct Region {
  int top = 0;
  int left = 0;
  int height = 0;
  int width = 0;
  Size size() const { return {height, width}; }
  int bottom() const { return top + height; }
  int right() const { return left + width; }
  friend bool operator==(const Region&, const Region&) = default;
};

inline Region whole(Size size) { return {0, 0, size.height, size.width}; }

inline bool inside(const Region& region, Size size) {
  return region.top >= 0 && region.left >= 0 && region.height >= 0 && region.width >= 0 &&
         region.height <= size.height - region.top && region.width <= size.width - region.left;
}

}  // namespace pyfastdl
