// Which vector instructions the kernels use on this machine.
#pragma once

namespace pyfastdl {

// Highway's name of the target, such as "AVX2" or "NEON".
const char* simd_target();

}  // namespace pyfastdl
