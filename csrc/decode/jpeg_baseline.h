// BaselineJpeg: our own decoder for the common kind of JPEG: sequential Huffman coding, 8 bits, everything in one scan,
// gray or YCbCr with the colours at full or half the size. Equal to libjpeg-turbo bit by bit, or it stops.
//
// libjpeg reads the header. What precedes the region in the stream is only walked through (restart markers allow to
// jump), and what follows is not looked at. Samples of two rows of MCUs are held, of just the blocks that the region
// and the upsampling next to it need.
//
// It knows no errors: whatever isn't as it should be makes it stop, and libjpeg decodes that file. Rows already handed
// out are right in any case: they come from data before the anomaly.
//
// One thread. Owns its tables and samples, kept from image to image; borrows nothing after start().
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/byte_buffer.h"
#include "base/geometry.h"
#include "decode/jpeg_entropy.h"
#include "decode/jpeg_huffman.h"
#include "decode/jpeg_idct.h"
#include "decode/jpeg_scan.h"
#include "decode/libjpeg.h"

namespace pyfastdl {

class BaselineJpeg {
 public:
  // `header` as jpeg_read_header left it: its source stands at the scan's data. False if the file isn't of the kind.
  bool start(const jpeg_decompress_struct& header, const Region& region);

  // As in RowSource.
  std::size_t row_bytes() const { return row_bytes_; }
  std::size_t row_offset() const { return row_offset_; }

  // How many of the next rows were written: fewer than `count` at an anomaly. It must not be called again then.
  int read_rows(std::uint8_t* const* rows, int count);

  // Rows handed out since start().
  int rows_read() const { return next_row_ - region_.top; }

  // Walks through the data below the region. False at an anomaly.
  bool read_to_end();

 private:
  // The part of one component that is needed.
  struct Plane {
    int across = 1;  // blocks an MCU is wide and high
    int down = 1;
    Size size;            // in samples
    int first_block = 0;  // columns of blocks, [first, end)
    int end_block = 0;
    int first_row = 0;  // rows of samples, [first, end)
    int end_row = 0;
    std::ptrdiff_t stride = 0;
    std::uint8_t* samples = nullptr;  // of first_block, in the first row of MCUs of the two that are held

    std::uint8_t* row(int y) const { return samples + (y & (16 * down - 1)) * stride; }
    std::uint8_t* at(int y, int x) const { return row(y) + (x - first_block * 8); }
  };

  bool understand(const jpeg_decompress_struct& header);
  bool build_tables(const jpeg_decompress_struct& header);
  void plan_planes();
  void allocate();
  void begin_interval(std::int64_t interval);
  bool walk_to(std::int64_t mcu);
  bool go_to(std::int64_t mcu);
  bool sound() const;
  bool decode_row_of_mcus();
  void repeat_edges(int mcu_row);
  void write_row(int y, std::uint8_t* out);

  Size size_;
  Region region_;
  std::size_t row_bytes_ = 0;
  std::size_t row_offset_ = 0;
  int next_row_ = 0;
  int first_column_ = 0;
  int pixels_ = 0;

  int planes_used_ = 0;
  Plane planes_[3];
  JpegComponent components_[3];
  McuBlock blocks_[6];
  int blocks_per_mcu_ = 0;

  int mcus_across_ = 0;
  int mcus_down_ = 0;
  int first_mcu_ = 0;  // columns of MCUs that are needed, [first, end)
  int end_mcu_ = 0;
  int next_mcu_row_ = 0;            // that is needed and not decoded
  std::int64_t interval_mcus_ = 0;  // all of them if there are no restarts
  std::int64_t next_mcu_ = 0;       // in the stream
  std::int64_t interval_ = 0;       // to which next_mcu_ belongs

  EntropyState entropy_;
  JpegScan scan_;
  IdctQueue idct_;
  DcTable dc_tables_[NUM_HUFF_TBLS];
  AcTable ac_tables_[NUM_HUFF_TBLS];
  ByteBuffer samples_;
  ByteBuffer upsampled_;
};

}  // namespace pyfastdl
