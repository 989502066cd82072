// Operations from Python's description of them: a tuple of a name and its arguments.
#pragma once

#include <pybind11/pybind11.h>

#include "transform/op.h"

namespace pyfastdl::bindings {

// Throws Error (invalid_argument) for an unknown name or the wrong number of arguments, py::cast_error for their types.
Op to_op(const pybind11::tuple& spec);

}  // namespace pyfastdl::bindings
