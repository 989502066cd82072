// JpegSession: one libjpeg decompression over bytes in memory, with libjpeg's errors turned into a Status.
//
// One thread. Owns the decompress object; borrows the bytes. Nothing blocks, nothing is printed.
// For the longjmp see Note [setjmp] in jump_guard.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "decode/jump_guard.h"
#include "decode/libjpeg.h"

namespace pyfastdl {

class JpegSession {
 public:
  JpegSession() = default;
  ~JpegSession() { close(); }
  JpegSession(const JpegSession&) = delete;
  JpegSession& operator=(const JpegSession&) = delete;

  // A fresh decompress object over `bytes`. Fresh, since tables outlive jpeg_abort_decompress: a file that
  // lacks its own would be decoded with those of the file before it. (Making one costs about a microsecond.)
  Status open(std::span<const std::uint8_t> bytes, int max_scans);

  // Frees what the last image took.
  void close();

  // Runs body(), which may call libjpeg; false if libjpeg gave up, and failure() says why.
  template <class Body>
  bool run(Body&& body) {
    return guard_.run(body);
  }

  Status failure() const;

  // Whether libjpeg has asked for bytes past the end: from then on nothing it returns is complete.
  bool starved() const { return starved_; }

  jpeg_decompress_struct info{};

 private:
  static JpegSession& of(j_common_ptr info) { return *static_cast<JpegSession*>(info->client_data); }
  static JpegSession& of(j_decompress_ptr info) { return *static_cast<JpegSession*>(info->client_data); }
  [[noreturn]] static void on_error(j_common_ptr info);
  static void on_progress(j_common_ptr info);
  static boolean on_starved(j_decompress_ptr info);
  static void on_skip(j_decompress_ptr info, long count);

  jpeg_error_mgr error_{};
  jpeg_source_mgr source_{};
  jpeg_progress_mgr progress_{};
  JumpGuard guard_;
  bool created_ = false;
  bool starved_ = false;
  bool too_many_scans_ = false;
  int max_scans_ = 0;
  int error_code_ = 0;
  char message_[JMSG_LENGTH_MAX] = {};
};

}  // namespace pyfastdl
