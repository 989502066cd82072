// BytesView: the memory of a Python bytes-like object.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"

namespace pyfastdl::bindings {

// The bytes of a bytes-like object, held for as long as this lives. REQUIRES: the GIL at both ends.
class BytesView {
 public:
  explicit BytesView(const pybind11::object& object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) {
      // Its own message does not say what was wanted.
      PyErr_Clear();
      throw Error(Errc::wrong_type,
                  "wanted the bytes of an image (bytes, bytearray, memoryview or another contiguous "
                  "buffer), got " +
                      pybind11::str(pybind11::type::of(object)).cast<std::string>());
    }
  }
  ~BytesView() { PyBuffer_Release(&view_); }
  BytesView(const BytesView&) = delete;
  BytesView& operator=(const BytesView&) = delete;

  std::span<const std::uint8_t> span() const {
    return {static_cast<const std::uint8_t*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

 private:
  Py_buffer view_;
};

}  // namespace pyfastdl::bindings
