// open_cached: opens a file only if that needs no disk.
#pragma once

#include <string>

#include "base/unique_fd.h"

namespace pyfastdl {

// No descriptor and errno EAGAIN when the path is not in the kernel's cache; no descriptor and another errno when it
// can't be opened. Any thread may call it.
UniqueFd open_cached(const std::string& path, int flags);

}  // namespace pyfastdl
