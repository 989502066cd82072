// Whether the libjpeg in this process decodes parts of images correctly.
//
// jpeg_crop_scanline and jpeg_skip_scanlines have had bugs, and the library that is loaded need not be the
// one that was there at build time. So the first question makes a few small JPEGs in memory, one a sampling,
// and compares regions of them with the same regions of a full decode: a few milliseconds, once a process.
// Any thread. No lock: threads that ask at the same time probe at the same time and find the same.
#pragma once

namespace pyfastdl {

// nullptr when regions can be trusted, else the reason why not.
const char* jpeg_regions_untrusted();

}  // namespace pyfastdl
