// Draw: what a random operation drew for one sample, as plain values; and how each operation draws.
//
// The distributions are torchvision's (its get_params), the numbers those of the sample's own stream (base/random.h),
// taken one after another in the order of the operations. Which numbers an operation takes is part of what a seed means.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "base/geometry.h"
#include "base/random.h"
#include "transform/auto_augment.h"
#include "transform/op.h"

namespace pyfastdl {

// RandomResizedCrop; RandomCrop (in the padded image).
struct DrawnCrop {
  Region box;
  friend bool operator==(const DrawnCrop&, const DrawnCrop&) = default;
};

// RandomHorizontalFlip, RandomVerticalFlip, RandomGrayscale: whether it is done.
struct DrawnChoice {
  bool taken = false;
  friend bool operator==(const DrawnChoice&, const DrawnChoice&) = default;
};

enum class Jitter : std::uint8_t { brightness, contrast, saturation, hue };

// ColorJitter. Factors by Jitter; nullopt where the operation has no range.
struct DrawnJitter {
  std::array<Jitter, 4> order{Jitter::brightness, Jitter::contrast, Jitter::saturation, Jitter::hue};
  std::array<std::optional<double>, 4> factors;
  friend bool operator==(const DrawnJitter&, const DrawnJitter&) = default;
};

// RandAugment (one for each of its num_ops), TrivialAugmentWide.
struct DrawnAugment {
  Augment augment = Augment::identity;
  double magnitude = 0;  // with its sign
  friend bool operator==(const DrawnAugment&, const DrawnAugment&) = default;
};

// RandomErasing.
struct DrawnErase {
  std::optional<Region> box;  // nullopt: nothing is erased
  std::uint64_t noise = 0;    // the key of the NormalNoise, where the operation has no value
  friend bool operator==(const DrawnErase&, const DrawnErase&) = default;
};

struct Draw {
  int op = 0;  // position in Plan::ops()
  std::variant<DrawnCrop, DrawnChoice, DrawnJitter, DrawnAugment, DrawnErase> value;
  friend bool operator==(const Draw&, const Draw&) = default;
};
using Draws = std::vector<Draw>;  // in the order of the operations

// Appends what the operation at position `at` draws for an image of this size: nothing, if it isn't random.
// REQUIRES: the operation was checked (op_rules.h) and can be done to such an image.
void draw(const Op& op, int at, Size image, SampleRandom& random, Draws& draws);

}  // namespace pyfastdl
