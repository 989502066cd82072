#include "decode/jpeg_entropy.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "decode/jpeg_entropy.cpp"
#include "hwy/foreach_target.h"  // no vectors here, but shifts by a register take one step where the CPU has BMI2
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace pyfastdl {
namespace HWY_NAMESPACE {
namespace {

constexpr int kBad = -1;

HWY_INLINE bool believable(std::int32_t value, std::uint16_t quant) {
  const std::int64_t product = std::int64_t{value} * quant;
  return product <= kMostCoefficient && product >= -kMostCoefficient && value >= -32768 && value <= 32767;
}

// Any symbol, or kBad. REQUIRES: 16 bits can be looked at.
HWY_INLINE int read_symbol(BitReader& reader, const HuffmanCodes& codes) {
  const std::uint16_t entry = codes.by_look[reader.look(kLookBits)];
  if (entry != 0) {
    reader.drop(entry >> 8);
    return entry & 0xFF;
  }
  const std::uint32_t code = reader.look(16);
  for (int length = kLookBits + 1; length <= 16; ++length) {
    if (code >= codes.limit[length]) continue;
    reader.drop(static_cast<std::uint32_t>(length));
    return codes.symbols[static_cast<std::int32_t>(code >> (16 - length)) + codes.offset[length]];
  }
  return kBad;
}

// A difference that by_look doesn't have. Leaves the reader refilled.
HWY_INLINE bool read_dc_slowly(BitReader& reader, const DcTable& table, int& difference) {
  const int size = read_symbol(reader, table.codes);
  if (size == kBad) return false;
  difference = extend(reader.take(size), size);
  reader.refill();
  return true;
}

HWY_INLINE bool read_dc(BitReader& reader, const DcTable& table, std::int32_t& dc) {
  reader.refill();
  const std::uint32_t e = table.by_look[reader.look(kLookBits)];
  int difference;
  if (HWY_LIKELY(e != DcTable::kSlow)) {
    reader.drop(e);
    difference = static_cast<std::int32_t>(e) >> 16;
  } else if (!read_dc_slowly(reader, table, difference)) {
    return false;
  }
  dc += difference;
  return true;
}

// One AC symbol with every check: moves k on, and says what it was.
enum class Symbol { coefficient, zeros, end, bad };
struct OneSymbol {
  Symbol kind;
  int value;
};
HWY_INLINE OneSymbol read_ac_slowly(BitReader& reader, const AcTable& table, int& k) {
  reader.refill();
  const int symbol = read_symbol(reader, table.codes);
  if (symbol == kBad) return {Symbol::bad, 0};
  const int run = symbol >> 4, size = symbol & 15;
  if (size == 0) {
    if (run != 15) return {Symbol::end, 0};
    k += 16;
    return {k > 63 ? Symbol::bad : Symbol::zeros, 0};
  }
  k += run + 1;
  if (k > 63) return {Symbol::bad, 0};
  return {Symbol::coefficient, extend(reader.take(size), size)};
}

// All AC coefficients of a block; the place of the last one, or kBad.
HWY_INLINE int decode_ac(BitReader& reader, const AcTable& table, const std::uint16_t* HWY_RESTRICT quant,
                         std::int16_t* HWY_RESTRICT block) {
  int k = 0;
  for (;; reader.refill()) {
    bool seen = true;
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t e = table.by_look[reader.look(kLookBits)];
      const int k1 = k + AcTable::first_step(e);
      const int k2 = k1 + AcTable::second_step(e);
      // Beyond the 62nd the block may end within an entry, without a symbol that says so.
      if (HWY_UNLIKELY(k2 > 62)) {
        seen = false;
        break;
      }
      reader.drop(e);
      // The first one last: it is in the right where there is no second one.
      block[kNaturalPlace[k2]] = static_cast<std::int16_t>(AcTable::second(e));
      block[kNaturalPlace[k1]] = static_cast<std::int16_t>(AcTable::first(e));
      k = k2;
      if (e & AcTable::kEnd) return k2 - (AcTable::first(e) == 0 ? 1 : 0);
    }
    if (seen) continue;
    const OneSymbol one = read_ac_slowly(reader, table, k);
    if (one.kind == Symbol::bad) return kBad;
    if (one.kind == Symbol::end) return k;
    if (one.kind == Symbol::coefficient) {
      if (!believable(one.value, quant[kNaturalPlace[k]])) return kBad;
      block[kNaturalPlace[k]] = static_cast<std::int16_t>(one.value);
    }
    if (k == 63) return k;
  }
}

HWY_INLINE bool skip_ac(BitReader& reader, const AcTable& table) {
  int k = 0;
  for (;; reader.refill()) {
    bool seen = true;
    for (int i = 0; i < 2; ++i) {
      const std::uint32_t e = table.skip_by_look[reader.look(kLookBits)];
      const int next = k + static_cast<int>(e >> 7);
      if (HWY_UNLIKELY(next > 62)) {
        seen = false;
        break;
      }
      reader.drop(e);
      k = next;
      if (e & AcTable::kEnd) return true;
    }
    if (seen) continue;
    const Symbol kind = read_ac_slowly(reader, table, k).kind;
    if (kind == Symbol::bad) return false;
    if (kind == Symbol::end || k == 63) return true;
  }
}

bool decode_mcus_target(EntropyState& state, const McuBlock* blocks, int blocks_per_mcu, int first, int end,
                        IdctQueue& idct) {
  BitReader reader = state.reader;
  bool ok = true;
  for (int mcu = first; ok && mcu < end; ++mcu) {
    for (int b = 0; b < blocks_per_mcu; ++b) {
      const McuBlock& block = blocks[b];
      const JpegComponent& component = *block.component;
      std::int32_t& dc = state.dc[block.slot];
      const int column = mcu * block.across + block.column;
      if (HWY_UNLIKELY(reader.next() > state.last) || !read_dc(reader, *component.dc, dc)) {
        ok = false;
        break;
      }
      if (column < block.first || column >= block.end) {
        if (!skip_ac(reader, *component.ac)) {
          ok = false;
          break;
        }
        continue;
      }
      std::int16_t* coefficients = idct.block();
      const int last = decode_ac(reader, *component.ac, component.quant, coefficients);
      if (last == kBad || !believable(dc, component.quant[0])) {
        ok = false;
        break;
      }
      coefficients[0] = static_cast<std::int16_t>(dc);
      if (!idct.push({block.samples + std::ptrdiff_t{column - block.first} * 8, block.stride, component.quant,
                      last})) {
        ok = false;
        break;
      }
    }
  }
  state.reader = reader;
  return ok;
}

bool skip_mcus_target(EntropyState& state, const McuBlock* blocks, int blocks_per_mcu, int count) {
  BitReader reader = state.reader;
  bool ok = true;
  for (int mcu = 0; ok && mcu < count; ++mcu) {
    for (int b = 0; b < blocks_per_mcu; ++b) {
      const JpegComponent& component = *blocks[b].component;
      if (HWY_UNLIKELY(reader.next() > state.last) ||
          !read_dc(reader, *component.dc, state.dc[blocks[b].slot]) || !skip_ac(reader, *component.ac)) {
        ok = false;
        break;
      }
    }
  }
  state.reader = reader;
  return ok;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pyfastdl
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyfastdl {

HWY_EXPORT(decode_mcus_target);
HWY_EXPORT(skip_mcus_target);

bool decode_mcus(EntropyState& state, const McuBlock* blocks, int blocks_per_mcu, int first, int end,
                 IdctQueue& idct) {
  return HWY_DYNAMIC_DISPATCH(decode_mcus_target)(state, blocks, blocks_per_mcu, first, end, idct);
}

bool skip_mcus(EntropyState& state, const McuBlock* blocks, int blocks_per_mcu, int count) {
  return HWY_DYNAMIC_DISPATCH(skip_mcus_target)(state, blocks, blocks_per_mcu, count);
}

}  // namespace pyfastdl
#endif  // HWY_ONCE
