#include "pipeline/job_queues.h"

#include <utility>

namespace pyfastdl {
namespace {

// A recycled job keeps a buffer for an ordinary photograph, not one for the largest file that ever came by.
constexpr std::size_t kKeptBytes = std::size_t{512} << 10;
constexpr std::size_t kSpareJobs = 64;

JobPtr pop(std::deque<JobPtr>& queue) {
  JobPtr job = std::move(queue.front());
  queue.pop_front();
  return job;
}

}  // namespace

void JobQueues::changed() {
  ++generation_;
  change_.notify_all();
}

JobPtr JobQueues::new_job(const Ticket& ticket) {
  JobPtr job;
  {
    MutexLock lock(mutex_);
    if (!spare_.empty()) {
      job = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  if (job == nullptr) job = std::make_unique<Job>();
  job->ticket = ticket;
  job->index = ticket.index;
  job->attempt = 0;
  job->reason.clear();
  return job;
}

void JobQueues::recycle(JobPtr job) {
  job->bytes.trim(kKeptBytes);
  MutexLock lock(mutex_);
  if (spare_.size() < kSpareJobs) spare_.push_back(std::move(job));
}

void JobQueues::push_to_read(JobPtr job) {
  MutexLock lock(mutex_);
  to_read_.push_back(std::move(job));
  read_ready_.notify_one();
}

void JobQueues::push_to_decode(JobPtr job) {
  MutexLock lock(mutex_);
  to_decode_.push_back(std::move(job));
  ++generation_;
  change_.notify_one();  // one job, one thread
}

void JobQueues::push_to_pillow(JobPtr job) {
  MutexLock lock(mutex_);
  to_pillow_.push_back(std::move(job));
  pillow_ready_.notify_one();
}

JobPtr JobQueues::pop_to_read() {
  MutexLock lock(mutex_);
  while (to_read_.empty() && !stopped_) read_ready_.wait(mutex_);
  if (stopped_) return nullptr;
  JobPtr job = pop(to_read_);
  // Said here and not when the file is read: a file that fails never comes to push_to_decode.
  if (to_read_.size() + 1 == read_limit_) changed();
  return job;
}

JobPtr JobQueues::pop_to_decode() {
  MutexLock lock(mutex_);
  if (to_decode_.empty()) return nullptr;
  return pop(to_decode_);
}

JobPtr JobQueues::pop_to_pillow(std::chrono::steady_clock::time_point deadline) {
  MutexLock lock(mutex_);
  while (to_pillow_.empty() && !stopped_) {
    if (!pillow_ready_.wait_until(mutex_, deadline)) break;
  }
  if (stopped_ || to_pillow_.empty()) return nullptr;
  JobPtr job = pop(to_pillow_);
  if (to_pillow_.size() + 1 == pillow_limit_) changed();
  return job;
}

std::uint64_t JobQueues::generation() {
  MutexLock lock(mutex_);
  return generation_;
}

void JobQueues::wait_for_change(std::uint64_t seen) {
  MutexLock lock(mutex_);
  while (generation_ == seen) change_.wait(mutex_);
}

void JobQueues::announce() {
  MutexLock lock(mutex_);
  changed();
}

bool JobQueues::may_claim() {
  MutexLock lock(mutex_);
  return to_read_.size() < read_limit_ && to_pillow_.size() < pillow_limit_;
}

bool JobQueues::pillow_is_waiting() {
  MutexLock lock(mutex_);
  return !to_pillow_.empty();
}

std::vector<JobPtr> JobQueues::drain() {
  std::vector<JobPtr> jobs;
  MutexLock lock(mutex_);
  for (auto* queue : {&to_read_, &to_decode_, &to_pillow_}) {
    for (JobPtr& job : *queue) jobs.push_back(std::move(job));
    queue->clear();
  }
  changed();
  return jobs;
}

void JobQueues::stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  changed();
  read_ready_.notify_all();
  pillow_ready_.notify_all();
}

bool JobQueues::stopped() {
  MutexLock lock(mutex_);
  return stopped_;
}

}  // namespace pyfastdl
