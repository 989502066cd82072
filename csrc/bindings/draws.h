// The random numbers of a sample as Python has them: a dict with the keys that Compose.sample documents.
#pragma once

#include <pybind11/pybind11.h>

#include "transform/plan.h"

namespace pyfastdl::bindings {

// Where a key is there already, a later one has "_2", "_3" behind it.
pybind11::dict to_dict(const Plan& plan, const Draws& draws);

}  // namespace pyfastdl::bindings
