// The one table that turns C++ errors into Python exceptions.
#pragma once

#include <pybind11/pybind11.h>

#include "base/status.h"

namespace pyfastdl::bindings {

// Sets the Python exception that belongs to the error: the built-in classes for wrong arguments and for files,
// pyfastdl.LoaderError for the loader's own state. REQUIRES: the GIL.
void set_python_error(const Error& error);

// Throws when the status is not ok.
inline void check(const Status& status) {
  if (!status.ok()) throw Error(status);
}

}  // namespace pyfastdl::bindings
