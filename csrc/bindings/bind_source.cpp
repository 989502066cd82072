// PathTable, scan_folder, permutation, granted_cpus: what is called once a loader or once an epoch.
//
// Paths go to Python as os.fsdecode would make them, one at a time and only when asked for.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cpu_budget.h"
#include "base/memory_limit.h"
#include "base/permutation.h"
#include "bindings/bindings.h"
#include "bindings/gil.h"
#include "source/folder_scan.h"
#include "source/path_table.h"

namespace py = pybind11;

namespace pyfastdl::bindings {
namespace {

using Int64Array = py::array_t<std::int64_t, py::array::c_style>;

py::str fs_decoded(const std::string& bytes) {
  PyObject* text = PyUnicode_DecodeFSDefaultAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()));
  if (text == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(text);
}

// os.fsencode(os.fspath(path)).
std::string fs_encoded(const py::object& path) {
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(path.ptr(), &bytes) == 0) throw py::error_already_set();
  return py::reinterpret_steal<py::bytes>(bytes);
}

std::shared_ptr<PathTable> from_packed(const py::buffer& arena, const Int64Array& offsets) {
  const py::buffer_info bytes = arena.request();
  if (bytes.ndim != 1 || bytes.itemsize != 1 || bytes.strides[0] != 1) {
    throw py::type_error("arena must be contiguous bytes");
  }
  if (offsets.ndim() != 1) throw py::value_error("offsets must have one dimension");
  const std::string_view view(static_cast<const char*>(bytes.ptr), static_cast<std::size_t>(bytes.size));
  const std::span<const std::int64_t> ends(offsets.data(), static_cast<std::size_t>(offsets.size()));
  auto table = std::make_shared<PathTable>();
  const GilReleased unlocked;
  table->append_packed(view, ends);
  table->finish();
  return table;
}

std::size_t checked(const PathTable& table, py::ssize_t i) {
  const auto size = static_cast<py::ssize_t>(table.size());
  if (i < -size || i >= size) {
    throw py::index_error("path " + std::to_string(i) + " of " + std::to_string(size));
  }
  return static_cast<std::size_t>(i < 0 ? i + size : i);
}

// What scan_folder gives: the table apart, so that it lives on without the rest.
struct ScannedFolder {
  std::shared_ptr<PathTable> paths;
  std::vector<std::string> classes;
  std::vector<std::uint64_t> class_starts;
  std::vector<std::string> notes;

  Int64Array labels() const {
    Int64Array array(static_cast<py::ssize_t>(paths->size()));
    std::int64_t* out = array.mutable_data();
    for (std::size_t c = 0; c < classes.size(); ++c) {
      out = std::fill_n(out, class_starts[c + 1] - class_starts[c], static_cast<std::int64_t>(c));
    }
    return array;
  }
};

// Lets Ctrl-C end a scan: looks for signals ten times a second, which costs the GIL each time.
class SignalPoll {
 public:
  void operator()() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(100);
    const py::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }

 private:
  std::chrono::steady_clock::time_point next_{};
};

ScannedFolder scan(const py::object& root, bool ignore_hidden, bool allow_empty) {
  const std::string path = fs_encoded(root);
  const GilReleased unlocked;
  FolderScan found =
      scan_folder(path, {.ignore_hidden = ignore_hidden, .allow_empty = allow_empty, .poll = SignalPoll()});
  return {std::make_shared<PathTable>(std::move(found.paths)), std::move(found.classes),
          std::move(found.class_starts), std::move(found.notes)};
}

// What list_images gives.
struct ListedImages {
  std::shared_ptr<PathTable> paths;
  std::vector<std::string> notes;
};

ListedImages list(const py::object& root) {
  const std::string path = fs_encoded(root);
  const GilReleased unlocked;
  ImageList found = list_images(path, {.poll = SignalPoll()});
  return {std::make_shared<PathTable>(std::move(found.paths)), std::move(found.notes)};
}

// Any Python int is a seed: its lowest 64 bits count, as in the pipeline.
Int64Array permuted(std::size_t n, const py::int_& seed, std::uint32_t epoch) {
  const std::uint64_t bits = PyLong_AsUnsignedLongLongMask(seed.ptr());
  Int64Array order(static_cast<py::ssize_t>(n));
  const std::span<std::int64_t> span(order.mutable_data(), n);
  const GilReleased unlocked;
  permutation(span, bits, epoch);
  return order;
}

// What from_packed takes.
std::pair<py::bytes, Int64Array> packed(const PathTable& table) {
  std::string arena;
  Int64Array offsets(static_cast<py::ssize_t>(table.size() + 1));
  std::int64_t* end = offsets.mutable_data();
  *end = 0;
  std::string path;
  for (std::size_t i = 0; i < table.size(); ++i) {
    table.path(i, path);
    arena += path;
    *++end = static_cast<std::int64_t>(arena.size());
  }
  return {py::bytes(arena), offsets};
}

}  // namespace

void bind_source(py::module_& m) {
  py::class_<PathTable, std::shared_ptr<PathTable>>(
      m, "PathTable", "Paths as bytes in one native arena. Constant; any thread may read it.")
      .def_static("from_packed", &from_packed, py::arg("arena"), py::arg("offsets"),
                  "Path i is arena[offsets[i]:offsets[i + 1]]; the bytes are copied.")
      .def("__len__", &PathTable::size)
      .def(
          "__getitem__",
          [](const PathTable& table, py::ssize_t i) { return fs_decoded(table.path(checked(table, i))); },
          py::arg("index"))
      .def("memory_bytes", &PathTable::memory_bytes)
      .def(py::pickle([](const PathTable& table) { return packed(table); },
                      [](const std::pair<py::bytes, Int64Array>& state) {
                        return from_packed(py::reinterpret_borrow<py::buffer>(state.first), state.second);
                      }));

  py::class_<ScannedFolder>(m, "ScannedFolder",
                            "The samples of a folder of class folders, and what was left out.")
      .def_readonly("paths", &ScannedFolder::paths)
      .def_property_readonly("classes",
                             [](const ScannedFolder& folder) {
                               py::list names;
                               for (const std::string& name : folder.classes) names.append(fs_decoded(name));
                               return names;
                             })
      .def_property_readonly("labels", &ScannedFolder::labels, "A new int64 array: the class of each sample.")
      .def_readonly("notes", &ScannedFolder::notes);

  m.def("scan_folder", &scan, py::arg("root"), py::kw_only(), py::arg("ignore_hidden") = true,
        py::arg("allow_empty") = false,
        "Lists a folder of class folders in torchvision's order. Raises torchvision's errors.");
  py::class_<ListedImages>(m, "ListedImages", "The images of a folder, and what was left out.")
      .def_readonly("paths", &ListedImages::paths)
      .def_readonly("notes", &ListedImages::notes);
  m.def("list_images", &list, py::arg("root"),
        "Lists every image in a folder and below it, with or without class folders.");
  m.def("permutation", &permuted, py::arg("n"), py::arg("seed"), py::arg("epoch"),
        "The shuffled order of range(n) for this seed and epoch, as an int64 array.");
  m.def(
      "granted_memory", [] { return granted_memory(); },
      "Bytes that this process may use: the machine's memory or its cgroup's limit, whichever is less.");
  m.def(
      "granted_cpus", [] { return granted_cpus(); },
      "CPUs that this process may use: affinity and cgroup quota, rounded down, at least 1.");
}

}  // namespace pyfastdl::bindings
