#include "transform/conversions.h"

#include <optional>
#include <string>

#include "base/status.h"
#include "transform/op_rules.h"

namespace pyfastdl {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(Errc::invalid_argument, message); }

std::string torch_name(DType dtype) { return "torch." + std::string(dtype_name(dtype)); }

// What the image is on its way through the operations.
enum class Kind { picture, bytes, floats };

class Walk {
 public:
  explicit Walk(const PixelFormat& basics) : format_(basics), cells_(basics.dtype) {
    if (basics.mean || basics.std) normalize_ = "Normalize";
  }

  void step(const Op& op);
  PixelFormat finish() const;

 private:
  void convert(const ToDtype& op);
  void normalize(const Normalize& op);
  void erase(const RandomErasing& op);
  void require_picture_or_same(const Op& op) const;
  // Where nobody converted the picture: to what the cells are to hold.
  void convert_by_itself() {
    if (kind_ == Kind::picture) kind_ = cells_ == DType::uint8 ? Kind::bytes : Kind::floats;
  }

  PixelFormat format_;
  const DType cells_;
  Kind kind_ = Kind::picture;
  const char* converted_by_ = "";    // the first conversion
  const char* normalize_ = nullptr;  // set once there was one
  bool erased_ = false;
  std::optional<DType> floats_;  // what ToDtype asked for
};

void Walk::step(const Op& op) {
  const bool was_picture = kind_ == Kind::picture;
  std::visit(Overloaded{[&](const ToTensor&) {
                          if (!was_picture)
                            refuse(std::string("ToTensor takes a picture, but ") + converted_by_ +
                                   " made a tensor of it already: leave one of them out");
                          kind_ = Kind::floats;
                        },
                        [&](const ToBytes& o) {
                          if (was_picture) {
                            kind_ = Kind::bytes;
                          } else if (!o.takes_tensors) {
                            refuse(std::string("PILToTensor takes a picture, but ") + converted_by_ +
                                   " made a tensor of it already: leave one of them out");
                          }
                        },
                        [&](const ToDtype& o) { convert(o); }, [&](const Normalize& o) { normalize(o); },
                        [&](const RandomErasing& o) { erase(o); }, [](const RandomHorizontalFlip&) {},
                        [](const RandomVerticalFlip&) {}, [&](const auto&) { require_picture_or_same(op); }},
             op);
  if (was_picture && kind_ != Kind::picture) converted_by_ = op_name(op);
}

void Walk::convert(const ToDtype& op) {
  if (kind_ == Kind::floats) {
    if (op.dtype == DType::uint8) {
      refuse(std::string("ToDtype(torch.uint8) stands behind ") + converted_by_ +
             ", which gave floats: to get bytes, leave both out and ask the loader for dtype=torch.uint8");
    }
    const DType now = floats_.value_or(DType::float32);
    if (op.dtype == now) return;
    if (now != DType::float32 || normalize_ != nullptr || erased_) {
      refuse("ToDtype(" + torch_name(op.dtype) + ") changes floats a second time, or behind Normalize or " +
             "RandomErasing: have one ToDtype before those, and ask the loader for the dtype of the batches");
    }
  } else {
    if (op.dtype == DType::uint8) {
      kind_ = Kind::bytes;
      return;
    }
    format_.scale = op.scale ? Scale::multiply : Scale::none;
  }
  kind_ = Kind::floats;
  floats_ = op.dtype;
  format_.arithmetic = op.dtype;
}

void Walk::normalize(const Normalize& op) {
  if (normalize_ != nullptr) refuse("a plan has one Normalize at most: put the two together into one");
  if (kind_ == Kind::bytes && cells_ != DType::uint8) {
    refuse(std::string("Normalize works on floats, but ") + converted_by_ +
           " gives bytes: put ToDtype(torch.float32, scale=True) between them, or ToTensor in its place");
  }
  format_.mean = op.mean;
  format_.std = op.std;
  normalize_ = "Normalize";
  if (kind_ == Kind::picture) kind_ = Kind::floats;
}

void Walk::erase(const RandomErasing& op) {
  convert_by_itself();
  erased_ = true;
  if (cells_ != DType::uint8) return;
  if (!op.value) {
    refuse(
        "RandomErasing(value='random') writes numbers that uint8 can't hold: choose a float dtype, or "
        "another "
        "value");
  }
  for (const double value : *op.value) {
    if (value == 0) continue;
    if (kind_ == Kind::floats) {
      refuse("RandomErasing writes " + std::to_string(value) +
             " among floats, which batches of uint8 can't hold: " + "choose a float dtype, or value=0");
    }
    if (!(value >= 0 && value <= 255)) {
      refuse("RandomErasing writes " + std::to_string(value) + " among bytes, which are 0 to 255");
    }
  }
}

void Walk::require_picture_or_same(const Op& op) const {
  if (normalize_ != nullptr || erased_) {
    refuse(std::string(normalize_ != nullptr ? "Normalize" : "RandomErasing") +
           " comes last (only flips and RandomErasing may follow it, and Normalize RandomErasing): " +
           op_name(op) + " works on the bytes and belongs before it");
  }
  if (kind_ == Kind::picture || std::holds_alternative<CenterCrop>(op)) return;
  const auto zeros = [](const Rgb& fill, PadMode mode) { return mode != PadMode::constant || fill == Rgb{}; };
  if (const auto* o = std::get_if<Pad>(&op); o != nullptr && zeros(o->fill, o->mode)) return;
  if (const auto* o = std::get_if<RandomCrop>(&op); o != nullptr && zeros(o->fill, o->mode)) return;
  refuse(std::string(op_name(op)) + " works on pictures, as Pillow has them, but " + converted_by_ +
         " made a tensor of it already, where torchvision's result is another: put " + op_name(op) +
         " before " + converted_by_);
}

PixelFormat Walk::finish() const {
  if (cells_ == DType::uint8) return format_;
  if (kind_ == Kind::bytes) {
    refuse(std::string(converted_by_) + " gives bytes, but the batches are to be " + torch_name(cells_) +
           ": ask for dtype=torch.uint8, or put ToDtype(torch.float32, scale=True) behind it");
  }
  if (floats_ && *floats_ != DType::float32 && *floats_ != cells_) {
    refuse("ToDtype gives " + torch_name(*floats_) + ", but the batches are to be " + torch_name(cells_) +
           ": ask for dtype=" + torch_name(*floats_) + ", or leave ToDtype at torch.float32");
  }
  return format_;
}

}  // namespace

PixelFormat format_of(std::span<const Op> ops, const PixelFormat& basics) {
  Walk walk(basics);
  for (const Op& op : ops) {
    check(op);
    walk.step(op);
  }
  return walk.finish();
}

}  // namespace pyfastdl
