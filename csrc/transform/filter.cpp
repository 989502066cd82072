#include "transform/filter.h"

#include <algorithm>
#include <cmath>

namespace pyfastdl {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Each kernel with its support, the distance from its centre where it ends. The comparisons at the ends are Pillow's.
struct BoxKernel {
  static constexpr double kSupport = 0.5;
  static double at(double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }
};

struct BilinearKernel {
  static constexpr double kSupport = 1.0;
  static double at(double x) {
    x = std::fabs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
  }
};

struct BicubicKernel {
  static constexpr double kSupport = 2.0;
  static double at(double x) {
    constexpr double a = -0.5;
    x = std::fabs(x);
    if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
    if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
    return 0.0;
  }
};

struct LanczosKernel {
  static constexpr double kSupport = 3.0;
  static double sinc(double x) {
    if (x == 0.0) return 1.0;
    x *= kPi;
    return std::sin(x) / x;
  }
  static double at(double x) { return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0; }
};

std::int32_t to_fixed(double weight) {
  const double scaled = weight * (1 << kWeightBits);
  return static_cast<std::int32_t>(weight < 0 ? scaled - 0.5 : scaled + 0.5);
}

template <class Kernel>
void compute(int in, int out, int window_begin, int window_size, Taps& taps, const Extent& extent) {
  const double scale = (extent.length > 0 ? extent.length : in) / out;
  const double filter_scale = std::max(scale, 1.0);
  const double support = Kernel::kSupport * filter_scale;
  const double inverse = 1.0 / filter_scale;

  const double most = std::ceil(support) * 2 + 1;
  taps.stride = most < in ? static_cast<int>(most) : in;
  taps.longest = 0;
  taps.begin = in;
  taps.end = 0;
  const std::size_t size = static_cast<std::size_t>(window_size);
  const std::size_t stride = static_cast<std::size_t>(taps.stride);
  taps.first.resize(size);
  taps.count.resize(size);
  taps.weights.assign(size * stride, 0);
  taps.scratch.resize(stride);
  double* raw = taps.scratch.data();

  for (std::size_t i = 0; i < size; ++i) {
    const double center = extent.begin + (window_begin + static_cast<int>(i) + 0.5) * scale;
    const int first = std::max(static_cast<int>(center - support + 0.5), 0);
    const int last = std::min(static_cast<int>(center + support + 0.5), in);
    const int count = last - first;
    double sum = 0.0;
    for (int k = 0; k < count; ++k) {
      raw[k] = Kernel::at((k + first - center + 0.5) * inverse);
      sum += raw[k];
    }
    std::int32_t* weights = taps.weights.data() + i * stride;
    for (int k = 0; k < count; ++k) weights[k] = to_fixed(sum != 0.0 ? raw[k] / sum : raw[k]);
    taps.first[i] = first;
    taps.count[i] = count;
    taps.longest = std::max(taps.longest, count);
    taps.begin = std::min(taps.begin, first);
    taps.end = std::max(taps.end, last);
  }
}

}  // namespace

bool vertical_first(PassOrder order, Size in, Size out) {
  switch (order) {
    case PassOrder::horizontal_first:
      return false;
    case PassOrder::tall_vertical_first:
      return in.height > 100LL * in.width && out.height < in.height;
    case PassOrder::shrink_vertical_first: {
      const long long shrink = static_cast<long long>(in.height) - out.height;
      return shrink > 0 && shrink > 2 * (static_cast<long long>(in.width) - out.width);
    }
  }
  return false;
}

void compute_taps(Filter filter, int in, int out, int window_begin, int window_size, Taps& taps,
                  const Extent& extent) {
  switch (filter) {
    case Filter::box:
      return compute<BoxKernel>(in, out, window_begin, window_size, taps, extent);
    case Filter::bilinear:
      return compute<BilinearKernel>(in, out, window_begin, window_size, taps, extent);
    case Filter::bicubic:
      return compute<BicubicKernel>(in, out, window_begin, window_size, taps, extent);
    case Filter::lanczos:
      return compute<LanczosKernel>(in, out, window_begin, window_size, taps, extent);
  }
}

}  // namespace pyfastdl
