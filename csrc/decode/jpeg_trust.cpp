#include "decode/jpeg_trust.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "decode/jump_guard.h"
#include "decode/libjpeg.h"
#include "decode/libjpeg_rows.h"

namespace pyfastdl {
namespace {

// Odd sizes, several iMCUs of any sampling in both directions.
constexpr Size kProbeSize{53, 141};

struct ProbeKind {
  int luma_h;
  int luma_v;
  bool progressive;
};
constexpr ProbeKind kKinds[] = {{1, 1, false}, {2, 1, false}, {1, 2, false},
                                {2, 2, false}, {4, 1, false}, {2, 2, true}};

constexpr Region kRegions[] = {
    {0, 0, 9, 20}, {17, 40, 19, 37}, {31, 65, 22, 76}, {16, 32, 16, 32}, {52, 140, 1, 1}, {7, 0, 30, 141},
};

struct EncoderError {
  jpeg_error_mgr manager;
  JumpGuard guard;
};

// A picture with detail everywhere. Called under Note [setjmp] of jump_guard.h.
void write_probe(jpeg_compress_struct& info, const ProbeKind& kind) {
  info.image_width = kProbeSize.width;
  info.image_height = kProbeSize.height;
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 90, TRUE);
  info.comp_info[0].h_samp_factor = kind.luma_h;
  info.comp_info[0].v_samp_factor = kind.luma_v;
  if (kind.progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  JSAMPLE row[kProbeSize.width * 3];
  std::uint32_t noise = 1;
  for (int y = 0; y < kProbeSize.height; ++y) {
    for (int x = 0; x < kProbeSize.width * 3; ++x) {
      noise = noise * 1664525u + 1013904223u;
      row[x] = static_cast<JSAMPLE>((x * 5 + y * 3 * (x % 3)) / 4 + static_cast<int>(noise >> 26));
    }
    JSAMPROW rows[] = {row};
    jpeg_write_scanlines(&info, rows, 1);
  }
  jpeg_finish_compress(&info);
}

// False if libjpeg gave up. What *out points to is the caller's to free, in any case.
bool encode_probe(const ProbeKind& kind, unsigned char** out, unsigned long* size) {
  jpeg_compress_struct info;
  EncoderError error;
  std::memset(&info, 0, sizeof(info));
  info.err = jpeg_std_error(&error.manager);
  error.manager.output_message = [](j_common_ptr) {};
  error.manager.error_exit = [](j_common_ptr failed) {
    reinterpret_cast<EncoderError*>(failed->err)->guard.jump();
  };
  const bool ok = error.guard.run([&] {
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, out, size);
    write_probe(info, kind);
  });
  jpeg_destroy_compress(&info);
  return ok;
}

bool decode(std::span<const std::uint8_t> bytes, const Region& region, JpegRegions regions,
            std::vector<std::uint8_t>& pixels) {
  LibjpegRows decoder;
  if (!decoder.open(bytes, DecodeLimits()).ok() || !decoder.start(region, regions).ok()) return false;
  const std::size_t used = static_cast<std::size_t>(region.width) * kPixelBytes;
  std::vector<std::uint8_t> row(decoder.row_bytes() + kRowPadding);
  pixels.clear();
  for (int y = 0; y < region.height; ++y) {
    std::uint8_t* rows[] = {row.data()};
    if (!decoder.read_rows(rows, 1).ok()) return false;
    const std::uint8_t* first = row.data() + decoder.row_offset();
    pixels.insert(pixels.end(), first, first + used);
  }
  return decoder.finish().ok();
}

// Whether regions of one kind of file equal the same part of the whole. Throws std::bad_alloc.
bool regions_equal(const ProbeKind& kind) {
  unsigned char* encoded = nullptr;
  unsigned long size = 0;
  const bool made = encode_probe(kind, &encoded, &size);
  const std::unique_ptr<unsigned char, decltype(&std::free)> owner(encoded, &std::free);
  if (!made) return false;

  std::vector<std::uint8_t> a, b;
  for (const Region& region : kRegions) {
    if (!decode({encoded, size}, region, JpegRegions::always, a) ||
        !decode({encoded, size}, region, JpegRegions::never, b) || a != b) {
      return false;
    }
  }
  return true;
}

enum class Trust : int { unknown, yes, no };
std::atomic<Trust> g_trust{Trust::unknown};

}  // namespace

const char* jpeg_regions_untrusted() {
  // Relaxed: the value says all there is to know.
  Trust trust = g_trust.load(std::memory_order_relaxed);
  if (trust == Trust::unknown) {
    trust = Trust::yes;
    try {
      for (const ProbeKind& kind : kKinds) {
        if (!regions_equal(kind)) trust = Trust::no;
      }
      g_trust.store(trust, std::memory_order_relaxed);
    } catch (const std::bad_alloc&) {
      return "no memory to try the partial decoder";
    }
  }
  return trust == Trust::yes ? nullptr
                             : "this libjpeg's partial decoding does not reproduce its full decoding";
}

}  // namespace pyfastdl
