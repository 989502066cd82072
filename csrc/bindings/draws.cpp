#include "bindings/draws.h"

#include <pybind11/numpy.h>

#include <string>

#include "base/random.h"

namespace py = pybind11;

namespace pyfastdl::bindings {
namespace {

constexpr const char* kJitters[] = {"brightness", "contrast", "saturation", "hue"};  // by Jitter

class Numbers {
 public:
  explicit Numbers(const Plan& plan) : plan_(plan) {}

  void add(const Draw& draw) {
    const Op& op = plan_.ops()[static_cast<std::size_t>(draw.op)];
    std::visit(Overloaded{[&](const DrawnCrop& d) { add_crop(d); },
                          [&](const DrawnChoice& d) { put(choice_name(op), py::bool_(d.taken)); },
                          [&](const DrawnJitter& d) { add_jitter(d); },
                          [&](const DrawnAugment& d) { add_augment(draw.op, d); },
                          [&](const DrawnErase& d) { add_erase(std::get<RandomErasing>(op), d); }},
               draw.value);
  }

  py::dict take() && { return std::move(numbers_); }

 private:
  void put(const char* name, const py::object& value) {
    std::string unused = name;
    for (int i = 2; numbers_.contains(unused.c_str()); ++i) unused = name + ("_" + std::to_string(i));
    numbers_[unused.c_str()] = value;
  }

  static const char* choice_name(const Op& op) {
    if (std::holds_alternative<RandomHorizontalFlip>(op)) return "flip";
    return std::holds_alternative<RandomVerticalFlip>(op) ? "vflip" : "grayscale";
  }

  void add_crop(const DrawnCrop& drawn) {
    put("top", py::int_(drawn.box.top));
    put("left", py::int_(drawn.box.left));
    put("height", py::int_(drawn.box.height));
    put("width", py::int_(drawn.box.width));
  }

  void add_jitter(const DrawnJitter& drawn) {
    py::tuple order(4);
    for (std::size_t i = 0; i < 4; ++i)
      order[i] = py::str(kJitters[static_cast<std::size_t>(drawn.order[i])]);
    put("order", order);
    for (std::size_t i = 0; i < 4; ++i) {
      if (drawn.factors[i]) put(kJitters[i], py::float_(*drawn.factors[i]));
    }
  }

  void add_augment(int op, const DrawnAugment& drawn) {
    if (op != augment_op_) {
      augment_op_ = op;
      augments_ = py::list();
      put("ops", augments_);
    }
    augments_.append(py::make_tuple(std::string(augment_name(drawn.augment)), drawn.magnitude));
  }

  void add_erase(const RandomErasing& op, const DrawnErase& drawn) {
    if (!drawn.box) {
      put("erase", py::none());
      return;
    }
    const Region& box = *drawn.box;
    put("erase", py::make_tuple(box.top, box.left, box.height, box.width));
    if (op.value) return;
    py::array_t<float> noise({3, box.height, box.width});
    NormalNoise(drawn.noise).fill(noise.mutable_data(), static_cast<std::size_t>(noise.size()));
    put("erase_noise", noise);
  }

  const Plan& plan_;
  py::dict numbers_;
  int augment_op_ = -1;
  py::list augments_;
};

}  // namespace

py::dict to_dict(const Plan& plan, const Draws& draws) {
  Numbers numbers(plan);
  for (const Draw& draw : draws) numbers.add(draw);
  return std::move(numbers).take();
}

}  // namespace pyfastdl::bindings
