// Which codec a file's first bytes belong to, and what to call the file in an error.
//
// The suffix never counts: a PNG named x.JPEG is a PNG. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace pyfastdl {

// `other` is for Pillow: a format that the core does not decode, or no image at all.
enum class Codec { jpeg, png, webp, other };

// Reads at most the first 16 bytes, and accepts exactly what Pillow accepts.
Codec sniff(std::span<const std::uint8_t> bytes);

const char* codec_name(Codec codec);

// A noun phrase for "wanted an image, got ...": "an HTML page", "an empty file", "a gzip archive".
std::string describe(std::span<const std::uint8_t> bytes);

}  // namespace pyfastdl
