// Failure: a sample that could not be loaded, as it is listed in `loader.errors`, and the error that raises it.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace pyfastdl {

struct Failure {
  std::int64_t index = 0;
  std::string path;
  std::string reason;
  std::int64_t replaced_by = -1;  // the sample that took its place; -1: none did
  Errc code = Errc::bad_data;
};

class SampleFailureError : public Error {
 public:
  explicit SampleFailureError(Failure failure)
      : Error(Errc::bad_data, failure.reason), failure_(std::move(failure)) {}
  const Failure& failure() const { return failure_; }

 private:
  Failure failure_;
};

}  // namespace pyfastdl
