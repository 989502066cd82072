#include "transform/simd_target.h"

#include <hwy/targets.h>

namespace pyfastdl {

const char* simd_target() {
  // The best one has the lowest bit.
  const auto supported = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(supported & -supported);
}

}  // namespace pyfastdl
