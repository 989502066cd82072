#include "base/byte_budget.h"

#include <algorithm>
#include <string>

namespace pyfastdl {

void ByteBudget::Reservation::release() {
  if (budget_ != nullptr) budget_->give_back(bytes_);
  budget_ = nullptr;
  bytes_ = 0;
}

Status ByteBudget::reserve(std::uint64_t bytes, Reservation& into) {
  into.release();
  if (bytes > capacity_) {
    return {Errc::limit, "decoding and transforming it takes about " + std::to_string(bytes) +
                             " bytes at once, more than the limit of " + std::to_string(capacity_) +
                             " for all images together (max_memory)"};
  }
  MutexLock lock(mutex_);
  // Who comes while others wait stands behind them.
  if (!stopped_ && (usage_.waiting > 0 || !fits(bytes))) {
    const std::uint64_t number = first_waiting_ + usage_.waiting++;
    const auto begin = std::chrono::steady_clock::now();
    while (!stopped_ && (number != first_waiting_ || !fits(bytes))) changed_.wait(mutex_);
    --usage_.waiting;
    usage_.waited += std::chrono::steady_clock::now() - begin;
    ++first_waiting_;
    changed_.notify_all();  // there may be room for the next one too
  }
  if (stopped_) return {Errc::closed, "the loader was closed while the image waited for memory"};
  usage_.held += bytes;
  usage_.peak = std::max(usage_.peak, usage_.held);
  into.budget_ = this;
  into.bytes_ = bytes;
  return {};
}

void ByteBudget::stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

ByteBudget::Usage ByteBudget::usage() const {
  MutexLock lock(mutex_);
  return usage_;
}

void ByteBudget::give_back(std::uint64_t bytes) {
  MutexLock lock(mutex_);
  usage_.held -= bytes;
  changed_.notify_all();
}

}  // namespace pyfastdl
