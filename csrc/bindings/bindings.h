// The table of contents of the native module: one function and one file per concept.
//
// This folder alone sees Python.h. Every call that may take long gives up the GIL first.
#pragma once

#include <pybind11/pybind11.h>

namespace pyfastdl::bindings {

void register_errors(pybind11::module_& m);  // Errc to Python classes
void bind_build_info(pybind11::module_& m);
void bind_source(pybind11::module_& m);
void bind_decode(pybind11::module_& m);
void bind_transform(pybind11::module_& m);
void bind_image_ops(pybind11::module_& m);
void bind_images(pybind11::module_& m);
void bind_pipeline(pybind11::module_& m);
void bind_ring(pybind11::module_& m);

}  // namespace pyfastdl::bindings
