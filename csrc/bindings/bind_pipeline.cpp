// Pipeline: opened and emptied once per batch.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.h"
#include "bindings/errors.h"
#include "bindings/export.h"
#include "bindings/gil.h"
#include "pipeline/pillow_worker.h"
#include "pipeline/pipeline.h"
#include "pipeline/replacement.h"

namespace py = pybind11;

namespace pyfastdl::bindings {
namespace {

using Indices = py::array_t<std::int64_t, py::array::c_style>;

// What numpy calls a dtype, as DLPack calls it.
dlpack::DataType dlpack_type(const py::dtype& dtype) {
  const auto bits = static_cast<std::uint8_t>(dtype.itemsize() * 8);
  switch (dtype.kind()) {
    case 'b':
      return {dlpack::kBool, bits, 1};
    case 'i':
      return {dlpack::kInt, bits, 1};
    case 'u':
      return {dlpack::kUInt, bits, 1};
    case 'f':
      return {dlpack::kFloat, bits, 1};
    default:
      throw Error(Errc::wrong_type,
                  "targets must be numbers, got an array of " + py::str(dtype).cast<std::string>());
  }
}

dlpack::DataType dlpack_type(DType dtype) {
  switch (dtype) {
    case DType::uint8:
      return {dlpack::kUInt, 8, 1};
    case DType::float16:
      return {dlpack::kFloat, 16, 1};
    case DType::bfloat16:
      return {dlpack::kBfloat, 16, 1};
    case DType::float32:
      break;
  }
  return {dlpack::kFloat, 32, 1};
}

// The targets with what tensors made of them look like.
struct Targets {
  std::shared_ptr<const TargetTable> table;
  dlpack::DataType dtype{};
  std::optional<std::int64_t> columns;  // vectors; otherwise one number a sample
};

Targets make_targets(const py::array& array) {
  if (array.ndim() != 1 && array.ndim() != 2) {
    throw Error(Errc::invalid_argument, "targets must have one or two dimensions (samples, values), got " +
                                            std::to_string(array.ndim()));
  }
  if (array.size() == 0) throw Error(Errc::invalid_argument, "targets must not be empty");
  Targets targets;
  targets.dtype = dlpack_type(array.dtype());
  if (array.ndim() == 2) targets.columns = array.shape(1);
  const py::array rows = py::array::ensure(array, py::array::c_style);
  const auto bytes = static_cast<std::size_t>(rows.nbytes());
  targets.table =
      std::make_shared<const TargetTable>(std::span(static_cast<const std::byte*>(rows.data()), bytes),
                                          bytes / static_cast<std::size_t>(rows.shape(0)));
  return targets;
}

ErrorPolicy parse_policy(const std::string& name) {
  if (name == "raise") return ErrorPolicy::raise;
  if (name == "replace") return ErrorPolicy::replace;
  if (name == "skip") return ErrorPolicy::skip;
  throw Error(Errc::invalid_argument, "on_error must be 'raise', 'replace' or 'skip', got '" + name + "'");
}

Deadline deadline_in(double seconds) {
  // A century is forever, and does not overflow the clock.
  constexpr double kForever = 100.0 * 365 * 86400;
  const std::chrono::duration<double> wait(std::min(seconds, kForever));
  return std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(wait);
}

py::str fs_string(const std::string& bytes) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeFSDefaultAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
}

py::list failure_list(const std::vector<Failure>& failures) {
  py::list list;
  for (const Failure& f : failures) {
    const py::object reason = py::reinterpret_steal<py::object>(
        PyUnicode_DecodeUTF8(f.reason.data(), static_cast<Py_ssize_t>(f.reason.size()), "replace"));
    py::object replaced_by = py::none();
    if (f.replaced_by >= 0) replaced_by = py::int_(f.replaced_by);
    list.append(py::make_tuple(f.index, fs_string(f.path), reason, replaced_by));
  }
  return list;
}

// Every call may wait for another thread's: none keeps the GIL meanwhile.
template <class Call>
auto without_gil(Call call) {
  const GilReleased released;
  return call();
}

// The pipeline, and how its batches look to torch.
class PipelineHandle {
 public:
  PipelineHandle(PipelineConfig config, Targets targets) : targets_(std::move(targets)) {
    config.targets = targets_.table;
    const GilReleased released;
    pipeline_ = std::make_unique<Pipeline>(std::move(config));
  }

  Pipeline& pipeline() { return *pipeline_; }

