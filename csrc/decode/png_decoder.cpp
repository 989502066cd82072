#include "decode/png_decoder.h"

#include <png.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <string>

#include "decode/jump_guard.h"
#include "decode/limits.h"
#include "decode/sniff.h"

namespace pyfastdl {
namespace {

// An interlaced image needs all of its lines at once; one line is kept for the next image.
constexpr std::size_t kKeptScratch = 1u << 20;

// Lines that carry data, over all passes of Adam7, for the given size.
std::uint64_t interlaced_lines(Size size) {
  std::uint64_t lines = 0;
  for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; ++pass) {
    if (PNG_PASS_COLS(static_cast<unsigned>(size.width), pass) == 0) continue;
    lines += PNG_PASS_ROWS(static_cast<unsigned>(size.height), pass);
  }
  return lines;
}

}  // namespace

// For the jumps see Note [setjmp].
struct PngDecoder::Library {
  JumpGuard guard;
  PngFile* file = nullptr;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::uint64_t lines_arrived = 0;  // lines whose data were there in full
  std::uint64_t lines_in_all = 0;
  bool starved = false;
  bool no_memory = false;
  char message[200] = {};

  ~Library() { close(); }

  void close() {
    if (png != nullptr) png_destroy_read_struct(&png, &info, nullptr);
    png = nullptr;
    info = nullptr;
  }

  // Whether every line arrived before libpng gave up: then only what follows the pixels was bad, which
  // Pillow, too, does not look at.
  bool complete() const { return lines_arrived == lines_in_all; }

  static Library& of(png_voidp p) { return *static_cast<Library*>(p); }

  [[noreturn]] static void on_error(png_structp png, png_const_charp message) {
    Library& self = of(png_get_error_ptr(png));
    std::strncpy(self.message, message, sizeof(self.message) - 1);
    self.guard.jump();
  }
  static void on_warning(png_structp, png_const_charp) {}
  static void on_read(png_structp png, png_bytep out, std::size_t size) {
    Library& self = of(png_get_io_ptr(png));
    if (self.file->read(out, size)) return;
    self.starved = true;
    png_error(png, "the image data end too early");
  }
  // Called for each line after its data have arrived and before libpng looks further.
  static void on_line(png_structp png, png_row_infop, png_bytep) {
    ++of(png_get_user_transform_ptr(png)).lines_arrived;
  }
  static png_voidp on_malloc(png_structp png, png_alloc_size_t size) {
    void* p = std::malloc(size);
    if (p == nullptr) of(png_get_mem_ptr(png)).no_memory = true;
    return p;
  }
  static void on_free(png_structp, png_voidp p) { std::free(p); }

  bool open(PngFile& from, const PngDecoder& decoder) {
    close();
    file = &from;
    starved = no_memory = false;
    message[0] = 0;
    lines_arrived = 0;
    lines_in_all = from.interlaced() ? interlaced_lines(decoder.size_) : from.height();
    return guard.run([&] {
      png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, this, on_error, on_warning, this, on_malloc,
                                     on_free);
      if (png == nullptr) return;
      info = png_create_info_struct(png);
      if (info == nullptr) return;
      png_set_read_fn(png, this, on_read);
      png_set_crc_action(png, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE);
      png_set_benign_errors(png, 1);
      // DecodeLimits decides about sizes.
      png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
#ifdef PNG_MAXIMUM_INFLATE_WINDOW
      // Some writers claim a smaller window than they use. Pillow ignores the claim.
      png_set_option(png, PNG_MAXIMUM_INFLATE_WINDOW, PNG_OPTION_ON);
#endif
      png_read_info(png, info);
      if (from.bit_depth() < 8) png_set_packing(png);
      if (from.bit_depth() == 16 && from.color_type() != 0) png_set_strip_16(png);
      if (from.color_type() == 4) png_set_strip_alpha(png);
      if (from.color_type() == 2) png_set_filler(png, 255, PNG_FILLER_AFTER);
      png_set_read_user_transform_fn(png, on_line);
      png_set_user_transform_info(png, this, 0, 0);
      if (from.interlaced()) png_set_interlace_handling(png);
      png_start_read_image(png);
    });
  }
};

