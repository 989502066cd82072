// The ring as blocks, for the drop-in's workers: called once per batch.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "bindings/bindings.h"
#include "bindings/errors.h"
#include "bindings/export.h"
#include "bindings/gil.h"
#include "ring/block_ring.h"

namespace py = pybind11;

namespace pyfastdl::bindings {
namespace {

py::object as_tuple(const std::optional<Block>& block) {
  if (!block) return py::none();
  return py::make_tuple(block->number, reinterpret_cast<std::uintptr_t>(block->data));
}

std::unique_ptr<BlockRing> make_private(std::uint32_t blocks, std::uint64_t block_bytes) {
  const GilReleased released;
  return std::make_unique<BlockRing>(Segment::create_private(BlockRing::spec(blocks, block_bytes)));
}

std::unique_ptr<BlockRing> make_shared(int fd, std::uint32_t blocks, std::uint64_t block_bytes) {
  const GilReleased released;
  return std::make_unique<BlockRing>(Segment::create_shared_in(fd, BlockRing::spec(blocks, block_bytes)));
}

// One batch's memory; tensors over it keep it alive after this object is gone.
class BlockLease {
 public:
  BlockLease(LeaseRef lease, std::uint64_t bytes) : lease_(std::move(lease)), bytes_(bytes) {}

  py::object capsule(std::uint64_t offset, int code, int bits, const std::vector<std::int64_t>& shape,
                     const std::optional<std::vector<std::int64_t>>& strides) const {
    if (shape.size() > kMaxExportDims || (strides && strides->size() != shape.size())) {
      throw Error(Errc::invalid_argument,
                  "a tensor over a block has at most 16 dimensions, and as many strides");
    }
    std::vector<std::int64_t> steps(shape.size(), 1);
    std::uint64_t items = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
      steps[i] = static_cast<std::int64_t>(items);
      items *= static_cast<std::uint64_t>(shape[i]);
    }
    if (bits < 8 || bits % 8 != 0) {
      throw Error(Errc::invalid_argument,
                  "a tensor's items have whole bytes, not " + std::to_string(bits) + " bits");
    }
    const std::uint64_t item_bytes = static_cast<std::uint64_t>(bits) / 8;
    if (offset > bytes_ || items > (bytes_ - offset) / item_bytes) {
      throw Error(Errc::invalid_argument, "a tensor must lie within its block");
    }
    const dlpack::DataType dtype{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), 1};
    return export_field(lease_, 0, dtype, shape, strides ? *strides : steps, offset);
  }

 private:
  const LeaseRef lease_;
  const std::uint64_t bytes_;
};

}  // namespace

void bind_ring(py::module_& m) {
  m.def(
      "reserve_segment", [] { return Segment::reserve_shared().release(); },
      "A descriptor (the caller's to close) for a shared ring that is made later.");

  py::class_<BlockLease>(m, "BlockLease")
      .def("capsule", &BlockLease::capsule, py::arg("offset"), py::arg("code"), py::arg("bits"),
           py::arg("shape"), py::arg("strides") = py::none(),
           "A DLPack capsule over a part of the block; offset in bytes, shape and strides in items.");

  py::class_<BlockRing>(m, "BlockRing")
      .def(py::init(&make_private), py::arg("blocks"), py::arg("block_bytes"))
      .def_static("shared", &make_shared, py::arg("fd"), py::arg("blocks"), py::arg("block_bytes"))
      .def(
          "acquire", [](BlockRing& ring) { return as_tuple(ring.acquire()); },
          "(number, address) of a free block, or None.")
      .def("offer", &BlockRing::offer)
      .def("publish", &BlockRing::publish, py::arg("number"))
      .def(
          "take",
          [](BlockRing& ring, std::uint64_t number) {
            return BlockLease(ring.take(number), ring.block_bytes());
          },
          py::arg("number"))
      .def("cancel", &BlockRing::cancel, py::arg("number"))
      .def("reap", &BlockRing::reap)
      .def("reset", &BlockRing::reset)
      .def("close", &BlockRing::close)
      .def_property_readonly("leased", &BlockRing::leased)
      .def_property_readonly("free", &BlockRing::free)
      .def_property_readonly("quarantined", &BlockRing::quarantined)
      .def_property_readonly("block_bytes", &BlockRing::block_bytes);

  py::class_<BlockWriter>(m, "BlockWriter")
      .def_static(
          "attach",
          [](int fd) { return Segment::is_complete(fd) ? std::make_unique<BlockWriter>(fd) : nullptr; },
          py::arg("fd"), "None as long as the ring isn't made.")
      .def(
          "claim", [](BlockWriter& writer) { return as_tuple(writer.claim()); },
          "(number, address) of a block to be written, or None.")
      .def("publish", &BlockWriter::publish, py::arg("number"), py::arg("ok") = true)
      .def_property_readonly("block_bytes", &BlockWriter::block_bytes);
}

}  // namespace pyfastdl::bindings
