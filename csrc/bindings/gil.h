// GilReleased: gives up the GIL for its lifetime.
//
// pybind11 has a guard of its own, whose destructor must not unwind. But when the interpreter is ending, Python up to 3.13
// ends a daemon thread that asks for the GIL by unwinding it (pthread_exit), and a destructor that forbids that ends the
// whole process with SIGABRT instead. So this one allows it; pybind11 lets the unwinding pass.
#pragma once

#include <pybind11/pybind11.h>

namespace pyfastdl::bindings {

class GilReleased {
 public:
  GilReleased() : state_(PyEval_SaveThread()) {}
  ~GilReleased() noexcept(false) { PyEval_RestoreThread(state_); }
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;

 private:
  PyThreadState* const state_;
};

}  // namespace pyfastdl::bindings
