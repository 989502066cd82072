#include "decode/jpeg_session.h"

#include <string>

namespace pyfastdl {

void JpegSession::on_error(j_common_ptr info) {
  JpegSession& self = of(info);
  self.error_code_ = info->err->msg_code;
  (*info->err->format_message)(info, self.message_);
  self.guard_.jump();
}

// libjpeg calls this now and then while it works through a file of several scans.
void JpegSession::on_progress(j_common_ptr info) {
  JpegSession& self = of(info);
  if (self.info.input_scan_number <= self.max_scans_) return;
  self.too_many_scans_ = true;
  self.guard_.jump();
}

// Suspension, as in Pillow: libjpeg then returns to its caller instead of making up data.
boolean JpegSession::on_starved(j_decompress_ptr info) {
  of(info).starved_ = true;
  return FALSE;
}

void JpegSession::on_skip(j_decompress_ptr info, long count) {
  jpeg_source_mgr& source = *info->src;
  if (count <= 0) return;
  if (static_cast<std::size_t>(count) > source.bytes_in_buffer) {
    // The next read finds nothing and suspends.
    source.next_input_byte += source.bytes_in_buffer;
    source.bytes_in_buffer = 0;
    return;
  }
  source.next_input_byte += count;
  source.bytes_in_buffer -= static_cast<std::size_t>(count);
}

Status JpegSession::open(std::span<const std::uint8_t> bytes, int max_scans) {
  close();
  starved_ = too_many_scans_ = false;
  error_code_ = 0;
  max_scans_ = max_scans;

  info.err = jpeg_std_error(&error_);
  error_.error_exit = on_error;
  error_.emit_message = [](j_common_ptr info, int level) {
    if (level < 0) ++info->err->num_warnings;
  };
  error_.output_message = [](j_common_ptr) {};
  info.client_data = this;
  created_ = true;
  if (!run([this] { jpeg_create_decompress(&info); })) {
    const std::string reason = message_;
    close();
    if (error_code_ == JERR_OUT_OF_MEMORY) return failure();
    return {Errc::unsupported, "the libjpeg in this process is not the one that pyfastdl was built with (" +
                                   reason + "): JPEG files are left to Pillow"};
  }
  // Neither JPEGMEM nor any other setting of the process limits the memory: DecodeLimits does.
  info.mem->max_memory_to_use = 0;

  source_.init_source = [](j_decompress_ptr) {};
  source_.term_source = [](j_decompress_ptr) {};
  source_.fill_input_buffer = on_starved;
  source_.skip_input_data = on_skip;
  source_.resync_to_restart = jpeg_resync_to_restart;
  source_.next_input_byte = bytes.data();
  source_.bytes_in_buffer = bytes.size();
  info.src = &source_;

  progress_.progress_monitor = on_progress;
  info.progress = &progress_;
  return {};
}

void JpegSession::close() {
  // Destroying does not fail, nor does it mind an object that was never completed (its mem is null).
  if (created_) jpeg_destroy_decompress(&info);
  created_ = false;
}

Status JpegSession::failure() const {
  if (too_many_scans_) {
    return {Errc::limit, "the progressive JPEG has more than " + std::to_string(max_scans_) +
                             " scans (max_scans): each costs a pass over the whole image"};
  }
  const std::string message = std::string("broken JPEG: ") + message_;
  switch (error_code_) {
    case JERR_OUT_OF_MEMORY:
    case JERR_NO_BACKING_STORE:
    case JERR_TFILE_CREATE:
      return {Errc::out_of_memory, "not enough memory to decode the JPEG (" +
                                       std::to_string(info.image_height) + " x " +
                                       std::to_string(info.image_width) + " pixels)"};
    case JERR_SOF_UNSUPPORTED:
    case JERR_BAD_PRECISION:
      return {Errc::unsupported, std::string("a JPEG of a kind that is left to Pillow: ") + message_};
    default:
      return {Errc::bad_data, message};
  }
}

}  // namespace pyfastdl
