#include "bindings/export.h"

#include <algorithm>
#include <memory>

namespace py = pybind11;

namespace pyfastdl::bindings {
namespace {

constexpr char kFresh[] = "dltensor";  // the name says who owns it: a consumer renames the capsule

struct Exported {
  dlpack::ManagedTensor tensor{};
  std::int64_t shape[kMaxExportDims] = {};
  std::int64_t strides[kMaxExportDims] = {};
  LeaseRef lease;
};

void destroy(dlpack::ManagedTensor* tensor) { delete static_cast<Exported*>(tensor->manager_ctx); }

void destroy_unconsumed(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kFresh)) return;
  destroy(static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule, kFresh)));
}

}  // namespace

py::object export_field(const LeaseRef& lease, std::uint32_t field, dlpack::DataType dtype,
                        std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                        std::uint64_t offset) {
  auto exported = std::make_unique<Exported>();
  std::copy(shape.begin(), shape.end(), exported->shape);
  std::copy(strides.begin(), strides.end(), exported->strides);
  exported->lease = lease;
  exported->tensor.dl_tensor = {
      // Not in byte_offset, which not every version of torch reads.
      .data = lease->field(field) + offset,
      .device = {.type = 1, .id = 0},
      .ndim = static_cast<std::int32_t>(shape.size()),
      .dtype = dtype,
      .shape = exported->shape,
      .strides = exported->strides,
      .byte_offset = 0,
  };
  exported->tensor.manager_ctx = exported.get();
  exported->tensor.deleter = &destroy;
  PyObject* capsule = PyCapsule_New(&exported->tensor, kFresh, &destroy_unconsumed);
  if (capsule == nullptr) throw py::error_already_set();
  exported.release();
  return py::reinterpret_steal<py::object>(capsule);
}

}  // namespace pyfastdl::bindings
