// adjust_hue on packed RGB in place: vector code, chosen at run time for the CPU at hand (Highway). Bit-equal to Pillow's
// conversion to HSV and back; see hue.h. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pyfastdl {

// Adds `shift` to every hue, around the circle. A shift of 0 isn't the identity: HSV bytes hold less than RGB's.
void turn_hues(std::uint8_t* rgb, std::size_t pixels, std::uint8_t shift);

}  // namespace pyfastdl
