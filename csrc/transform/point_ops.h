// Operations that look at one byte at a time, on packed RGB in place: invert, posterize, solarize by plain arithmetic (the
// compiler makes vectors of it), autocontrast and equalize by a table a channel. Bit-equal to Pillow's ImageOps.
// Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pyfastdl {

void invert(std::uint8_t* bytes, std::size_t count);

// Keeps the upper `bits` bits. REQUIRES: 0 to 8.
void posterize(std::uint8_t* bytes, std::size_t count, int bits);

// Inverts what is not below the threshold, which may be any number or none.
void solarize(std::uint8_t* bytes, std::size_t count, double threshold);

// Stretches each channel so that its darkest byte becomes 0 and its brightest 255.
void autocontrast(std::uint8_t* rgb, std::size_t pixels);

// Spreads each channel's histogram evenly.
void equalize(std::uint8_t* rgb, std::size_t pixels);

}  // namespace pyfastdl