  py::tuple next(double timeout) {
    Batch batch;
    switch (without_gil([&] { return pipeline_->next(deadline_in(timeout), batch); })) {
      case NextResult::batch:
        return py::make_tuple("batch", tensors(batch), batch.cells);
      case NextResult::nothing_open:
        return py::make_tuple("nothing_open", py::tuple(), py::tuple());
      case NextResult::need_pillow:
        return py::make_tuple("need_pillow", py::tuple(), py::tuple());
      case NextResult::timed_out:
        return py::make_tuple("timed_out", py::tuple(), py::tuple());
      case NextResult::interrupted:
        break;
    }
    return py::make_tuple("interrupted", py::tuple(), py::tuple());
  }

  py::dict stats() {
    const std::shared_ptr<Core>& core = pipeline_->core();
    py::dict result;
    const Counters& c = core->counters();
    for (const auto& [name, counter] :
         std::initializer_list<std::pair<const char*, const std::atomic<std::uint64_t>&>>{
             {"samples", c.samples},
             {"file_bytes", c.file_bytes},
             {"cached_reads", c.cached_reads},
             {"waited_reads", c.waited_reads},
             {"region_samples", c.region_samples},
             {"untrusted_samples", c.untrusted_samples},
             {"libjpeg_samples", c.libjpeg_samples},
             {"pillow_samples", c.pillow_samples},
             {"failed_samples", c.failed_samples},
             {"batches", c.batches},
             {"copied_batches", c.copied_batches}}) {
      result[name] = counter.load(std::memory_order_relaxed);
    }
    const StageSnapshot clocks = core->clocks().snapshot();
    for (std::size_t i = 0; i < kStages; ++i) {
      const std::string name(stage_name(static_cast<Stage>(i)));
      result[py::str(name + "_s")] = static_cast<double>(clocks.stages[i].nanoseconds) * 1e-9;
    }
    const ByteBudget::Usage memory = core->memory().usage();
    result["wait_memory_s"] = std::chrono::duration<double>(memory.waited).count();
    result["peak_memory"] = memory.peak;
    return result;
  }

 private:
  // Pixels (B, 3, H, W) of each view, targets (B,) or (B, D), indices (B,); those that the loader has.
  py::tuple tensors(const Batch& batch) {
    const Core& core = *pipeline_->core();
    const PipelineConfig& config = pipeline_->config();
    const auto b = static_cast<std::int64_t>(batch.size);
    py::list fields;
    for (std::size_t v = 0; v < config.views.size(); ++v) {
      const std::int64_t h = config.views[v].cell_size.height, w = config.views[v].cell_size.width;
      const PixelFormat& format = config.views[v].plan->format();
      const std::array<std::int64_t, 4> shape = {b, 3, h, w};
      const std::array<std::int64_t, 4> strides = format.layout == Layout::chw
                                                      ? std::array<std::int64_t, 4>{3 * h * w, h * w, w, 1}
                                                      : std::array<std::int64_t, 4>{3 * h * w, 1, 3 * w, 3};
      fields.append(export_field(batch.lease, static_cast<std::uint32_t>(v), dlpack_type(format.dtype), shape,
                                 strides));
    }
    if (core.target_field() >= 0) {
      const std::int64_t columns = targets_.columns.value_or(1);
      const std::array<std::int64_t, 2> sizes = {b, columns}, steps = {columns, 1};
      const std::size_t dims = targets_.columns ? 2 : 1;
      fields.append(export_field(batch.lease, static_cast<std::uint32_t>(core.target_field()), targets_.dtype,
                                 std::span(sizes).first(dims), std::span(steps).first(dims)));
    }
    if (core.index_field() >= 0) {
      const std::array<std::int64_t, 1> sizes = {b}, steps = {1};
      fields.append(export_field(batch.lease, static_cast<std::uint32_t>(core.index_field()),
                                 {dlpack::kInt, 64, 1}, sizes, steps));
    }
    return py::tuple(fields);
  }

  Targets targets_;
  std::unique_ptr<Pipeline> pipeline_;
};

}  // namespace

