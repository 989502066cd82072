// Decoding of one image in memory: for decode_image, resized_crop of bytes, `pyfastdl check` and the tests.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/geometry.h"
#include "bindings/bindings.h"
#include "bindings/bytes_view.h"
#include "bindings/errors.h"
#include "bindings/gil.h"
#include "bindings/image_opener.h"
#include "decode/decoder_set.h"

namespace py = pybind11;

namespace pyfastdl::bindings {
namespace {

void rgbx_to_rgb(const std::uint8_t* in, std::uint8_t* out, int pixels) {
  for (int x = 0; x < pixels; ++x) {
    out[3 * x] = in[kPixelBytes * x];
    out[3 * x + 1] = in[kPixelBytes * x + 1];
    out[3 * x + 2] = in[kPixelBytes * x + 2];
  }
}

// Rows of the region as packed RGB. Without the GIL.
Status read_region(RowSource& image, const Region& region, std::uint8_t* out) {
  if (Status s = image.start(region); !s.ok()) return s;
  constexpr int kRowsAtOnce = 16;  // an iMCU row of most JPEGs
  const std::size_t stride = image.row_bytes() + kRowPadding;
  const int at_once = std::min(kRowsAtOnce, region.height);
  std::vector<std::uint8_t> memory(stride * static_cast<std::size_t>(at_once));
  std::vector<std::uint8_t*> rows;
  for (int i = 0; i < at_once; ++i) rows.push_back(memory.data() + static_cast<std::size_t>(i) * stride);
  for (int y = 0; y < region.height; y += at_once) {
    const int count = std::min(at_once, region.height - y);
    if (Status s = image.read_rows(rows.data(), count); !s.ok()) return s;
    for (int i = 0; i < count; ++i) {
      rgbx_to_rgb(rows[static_cast<std::size_t>(i)] + image.row_offset(), out, region.width);
      out += static_cast<std::size_t>(region.width) * 3;
    }
  }
  return image.finish();
}

// None where the image is one for Pillow.
py::object decoded(RowSource& image, const Region& region) {
  py::array_t<std::uint8_t> out({region.height, region.width, 3});
  std::uint8_t* pixels = out.mutable_data();
  Status status;
  {
    const GilReleased released;
    status = read_region(image, region, pixels);
  }
  if (status.code() == Errc::unsupported) return py::none();
  check(status);
  return out;
}

RowSource* open(ImageOpener& opener, const BytesView& view, std::uint64_t max_pixels, bool orient) {
  const GilReleased released;
  return opener.open(view.span(), max_pixels, orient);
}

py::object decode(const py::object& data, std::uint64_t max_pixels, bool orient) {
  const BytesView view(data);
  ImageOpener opener;
  RowSource* image = open(opener, view, max_pixels, orient);
  if (image == nullptr) return py::none();
  return decoded(*image, whole(image->size()));
}

// Throws Error for a region that isn't one of the image.
Region checked_region(const RowSource& image, int top, int left, int height, int width) {
  const Region region{top, left, height, width};
  const Size size = image.size();
  if (height <= 0 || width <= 0 || !inside(region, size)) {
    throw Error(Errc::invalid_argument, "the region (top " + std::to_string(top) + ", left " +
                                            std::to_string(left) + ", height " + std::to_string(height) +
                                            ", width " + std::to_string(width) +
                                            ") must hold at least one pixel and lie inside the image of " +
                                            std::to_string(size.height) + " x " + std::to_string(size.width) +
                                            " pixels (height x width)");
  }
  return region;
}

py::object decode_region(const py::object& data, int top, int left, int height, int width,
                         std::uint64_t max_pixels, bool orient) {
  const BytesView view(data);
  ImageOpener opener;
  RowSource* image = open(opener, view, max_pixels, orient);
  if (image == nullptr) return py::none();
  return decoded(*image, checked_region(*image, top, left, height, width));
}

py::object skips_around(const py::object& data, int top, int left, int height, int width,
                        std::uint64_t max_pixels) {
  const BytesView view(data);
  ImageOpener opener;
  Decoder* decoder = opener.open(view.span(), max_pixels);
  if (decoder == nullptr) return py::none();
  const Region region = checked_region(*decoder, top, left, height, width);
  Status status;
  {
    const GilReleased released;
    status = decoder->start(region);
  }
  if (status.code() == Errc::unsupported) return py::none();
  check(status);
  return py::bool_(decoder->last_was_region());
}

}  // namespace

void bind_decode(py::module_& m) {
  const DecodeLimits defaults;
  m.def("decode", &decode, py::arg("data"), py::kw_only(), py::arg("max_pixels") = defaults.max_pixels,
        py::arg("apply_exif_orientation") = false,
        "The image as uint8 (height, width, 3), equal to Pillow's convert('RGB'); None where the file is for "
        "Pillow.");
  m.def("decode_region", &decode_region, py::arg("data"), py::arg("top"), py::arg("left"), py::arg("height"),
        py::arg("width"), py::kw_only(), py::arg("max_pixels") = defaults.max_pixels,
        py::arg("apply_exif_orientation") = false,
        "The same part of decode(data), without decoding the rest where the codec allows.");
  m.def("skips_around", &skips_around, py::arg("data"), py::arg("top"), py::arg("left"), py::arg("height"),
        py::arg("width"), py::kw_only(), py::arg("max_pixels") = defaults.max_pixels,
        "Whether decode_region would leave out pixels around the region, rather than decode and drop them; "
        "None "
        "where the file is for Pillow.");
  m.def(
      "sniff", [](const py::object& data) { return codec_name(sniff(BytesView(data).span())); },
      py::arg("data"), "'jpeg', 'png', 'webp' or 'other', by the first bytes.");
  m.def(
      "describe", [](const py::object& data) { return describe(BytesView(data).span()); }, py::arg("data"),
      "What the bytes are, in words for an error message.");
  m.def(
      "codec_versions",
      [] {
        py::dict versions;
        for (const auto& [name, version] : codec_versions()) versions[name.c_str()] = version;
        return versions;
      },
      "The codec libraries and their versions.");
}

}  // namespace pyfastdl::bindings
