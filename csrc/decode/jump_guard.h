// JumpGuard: where libjpeg and libpng jump to when they give up, and what they said.
//
// Note [setjmp]
// These libraries report an error by a call that must not return, so the only way out is longjmp. longjmp skips
// destructors, and a skipped destructor is undefined behaviour. Therefore:
// - the library is called only inside run(), which holds the only setjmp;
// - a body given to run() captures references and owns nothing: neither it nor any function between it and
//   the library has a local with a destructor (Status and std::string included), nor calls what may throw;
// - what a body computes goes to variables of run()'s caller or to members. Only locals of the function that
//   calls setjmp are undefined after the jump; run() has none, and as it is not inlined, it shares its frame
//   with no caller;
// - the libraries' callbacks write into fixed arrays; the Status is made after run() has returned.
#pragma once

#include <csetjmp>
#include <type_traits>

namespace pyfastdl {

class JumpGuard {
 public:
  // Runs body(); false if it ended in jump(). Not to be nested.
  template <class Body>
  [[gnu::noinline]] bool run(Body&& body) {
    static_assert(std::is_trivially_destructible_v<std::remove_reference_t<Body>>);
    if (setjmp(target_) != 0) return false;
    body();
    return true;
  }

  // REQUIRES: called from within run().
  [[noreturn]] void jump() { std::longjmp(target_, 1); }

 private:
  std::jmp_buf target_;
};

}  // namespace pyfastdl
