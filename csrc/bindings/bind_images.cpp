// Encoded images straight to a resized crop: only the box is decoded, where the codec can.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <string>
#include <utility>

#include "bindings/bindings.h"
#include "bindings/bytes_view.h"
#include "bindings/errors.h"
#include "bindings/gil.h"
#include "bindings/image_opener.h"
#include "bindings/names.h"
#include "transform/functional.h"

namespace py = pybind11;

namespace pyfastdl::bindings {
namespace {

// None where the image is one for Pillow.
py::object resized_crop_encoded(const py::object& data, int top, int left, int height, int width,
                                const std::pair<int, int>& size, const std::string& filter,
                                const std::string& pass_order, std::uint64_t max_pixels, bool orient,
                                bool fast) {
  const BytesView bytes(data);
  const Filter by = to_filter(filter);
  const PassOrder order = to_pass_order(pass_order);
  const Region crop{top, left, height, width};
  const Size out{size.first, size.second};
  if (out.height < 1 || out.width < 1) throw Error(Errc::invalid_argument, "the size must be positive");
  py::array_t<std::uint8_t> result({out.height, out.width, 3});
  std::uint8_t* rgb = result.mutable_data();
  Status status;
  {
    const GilReleased released;
    ImageOpener opener;
    RowSource* image = opener.open(bytes.span(), max_pixels, orient);
    status = image == nullptr ? Status(Errc::unsupported, "for Pillow")
                              : resized_crop(*image, crop, out, by, order, rgb, fast);
  }
  if (status.code() == Errc::unsupported) return py::none();
  check(status);
  return result;
}

}  // namespace

void bind_images(py::module_& m) {
  m.def("resized_crop_encoded", &resized_crop_encoded, py::arg("data"), py::arg("top"), py::arg("left"),
        py::arg("height"), py::arg("width"), py::arg("size"), py::arg("filter"), py::arg("pass_order"),
        py::kw_only(), py::arg("max_pixels") = DecodeLimits{}.max_pixels,
        py::arg("apply_exif_orientation") = false, py::arg("fast") = false);
}

}  // namespace pyfastdl::bindings
