#include "bindings/bindings.h"

PYBIND11_MODULE(_core, m, pybind11::mod_gil_not_used()) {
  using namespace pyfastdl::bindings;
  m.doc() = "The native core of pyfastdl. Private: use the documented names of the package.";
  register_errors(m);
  bind_build_info(m);
  bind_source(m);
  bind_decode(m);
  bind_transform(m);
  bind_image_ops(m);
  bind_images(m);
  bind_pipeline(m);
  bind_ring(m);
}
