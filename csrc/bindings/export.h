// A field of a batch as a DLPack capsule: torch sees the slot's memory itself, and the lease lives as long as it does.
//
// The deleter takes no GIL and may run on any thread; in a forked child it frees its own few bytes and leaves the
// parent's slot alone. A capsule that nobody consumed gives the lease back too.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <span>

#include "bindings/dlpack.h"
#include "ring/lease.h"

namespace pyfastdl::bindings {

inline constexpr std::size_t kMaxExportDims = 16;

// Shape and strides in items, the offset of the first item in bytes from the field's start. REQUIRES: the GIL; as many
// strides as sizes, at most kMaxExportDims.
pybind11::object export_field(const LeaseRef& lease, std::uint32_t field, dlpack::DataType dtype,
                              std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                              std::uint64_t offset = 0);

}  // namespace pyfastdl::bindings