void bind_pipeline(py::module_& m) {
  py::class_<Targets, std::shared_ptr<Targets>>(m, "Targets").def(py::init(&make_targets), py::arg("array"));

  py::class_<PipelineHandle, std::shared_ptr<PipelineHandle>>(m, "Pipeline")
      .def(py::init([](std::shared_ptr<PathTable> paths,
                       const std::vector<std::pair<std::shared_ptr<Plan>, std::pair<int, int>>>& views,
                       std::shared_ptr<Targets> targets, std::uint32_t batch_size, std::uint32_t prefetch,
                       std::uint32_t held, unsigned decode_threads, unsigned read_threads, bool return_index,
                       const std::string& on_error, std::uint64_t max_pixels, int max_scans,
                       std::uint64_t max_memory, bool apply_exif_orientation, bool fast) {
             PipelineConfig config;
             config.paths = std::move(paths);
             for (const auto& [plan, size] : views) config.views.push_back({plan, {size.first, size.second}});
             config.batch_size = batch_size;
             config.prefetch = prefetch;
             config.held = held;
             config.decode_threads = decode_threads;
             config.read_threads = read_threads;
             config.return_index = return_index;
             config.on_error = parse_policy(on_error);
             config.limits = {max_pixels, max_scans};
             config.max_memory = max_memory;
             config.apply_exif_orientation = apply_exif_orientation;
             config.fast = fast;
             return std::make_shared<PipelineHandle>(std::move(config), targets ? *targets : Targets{});
           }),
           py::arg("paths"), py::arg("views"), py::kw_only(), py::arg("targets"), py::arg("batch_size"),
           py::arg("prefetch"), py::arg("held") = 1, py::arg("decode_threads"), py::arg("read_threads"),
           py::arg("return_index"), py::arg("on_error"), py::arg("max_pixels"), py::arg("max_scans"),
           py::arg("max_memory"), py::arg("apply_exif_orientation"), py::arg("fast"))
      .def("start_epoch",
           [](PipelineHandle& self, std::uint64_t seed, std::uint32_t epoch) {
             without_gil([&] { self.pipeline().start_epoch(seed, epoch); });
           })
      .def("wants_batch",
           [](PipelineHandle& self) { return without_gil([&] { return self.pipeline().wants_batch(); }); })
      .def(
          "open",
          [](PipelineHandle& self, const Indices& indices, const std::vector<std::uint32_t>& occurrences) {
            const std::span span(indices.data(), static_cast<std::size_t>(indices.size()));
            without_gil([&] { self.pipeline().open(span, occurrences); });
          },
          py::arg("indices"), py::arg("occurrences") = std::vector<std::uint32_t>{})
      .def("next", &PipelineHandle::next, py::arg("timeout"))
      .def("open_batches",
           [](PipelineHandle& self) { return without_gil([&] { return self.pipeline().open_batches(); }); })
      .def("unfinished",
           [](PipelineHandle& self, std::size_t most) {
             return failure_list(without_gil([&] { return self.pipeline().unfinished(most); }));
           })
      .def("take_errors",
           [](PipelineHandle& self) {
             return failure_list(without_gil([&] { return self.pipeline().take_errors(); }));
           })
      .def("set_pillow_served",
           [](PipelineHandle& self) { without_gil([&] { self.pipeline().set_pillow_served(); }); })
      .def("cancel", [](PipelineHandle& self) { without_gil([&] { self.pipeline().cancel(); }); })
      .def("close", [](PipelineHandle& self) { without_gil([&] { self.pipeline().close(); }); })
      .def("stats", &PipelineHandle::stats)
      .def("pillow_worker",
           [](PipelineHandle& self) { return std::make_unique<PillowWorker>(self.pipeline().core()); });

  m.def(
      "replacement",
      [](std::uint64_t seed, std::uint32_t epoch, std::uint64_t index, std::uint32_t occurrence,
         std::uint64_t samples,
         std::uint32_t attempt) { return replacement({seed, epoch, index, occurrence}, samples, attempt); },
      py::arg("seed"), py::arg("epoch"), py::arg("index"), py::arg("occurrence"), py::arg("samples"),
      py::arg("attempt"), "The sample to try instead of one that failed; None when there is no further one.");

  py::class_<PillowWorker>(m, "PillowWorker")
      .def("next",
           [](PillowWorker& self, double timeout) {
             return without_gil([&] { return self.next(deadline_in(timeout)); });
           })
      .def("stopped", &PillowWorker::stopped)
      .def("data",
           [](PillowWorker& self) {
             const ByteBuffer& bytes = self.job().bytes;
             return py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
           })
      .def("reason", [](PillowWorker& self) { return self.job().reason; })
      .def(
          "reserve",
          [](PillowWorker& self, std::uint64_t bytes) { without_gil([&] { self.reserve(bytes); }); },
          py::arg("bytes"))
      .def("complete",
           [](PillowWorker& self, const py::array_t<std::uint8_t, py::array::c_style>& rgb) {
             if (rgb.ndim() != 3 || rgb.shape(2) != 3 || rgb.size() == 0) {
               throw Error(Errc::invalid_argument, "decoded pixels must be (height, width, 3)");
             }
             const Size size{static_cast<int>(rgb.shape(0)), static_cast<int>(rgb.shape(1))};
             const std::uint8_t* pixels = rgb.data();
             without_gil([&] { self.complete(pixels, size); });
           })
      .def(
          "fail",
          [](PillowWorker& self, const std::string& reason, bool out_of_memory) {
            const Status status(out_of_memory ? Errc::out_of_memory : Errc::bad_data, reason);
            without_gil([&] { self.fail(status); });
          },
          py::arg("reason"), py::arg("out_of_memory") = false);
}

}  // namespace pyfastdl::bindings
