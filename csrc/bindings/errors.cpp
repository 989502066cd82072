#include "bindings/errors.h"

#include <exception>

#include "bindings/bindings.h"
#include "pipeline/failure.h"

namespace py = pybind11;

namespace pyfastdl::bindings {
namespace {

// pyfastdl.errors is plain Python: the classes are documented there.
py::object error_class(const char* name) { return py::module_::import("pyfastdl.errors").attr(name); }

// OSError picks its subclass (FileNotFoundError, PermissionError ...) from errno.
void set_os_error(const Error& error) {
  py::object value = py::handle(PyExc_OSError)(error.sys_errno(), error.what());
  PyErr_SetObject(py::type::of(value).ptr(), value.ptr());
}

void set_sample_error(const SampleFailureError& error) {
  const Failure& f = error.failure();
  py::object path = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeFSDefaultAndSize(f.path.data(), static_cast<Py_ssize_t>(f.path.size())));
  py::object reason = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(f.reason.data(), static_cast<Py_ssize_t>(f.reason.size()), "replace"));
  py::object cls = error_class("SampleError");
  py::object value = cls(path, f.index, reason);
  PyErr_SetObject(cls.ptr(), value.ptr());
}

}  // namespace

void set_python_error(const Error& error) {
  switch (error.code()) {
    case Errc::invalid_argument:
    case Errc::bad_data:
    case Errc::unsupported:
    case Errc::limit:
      PyErr_SetString(PyExc_ValueError, error.what());
      return;
    case Errc::wrong_type:
      PyErr_SetString(PyExc_TypeError, error.what());
      return;
    case Errc::not_found:
      if (error.sys_errno() != 0) return set_os_error(error);
      PyErr_SetString(PyExc_FileNotFoundError, error.what());
      return;
    case Errc::io:
      if (error.sys_errno() != 0) return set_os_error(error);
      PyErr_SetString(PyExc_OSError, error.what());
      return;
    case Errc::out_of_memory:
      PyErr_SetString(PyExc_MemoryError, error.what());
      return;
    case Errc::ok:
    case Errc::closed:
    case Errc::timeout:
    case Errc::peer_died:
    case Errc::state:
      break;
  }
  PyErr_SetString(error_class("LoaderError").ptr(), error.what());
}

void register_errors(py::module_&) {
  py::register_local_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const SampleFailureError& error) {
      set_sample_error(error);
    } catch (const Error& error) {
      set_python_error(error);
    }
  });
}

}  // namespace pyfastdl::bindings
