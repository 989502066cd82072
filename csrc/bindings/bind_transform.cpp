// Plans from Python's description of the transforms, and the resize alone, for transforms.functional and the tests.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/pixels_source.h"
#include "bindings/bindings.h"
#include "bindings/draws.h"
#include "bindings/errors.h"
#include "bindings/gil.h"
#include "bindings/names.h"
#include "bindings/specs.h"
#include "transform/functional.h"
#include "transform/plan.h"
#include "transform/transformer.h"

namespace py = pybind11;

namespace pyfastdl::bindings {
namespace {

using Pair = std::pair<int, int>;
using Image = py::array_t<std::uint8_t, py::array::c_style>;

Size to_size(const Pair& pair) { return {pair.first, pair.second}; }
py::tuple from_size(Size size) { return py::make_tuple(size.height, size.width); }

std::shared_ptr<Plan> make_plan(const std::vector<py::tuple>& specs, const std::string& dtype,
                                bool channels_last, const std::string& pass_order) {
  std::vector<Op> ops;
  ops.reserve(specs.size());
  for (const py::tuple& spec : specs) ops.push_back(to_op(spec));
  const PixelFormat format{by_name("dtype", dtype, kDTypes), channels_last ? Layout::hwc : Layout::chw};
  return std::make_shared<Plan>(std::move(ops), to_pass_order(pass_order), format);
}

void check_not_empty(Size image) {
  if (image.height < 1 || image.width < 1) {
    throw Error(Errc::invalid_argument, "an image has at least one pixel, not " +
                                            std::to_string(image.height) + "x" + std::to_string(image.width) +
                                            " (height x width)");
  }
}

PixelsSource to_source(const Image& image) {
  if (image.ndim() != 3 || image.shape(2) != 3) {
    throw Error(Errc::invalid_argument, "an image is a uint8 array of shape (height, width, 3), not " +
                                            py::str(image.attr("shape")).cast<std::string>());
  }
  const Size size{static_cast<int>(image.shape(0)), static_cast<int>(image.shape(1))};
  check_not_empty(size);
  return {image.data(), size, 3, static_cast<std::ptrdiff_t>(size.width) * 3};
}

py::array apply(const std::shared_ptr<Plan>& plan, const Image& image, const SampleKey& key) {
  PixelsSource source = to_source(image);
  const PixelFormat& format = plan->format();
  // An image that can't be transformed goes on with an empty cell: run() says why.
  const Size size = plan->output_size(source.size());
  const char* dtype = format.dtype == DType::uint8     ? "uint8"
                      : format.dtype == DType::float32 ? "float32"
                      : format.dtype == DType::float16 ? "float16"
                                                       : "uint16";
  const std::vector<py::ssize_t> shape = format.layout == Layout::chw
                                             ? std::vector<py::ssize_t>{3, size.height, size.width}
                                             : std::vector<py::ssize_t>{size.height, size.width, 3};
  py::array out(py::dtype(dtype), shape);
  auto* cell = static_cast<std::byte*>(out.mutable_data());
  Status status;
  {
    const GilReleased released;
    status = Transformer(plan).run(source, key, size, cell);
  }
  check(status);
  return out;
}

py::array crop_and_resize(const Image& image, const Region& crop, Size size, const std::string& filter,
                          const std::string& pass_order) {
  PixelsSource source = to_source(image);
  const Filter by = to_filter(filter);
  const PassOrder order = to_pass_order(pass_order);
  py::array_t<std::uint8_t> out({size.height > 0 ? size.height : 0, size.width > 0 ? size.width : 0, 3});
  std::uint8_t* rgb = out.mutable_data();
  Status status;
  {
    const GilReleased released;
    status = resized_crop(source, crop, size, by, order, rgb);
  }
  check(status);
  return out;
}

}  // namespace

void bind_transform(py::module_& m) {
  py::class_<Plan, std::shared_ptr<Plan>>(m, "Plan", "Transforms, checked and ready to run.")
      .def(py::init(&make_plan), py::arg("specs"), py::kw_only(), py::arg("dtype"), py::arg("channels_last"),
           py::arg("pass_order"))
      .def(
          "sample",
          [](const Plan& plan, int height, int width, std::uint64_t seed, std::uint32_t epoch,
             std::uint64_t index, std::uint32_t occurrence, std::uint32_t view) {
            check_not_empty({height, width});
            return to_dict(plan, plan.sample({height, width}, {seed, epoch, index, occurrence, view}));
          },
          py::arg("height"), py::arg("width"), py::arg("seed"), py::arg("epoch"), py::arg("index"),
          py::arg("occurrence") = 0, py::arg("view") = 0,
          "The random numbers of a sample, by the documented keys.")
      .def(
          "static_output_size",
          [](const Plan& plan) -> py::object {
            const std::optional<Size> size = plan.static_output_size();
            return size ? py::object(from_size(*size)) : py::none();
          },
          "(height, width) of every result, or None when it depends on the image.")
      .def(
          "output_size",
          [](const Plan& plan, int height, int width) {
            check_not_empty({height, width});
            return from_size(plan.output_size({height, width}));
          },
          py::arg("height"), py::arg("width"),
          "(height, width) of the result for an image of that size; (0, 0) when it can't be transformed.")
      .def(
          "apply",
          [](const std::shared_ptr<Plan>& plan, const Image& image, std::uint64_t seed, std::uint32_t epoch,
             std::uint64_t index, std::uint32_t occurrence,
             std::uint32_t view) { return apply(plan, image, {seed, epoch, index, occurrence, view}); },
          py::arg("image"), py::arg("seed"), py::arg("epoch"), py::arg("index"), py::arg("occurrence") = 0,
          py::arg("view") = 0,
          "The cell of a sample whose image is this array; bfloat16 comes as its bits in uint16.");
  m.def(
      "resize",
      [](const Image& image, const Pair& size, const std::string& filter, const std::string& pass_order) {
        return crop_and_resize(image, whole(to_source(image).size()), to_size(size), filter, pass_order);
      },
      py::arg("image"), py::arg("size"), py::arg("filter"), py::arg("pass_order"),
      "Pillow's Image.resize on a uint8 array (height, width, 3).");
  m.def(
      "resized_crop",
      [](const Image& image, int top, int left, int height, int width, const Pair& size,
         const std::string& filter, const std::string& pass_order) {
        return crop_and_resize(image, {top, left, height, width}, to_size(size), filter, pass_order);
      },
      py::arg("image"), py::arg("top"), py::arg("left"), py::arg("height"), py::arg("width"), py::arg("size"),
      py::arg("filter"), py::arg("pass_order"),
      "torchvision's resized_crop of a PIL image, on a uint8 array.");
}

}  // namespace pyfastdl::bindings
