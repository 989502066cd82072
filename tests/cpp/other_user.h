// OtherUser: while it lives, the calling thread's file access is an ordinary user's, even when the tests run as root.
//
// The kernel's file-system user belongs to a thread: nothing else in the process changes.
#pragma once

#include <sys/fsuid.h>
#include <unistd.h>

namespace pyfastdl {

class OtherUser {
 public:
  OtherUser() {
    if (::geteuid() == 0) ::setfsuid(kNobody);
  }
  ~OtherUser() {
    if (::geteuid() == 0) ::setfsuid(0);
  }
  OtherUser(const OtherUser&) = delete;
  OtherUser& operator=(const OtherUser&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
};

}  // namespace pyfastdl
