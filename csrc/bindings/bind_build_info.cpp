// What the module was built with.
#include "bindings/bindings.h"
#include "transform/simd_target.h"

namespace py = pybind11;

namespace pyfastdl::bindings {

void bind_build_info(py::module_& m) {
  m.def("build_info", [] {
    py::dict info;
#if defined(__clang__)
    info["compiler"] = "clang " __clang_version__;
#elif defined(__GNUC__)
    info["compiler"] = "gcc " __VERSION__;
#endif
    info["pybind11"] =
        PYBIND11_TOSTRING(PYBIND11_VERSION_MAJOR) "." PYBIND11_TOSTRING(PYBIND11_VERSION_MINOR);
    info["simd"] = simd_target();
    return info;
  });
}

}  // namespace pyfastdl::bindings
