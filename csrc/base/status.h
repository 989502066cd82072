// Status: the outcome of work on one sample, as a value. Error: misuse of an interface, as an exception.
//
// A bad file is data: it travels as a Status through the stages, into its cell and to the policy that the
// user chose (raise, replace, skip). Error is thrown only by calls that a user's thread makes (constructors,
// open, next) and is turned into a Python class by one table in bindings/. Neither crosses threads by unwinding.
#pragma once

#include <exception>
#include <string>
#include <utility>

namespace pyfastdl {

enum class Errc {
  ok = 0,
  invalid_argument,  // ValueError
  wrong_type,        // TypeError
  not_found,         // FileNotFoundError
  io,                // OSError; `sys_errno` says which
  bad_data,          // bytes that do not decode, or an image that does not fit the plan
  unsupported,       // a valid file of a kind that this decoder leaves to another
  limit,             // a limit (pixels, scans, bytes) forbids it
  out_of_memory,     // MemoryError
  closed,            // the other side was stopped
  timeout,           // LoaderError
  peer_died,         // LoaderError
  state,             // LoaderError: a call that does not fit the object's state
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Errc code, std::string message, int sys_errno = 0)
      : code_(code), sys_errno_(sys_errno), message_(std::move(message)) {}

  static Status success() { return {}; }

  bool ok() const { return code_ == Errc::ok; }
  Errc code() const { return code_; }
  int sys_errno() const { return sys_errno_; }
  const std::string& message() const { return message_; }

 private:
  Errc code_ = Errc::ok;
  int sys_errno_ = 0;
  std::string message_;
};

class Error : public std::exception {
 public:
  Error(Errc code, std::string message, int sys_errno = 0)
      : code_(code), sys_errno_(sys_errno), message_(std::move(message)) {}
  explicit Error(const Status& status) : Error(status.code(), status.message(), status.sys_errno()) {}

  const char* what() const noexcept override { return message_.c_str(); }
  Errc code() const noexcept { return code_; }
  int sys_errno() const noexcept { return sys_errno_; }

 private:
  Errc code_;
  int sys_errno_;
  std::string message_;
};

}  // namespace pyfastdl
