// Entropy decoding of baseline JPEG: blocks that are needed go to the inverse transform, of the others only the DC
// difference is kept.
//
// Any symbol that doesn't exist, coefficients past the 63rd, and numbers too large for the inverse transform to be the
// same everywhere make it stop: false, and libjpeg decides what the file means. Pure functions of what they are given.
#pragma once

#include <cstddef>
#include <cstdint>

#include "decode/jpeg_bit_reader.h"
#include "decode/jpeg_huffman.h"
#include "decode/jpeg_idct.h"

namespace pyfastdl {

// Dequantised coefficients beyond this are an anomaly. Valid files stay below 1024 but for rounding.
inline constexpr int kMostCoefficient = 8191;

// The natural place of the k-th coefficient in the order of the file (ITU T.81, figure A.6).
inline constexpr std::uint8_t kNaturalPlace[64] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

struct JpegComponent {
  const DcTable* dc = nullptr;
  const AcTable* ac = nullptr;
  std::uint16_t quant[64] = {};  // in natural order
};

// One block of an MCU, and which of them are needed in this row of MCUs.
struct McuBlock {
  const JpegComponent* component = nullptr;
  int slot = 0;    // of its DC prediction
  int across = 1;  // how many blocks of the component an MCU is wide
  int column = 0;  // which of them this is
  // Columns of blocks that are needed, [first, end), and where the samples of the first go.
  int first = 0;
  int end = 0;
  std::uint8_t* samples = nullptr;
  std::ptrdiff_t stride = 0;
};

struct EntropyState {
  BitReader reader;
  std::int32_t dc[3] = {};
  // Reading past it shows that the data are broken; blocks already begun may read kReadable bytes more.
  const std::uint8_t* last = nullptr;
};

// Decodes MCUs [first, end) of a row; needed blocks are pushed to `idct`.
bool decode_mcus(EntropyState& state, const McuBlock* blocks, int blocks_per_mcu, int first, int end,
                 IdctQueue& idct);

// The same for `count` MCUs of which nothing is needed.
bool skip_mcus(EntropyState& state, const McuBlock* blocks, int blocks_per_mcu, int count);

}  // namespace pyfastdl