PngDecoder::PngDecoder() : library_(std::make_unique<Library>()) {}
PngDecoder::~PngDecoder() = default;

Status PngDecoder::open(std::span<const std::uint8_t> bytes, const DecodeLimits& limits) {
  library_->close();
  size_ = {};
  if (sniff(bytes) != Codec::png) return {Errc::bad_data, "wanted a PNG image, got " + describe(bytes)};
  if (Status s = file_.open(bytes); !s.ok()) return s;
  if (Status s = check_pixels(file_.height(), file_.width(), limits); !s.ok()) return s;
  constexpr std::uint32_t kMax = std::numeric_limits<int>::max() / kPixelBytes;
  if (file_.height() > kMax || file_.width() > kMax) {
    return {Errc::unsupported, "a PNG of " + std::to_string(file_.height()) + " x " +
                                   std::to_string(file_.width()) + " pixels is left to Pillow"};
  }
  size_ = {static_cast<int>(file_.height()), static_cast<int>(file_.width())};
  return {};
}

void PngDecoder::close() {
  library_->close();
  scratch_.trim(kKeptScratch);
}

std::uint64_t PngDecoder::start_bytes(const Region&) const {
  if (!file_.interlaced()) return 0;
  const int pixel_bytes = file_.color_type() == 2 || file_.color_type() == 6 ? kPixelBytes : 2;
  return static_cast<std::uint64_t>(size_.height) * static_cast<std::uint64_t>(size_.width) *
         static_cast<std::uint64_t>(pixel_bytes);
}

// One byte a pixel (gray, gray + alpha, indices) is looked up; two (gray of 16 bits) are clipped.
void PngDecoder::choose_expansion() {
  const int color = file_.color_type();
  const int depth = file_.bit_depth();
  line_pixel_bytes_ = kPixelBytes;
  expand_ = Expand::none;
  if (color == 0 && depth == 16) {
    line_pixel_bytes_ = 2;
    expand_ = Expand::clip16;
    return;
  }
  if (color != 0 && color != 3 && color != 4) return;
  line_pixel_bytes_ = 1;
  expand_ = Expand::lookup;
  const int top = (1 << std::min(depth, 8)) - 1;
  for (int i = 0; i < 256; ++i) {
    std::uint8_t* rgbx = lookup_[i];
    rgbx[3] = 255;
    for (std::size_t c = 0; c < 3; ++c) {
      const std::size_t at = static_cast<std::size_t>(i) * 3 + c;
      if (color != 3) {
        rgbx[c] = static_cast<std::uint8_t>(i <= top ? i * 255 / top : 0);
      } else {
        // Entries that the palette lacks are black, half an entry is none.
        rgbx[c] = at < file_.palette().size() / 3 * 3 ? file_.palette()[at] : 0;
      }
    }
  }
}

std::size_t PngDecoder::row_bytes() const {
  const int width = expand_ == Expand::none && !file_.interlaced() ? size_.width : region_.width;
  return static_cast<std::size_t>(width) * kPixelBytes;
}

std::size_t PngDecoder::row_offset() const {
  const int left = expand_ == Expand::none && !file_.interlaced() ? region_.left : 0;
  return static_cast<std::size_t>(left) * kPixelBytes;
}

Status PngDecoder::start(const Region& region) {
  region_ = region;
  choose_expansion();
  const std::size_t lines = file_.interlaced() ? static_cast<std::size_t>(size_.height) : 1;
  try {
    scratch_.resize(lines * static_cast<std::size_t>(size_.width) *
                    static_cast<std::size_t>(line_pixel_bytes_));
  } catch (const std::bad_alloc&) {
    return out_of_memory("the lines", size_);
  }
  if (!library_->open(file_, *this)) return failure();
  if (library_->info == nullptr) return out_of_memory("libpng", size_);

  next_row_ = region.top;
  if (file_.interlaced()) return decode_interlaced();
  int skipped = 0;
  Library& lib = *library_;
  const bool ok = lib.guard.run([&] {
    for (; skipped < region.top; ++skipped) png_read_row(lib.png, nullptr, nullptr);
  });
  return ok ? Status() : failure();
}

