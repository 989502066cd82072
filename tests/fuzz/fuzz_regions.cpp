// An input is a file with up to three regions behind it: each must be what a full decode has there, in any order, by
// decoders that earlier inputs used.
#include <fuzzer/FuzzedDataProvider.h>

#include "decode/decoder_set.h"
#include "decoding.h"

namespace pyfastdl::fuzzing {
namespace {

struct Numbers {
  std::uint16_t of[4];
};

}  // namespace

void run_input(std::span<const std::uint8_t> input) {
  static DecoderSet decoders;
  FuzzedDataProvider numbers(input.data(), input.size());  // takes numbers from the end
  std::vector<Numbers> regions(numbers.ConsumeIntegralInRange<std::size_t>(1, 3));
  for (Numbers& region : regions) {
    for (std::uint16_t& number : region.of) number = numbers.ConsumeIntegral<std::uint16_t>();
  }
  const std::vector<std::uint8_t> file = numbers.ConsumeRemainingBytes<std::uint8_t>();
  Decoder* decoder = decoders.find(sniff(file));
  if (decoder == nullptr || !decoder->open(file, kLimits).ok()) return;
  const Size size = decoder->size();
  std::vector<std::uint8_t> all, part;
  const bool is_sound = decode(*decoder, file, whole(size), all);
  for (const Numbers& region : regions) {
    const Region r = region_of(size, region.of);
    const bool has_region = decode(*decoder, file, r, part);
    if (!is_sound) continue;
    expect(has_region);
    expect_crop(all, size, r, part);
  }
}

}  // namespace pyfastdl::fuzzing
