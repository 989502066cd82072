// Operations on finished pixels for transforms.functional and the tests: a uint8 array in, a new one out.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.h"
#include "bindings/errors.h"
#include "bindings/gil.h"
#include "bindings/names.h"
#include "transform/affine_matrix.h"
#include "transform/image_ops.h"

namespace py = pybind11;

namespace pyfastdl::bindings {
namespace {

constexpr std::pair<const char*, Sampling> kSamplings[] = {
    {"nearest", Sampling::nearest}, {"bilinear", Sampling::bilinear}, {"bicubic", Sampling::bicubic}};

// The arguments of an operation, taken one after another from its tuple.
class Arguments {
 public:
  Arguments(const py::tuple& spec, std::size_t count) : spec_(spec) {
    if (spec.size() == count + 1) return;
    throw Error(Errc::invalid_argument,
                "an operation has the wrong number of arguments, " + std::to_string(spec.size() - 1) +
                    " instead of " + std::to_string(count) + ": " + py::repr(spec).cast<std::string>());
  }
  template <class T>
  T next() {
    return spec_[at_++].cast<T>();
  }
  Sampling sampling() { return by_name("the interpolation", next<std::string>(), kSamplings); }

 private:
  const py::tuple& spec_;
  std::size_t at_ = 1;
};

// The number of arguments and the maker of each operation, by name.
struct Maker {
  const char* name;
  std::size_t arguments;
  ImageOp (*make)(Arguments&);
};

constexpr Maker kMakers[] = {
    {"adjust_brightness", 1, [](Arguments& a) -> ImageOp { return AdjustBrightness{a.next<double>()}; }},
    {"adjust_contrast", 1, [](Arguments& a) -> ImageOp { return AdjustContrast{a.next<double>()}; }},
    {"adjust_saturation", 1, [](Arguments& a) -> ImageOp { return AdjustSaturation{a.next<double>()}; }},
    {"adjust_sharpness", 1, [](Arguments& a) -> ImageOp { return AdjustSharpness{a.next<double>()}; }},
    {"adjust_hue", 1,
     [](Arguments& a) -> ImageOp {
       const AdjustHue op{a.next<double>()};
       if (!(op.factor >= -0.5 && op.factor <= 0.5)) {
         throw Error(Errc::invalid_argument,
                     "adjust_hue: the factor must be -0.5 to 0.5, got " + std::to_string(op.factor));
       }
       return op;
     }},
    {"to_grayscale", 0, [](Arguments&) -> ImageOp { return ToGrayscale{}; }},
    {"invert", 0, [](Arguments&) -> ImageOp { return Invert{}; }},
    {"posterize", 1,
     [](Arguments& a) -> ImageOp {
       const Posterize op{a.next<int>()};
       if (op.bits < 0 || op.bits > 8) {
         throw Error(Errc::invalid_argument,
                     "posterize: bits must be 0 to 8, got " + std::to_string(op.bits));
       }
       return op;
     }},
    {"solarize", 1, [](Arguments& a) -> ImageOp { return Solarize{a.next<double>()}; }},
    {"autocontrast", 0, [](Arguments&) -> ImageOp { return AutoContrast{}; }},
    {"equalize", 0, [](Arguments&) -> ImageOp { return Equalize{}; }},
    {"affine", 3,
     [](Arguments& a) -> ImageOp {
       const auto matrix = a.next<std::array<double, 6>>();
       const Sampling sampling = a.sampling();
       return Affine{matrix, sampling, a.next<std::array<std::uint8_t, 3>>()};
     }},
    {"rotate", 3,
     [](Arguments& a) -> ImageOp {
       const auto degrees = a.next<double>();
       if (!std::isfinite(degrees)) {
         throw Error(Errc::invalid_argument,
                     "rotate: the angle must be finite, got " + std::to_string(degrees));
       }
       const Sampling sampling = a.sampling();
       return Rotate{degrees, sampling, a.next<std::array<std::uint8_t, 3>>()};
     }},
};

ImageOp to_image_op(const py::tuple& spec) {
  if (spec.empty()) {
    throw Error(Errc::invalid_argument, "an operation is a tuple that begins with its name, not ()");
  }
  const auto name = spec[0].cast<std::string>();
  for (const Maker& maker : kMakers) {
    if (name != maker.name) continue;
    Arguments arguments(spec, maker.arguments);
    return maker.make(arguments);
  }
  throw Error(Errc::invalid_argument, "the native core has no operation '" + name + "'");
}

Size checked_size(const py::array& image) {
  const auto got = [&image] {
    return py::str(image.dtype()).cast<std::string>() + " " +
           py::str(image.attr("shape")).cast<std::string>();
  };
  if (!py::isinstance<py::array_t<std::uint8_t>>(image) || image.ndim() != 3 || image.shape(2) != 3) {
    throw Error(Errc::invalid_argument,
                "an image is a uint8 array of shape (height, width, 3), not " + got());
  }
  if (image.size() == 0) throw Error(Errc::invalid_argument, "an image has at least one pixel, not " + got());
  if ((image.flags() & py::array::c_style) == 0) {
    throw Error(Errc::invalid_argument,
                "an image's rows lie one after another in memory: make it so by numpy.ascontiguousarray");
  }
  constexpr py::ssize_t kMost = std::numeric_limits<int>::max() / 4;
  if (image.shape(0) > kMost || image.shape(1) > kMost) {
    throw Error(Errc::invalid_argument,
                "an image's sides are at most " + std::to_string(kMost) + ", not " + got());
  }
  return {static_cast<int>(image.shape(0)), static_cast<int>(image.shape(1))};
}

py::array apply(const py::array& image, const std::vector<py::tuple>& specs) {
  const Size size = checked_size(image);
  std::vector<ImageOp> ops;
  ops.reserve(specs.size());
  for (const py::tuple& spec : specs) ops.push_back(to_image_op(spec));
  py::array_t<std::uint8_t> out({size.height, size.width, 3});
  const auto* from = static_cast<const std::uint8_t*>(image.data());
  std::uint8_t* rgb = out.mutable_data();
  const auto bytes = static_cast<std::size_t>(image.size());
  {
    const GilReleased released;
    std::copy_n(from, bytes, rgb);
    ImageOps().run(ops, rgb, size);
  }
  return out;
}

}  // namespace

void bind_image_ops(py::module_& m) {
  m.def(
      "apply_image_ops", &apply, py::arg("image"), py::arg("ops"),
      "Operations, each a tuple of its name and its arguments, one after another on a copy of a uint8 array "
      "(height, width, 3).");
  m.def("inverse_affine_matrix", &inverse_affine_matrix, py::arg("center"), py::arg("angle"),
        py::arg("translate"), py::arg("scale"), py::arg("shear"),
        "The six numbers of torchvision's inverse affine matrix. Angles in degrees.");
}

}  // namespace pyfastdl::bindings
