// Op: one operation of a plan, as plain values with torchvision's meaning (on PIL images). Plan checks them.
#pragma once

#include <array>
#include <optional>
#include <variant>

#include "base/geometry.h"
#include "transform/filter.h"

namespace pyfastdl {

struct RandomResizedCrop {
  Size size;
  std::array<double, 2> scale{0.08, 1.0};
  std::array<double, 2> ratio{3.0 / 4.0, 4.0 / 3.0};
  Filter filter = Filter::bilinear;
};

// To exactly this size.
struct Resize {
  Size size;
  Filter filter = Filter::bilinear;
};

// The shorter side to `shorter`, the longer in proportion, but no longer than `max_size`.
struct ResizeShorter {
  int shorter = 0;
  std::optional<int> max_size = std::nullopt;
  Filter filter = Filter::bilinear;
};

// Smaller images are padded with zeros first.
struct CenterCrop {
  Size size;
};

struct RandomHorizontalFlip {
  double p = 0.5;
};

// On the values that ToTensor gives (0 to 1), so only flips may follow it.
struct Normalize {
  std::array<double, 3> mean{};
  std::array<double, 3> std{};
};

using Op =
    std::variant<RandomResizedCrop, Resize, ResizeShorter, CenterCrop, RandomHorizontalFlip, Normalize>;

}  // namespace pyfastdl
