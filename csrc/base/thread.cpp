#include "base/thread.h"

#include <signal.h>
#include <unistd.h>

#include <utility>

#include "base/mutex.h"
#include "base/status.h"
#include "base/text.h"

namespace pyfastdl {
namespace {

constexpr std::size_t kMaxName = 15;

// Blocks what a native thread must not handle, for its creation only: a new thread inherits the mask.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int own_fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
      sigdelset(&blocked, own_fault);
    }
    pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

struct Thread::State {
  std::string name;
  std::function<void()> body;
  Mutex mutex;
  CondVar ended;
  bool done PYFASTDL_GUARDED_BY(mutex) = false;
};

Thread::Thread() = default;
Thread::Thread(Thread&&) noexcept = default;
Thread::~Thread() { join(); }

void* Thread::run(void* argument) {
  auto* state = static_cast<State*>(argument);
  pthread_setname_np(pthread_self(), state->name.c_str());
  [&]() noexcept { state->body(); }();
  // What the body captured dies on its own thread, before anyone is told that it ended.
  state->body = nullptr;
  MutexLock lock(state->mutex);
  state->done = true;
  state->ended.notify_all();
  return nullptr;
}

void Thread::start(const std::string& name, std::function<void()> body) {
  auto state = std::make_unique<State>();
  state->name = name.substr(0, kMaxName);
  state->body = std::move(body);
  int refused;
  {
    const SignalsBlocked blocked;
    refused = pthread_create(&handle_, nullptr, &Thread::run, state.get());
  }
  if (refused != 0) {
    throw Error(Errc::state,
                "the system refused to start the thread " + quoted(name) + " (" + errno_text(refused) +
                    "): use fewer workers, or raise the limit on processes (ulimit -u, or the container's)",
                refused);
  }
  state_ = std::move(state);
  owner_ = getpid();
}

bool Thread::in_owner() const { return owner_ == getpid(); }

// In a forked child: the state may be locked by the thread that is not there, so it is left as it is.
void Thread::abandon() { (void)state_.release(); }

void Thread::leave() {
  if (!joinable()) return;
  if (in_owner()) pthread_detach(handle_);
  abandon();
}

void Thread::join() {
  if (!joinable()) return;
  if (!in_owner()) return abandon();
  pthread_join(handle_, nullptr);
  state_.reset();
}

bool Thread::join_until(std::chrono::steady_clock::time_point deadline) {
  if (joinable() && in_owner()) {
    MutexLock lock(state_->mutex);
    while (!state_->done) {
      if (!state_->ended.wait_until(state_->mutex, deadline) && !state_->done) return false;
    }
  }
  join();
  return true;
}

}  // namespace pyfastdl