Status PngDecoder::decode_interlaced() {
  Library& lib = *library_;
  const std::size_t stride =
      static_cast<std::size_t>(size_.width) * static_cast<std::size_t>(line_pixel_bytes_);
  std::uint8_t* const lines = scratch_.data();
  const int height = size_.height;
  const bool ok = lib.guard.run([&] {
    for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; ++pass) {
      for (int y = 0; y < height; ++y)
        png_read_row(lib.png, lines + static_cast<std::size_t>(y) * stride, nullptr);
    }
  });
  return ok || lib.complete() ? Status() : failure();
}

Status PngDecoder::read_rows(std::uint8_t* const* rows, int count) {
  const std::size_t stride =
      static_cast<std::size_t>(size_.width) * static_cast<std::size_t>(line_pixel_bytes_);
  if (file_.interlaced()) {
    for (int i = 0; i < count; ++i)
      expand(scratch_.data() + static_cast<std::size_t>(next_row_ + i) * stride, rows[i]);
  } else if (expand_ == Expand::none) {
    if (Status s = decode_rows(rows, count); !s.ok()) return s;
  } else {
    for (int i = 0; i < count; ++i) {
      std::uint8_t* line[] = {scratch_.data()};
      if (Status s = decode_rows(line, 1); !s.ok()) return s;
      expand(line[0], rows[i]);
    }
  }
  next_row_ += count;
  return {};
}

Status PngDecoder::decode_rows(std::uint8_t* const* rows, int count) {
  Library& lib = *library_;
  const bool ok = lib.guard.run([&] {
    for (int i = 0; i < count; ++i) png_read_row(lib.png, rows[i], nullptr);
  });
  // The last line reaches its row before libpng reads what follows.
  return ok || lib.complete() ? Status() : failure();
}

void PngDecoder::expand(const std::uint8_t* line, std::uint8_t* out) const {
  line += static_cast<std::size_t>(region_.left) * static_cast<std::size_t>(line_pixel_bytes_);
  switch (expand_) {
    case Expand::none:
      std::memcpy(out, line, static_cast<std::size_t>(region_.width) * kPixelBytes);
      break;
    case Expand::lookup:
      for (int x = 0; x < region_.width; ++x)
        std::memcpy(out + x * kPixelBytes, lookup_[line[x]], kPixelBytes);
      break;
    case Expand::clip16:
      // Pillow's conversion of 16-bit gray clips, it does not scale.
      for (int x = 0; x < region_.width; ++x) {
        const std::uint8_t value = line[2 * x] != 0 ? 255 : line[2 * x + 1];
        std::memset(out + x * kPixelBytes, value, kPixelBytes);
      }
      break;
  }
}

// Pillow inflates every row, so data that are cut off below the region are an error. If all chunks are whole,
// nothing is.
Status PngDecoder::finish() {
  Library& lib = *library_;
  if (!lib.complete() && !file_.data_complete()) {
    const int below = size_.height - region_.bottom();
    const bool ok = lib.guard.run([&] {
      for (int i = 0; i < below; ++i) png_read_row(lib.png, nullptr, nullptr);
    });
    if (!ok && !lib.complete()) return failure();
  }
  if (file_.tail_cut_off())
    return {Errc::bad_data, "the PNG file is cut off in the chunks behind its image data"};
  return {};
}

Status PngDecoder::failure() const {
  const Library& lib = *library_;
  if (lib.no_memory) return out_of_memory("libpng", size_);
  if (lib.starved) {
    return {Errc::bad_data, "the PNG file is cut off: its image data end in line " +
                                std::to_string(lib.lines_arrived) + " of " +
                                std::to_string(lib.lines_in_all)};
  }
  return {Errc::bad_data, std::string("broken PNG: ") + lib.message};
}

}  // namespace pyfastdl
