// Op: one operation of a plan, as plain values with torchvision's meaning (on PIL images). Plan checks them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <variant>

#include "base/geometry.h"
#include "transform/filter.h"
#include "transform/image_op.h"
#include "transform/pixels.h"

namespace pyfastdl {

using Range = std::array<double, 2>;  // low, high
using Rgb = std::array<std::uint8_t, 3>;

// -- geometry

struct RandomResizedCrop {
  Size size;
  Range scale{0.08, 1.0};
  Range ratio{3.0 / 4.0, 4.0 / 3.0};
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

// Pixels added at each side; a negative number takes some away.
struct Padding {
  int left = 0;
  int top = 0;
  int right = 0;
  int bottom = 0;
};

// What the added pixels are: `fill`, the nearest pixel of the image, or the image mirrored without or with its edge.
enum class PadMode { constant, edge, reflect, symmetric };

struct Pad {
  Padding padding;
  Rgb fill{};
  PadMode mode = PadMode::constant;
};

// An image smaller than `size`, once padded, can't be transformed unless pad_if_needed.
struct RandomCrop {
  Size size;
  std::optional<Padding> padding = std::nullopt;
  bool pad_if_needed = false;
  Rgb fill{};
  PadMode mode = PadMode::constant;
};

struct RandomHorizontalFlip {
  double p = 0.5;
};
struct RandomVerticalFlip {
  double p = 0.5;
};

// -- colours

struct Grayscale {};  // three equal channels

struct RandomGrayscale {
  double p = 0.1;
};

// In a random order, each by a factor from its range; nullopt leaves that one out.
struct ColorJitter {
  std::optional<Range> brightness = std::nullopt;
  std::optional<Range> contrast = std::nullopt;
  std::optional<Range> saturation = std::nullopt;
  std::optional<Range> hue = std::nullopt;
};

// -- automatic augmentation (auto_augment.h has the operations and their magnitudes)

struct RandAugment {
  int num_ops = 2;
  int magnitude = 9;
  int num_magnitude_bins = 31;
  Sampling sampling = Sampling::nearest;
  Rgb fill{};
};

struct TrivialAugmentWide {
  int num_magnitude_bins = 31;
  Sampling sampling = Sampling::nearest;
  Rgb fill{};
};

// -- from pictures to numbers

// The bytes as they are: PILToTensor, ToImage.
struct ToBytes {
  bool takes_tensors = false;  // ToImage does, and leaves them as they are
};
// Bytes divided by 255, in float32.
struct ToTensor {};
// v2's: floats from bytes are multiplied by 1/255 if `scale`, else the bytes' own values.
struct ToDtype {
  DType dtype = DType::float32;
  bool scale = false;
};

struct Normalize {
  std::array<double, 3> mean{};
  std::array<double, 3> std{};
};

// Writes `value` over a random box, or, without a value, numbers from the standard normal distribution.
struct RandomErasing {
  double p = 0.5;
  Range scale{0.02, 0.33};
  Range ratio{0.3, 3.3};
  std::optional<std::array<double, 3>> value = std::array<double, 3>{};
};

using Op =
    std::variant<RandomResizedCrop, Resize, ResizeShorter, CenterCrop, Pad, RandomCrop, RandomHorizontalFlip,
                 RandomVerticalFlip, Grayscale, RandomGrayscale, ColorJitter, RandAugment, TrivialAugmentWide,
                 ToBytes, ToTensor, ToDtype, Normalize, RandomErasing>;

// Visits a variant with one lambda a kind.
template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

}  // namespace pyfastdl
