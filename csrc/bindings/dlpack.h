// The DLPack exchange structures (version 0.8, the layout behind capsules named "dltensor"), as its specification
// fixes them: https://dmlc.github.io/dlpack/latest/c_api.html. Plain C layout; nothing of Python here.
#pragma once

#include <cstdint>

namespace pyfastdl::dlpack {

struct Device {
  std::int32_t type;  // 1: CPU
  std::int32_t id;
};

enum TypeCode : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6 };

struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};

struct ManagedTensor {
  Tensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(ManagedTensor* self);
};

}  // namespace pyfastdl::dlpack
