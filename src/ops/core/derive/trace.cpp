#include "ops/core/derive/trace.h"

#include "base/error.h"
#include "ops/core/context.h"

namespace tilewright::ops {
namespace {

using runtime::Memory;
using runtime::MemoryRef;

// Memory is a number of bytes here, work is nothing.
class TraceDevice : public runtime::Device {
 public:
  TraceDevice() : stream_(*this) {}
  std::string name() const override { return "trace"; }
  std::string kernel_family() const override { return "trace"; }
  bool computes() const override { return false; }
  std::unique_ptr<runtime::Stream> create_stream() override { return std::make_unique<TraceStream>(*this); }
  runtime::Stream& default_stream() override { return stream_; }
  std::unique_ptr<runtime::Event> create_event() override { refuse("events"); }
  void synchronize() override {}
  MemoryRef allocate(runtime::Stream&, std::size_t bytes) override { return MemoryRef(new TraceMemory(*this, bytes)); }
  MemoryRef import_memory(void*, std::size_t, std::function<void()>) override { refuse("imported memory"); }
  void* export_pointer(Memory&) override { refuse("addresses"); }
  std::shared_ptr<void> allocate_pinned(std::size_t) override { refuse("pinned memory"); }
  runtime::MemoryStats memory_stats() const override { return {}; }
  void reset_peak() override {}
  void trim() override {}
  double now() override { return 0; }
  const runtime::Kernel* find_kernel(std::string_view) const override { return nullptr; }

 protected:
  void release(Memory* memory) override { delete static_cast<TraceMemory*>(memory); }

 private:
  struct TraceMemory : Memory {
    using Memory::Memory;
  };
  class TraceStream : public runtime::Stream {
   public:
    explicit TraceStream(TraceDevice& device) : device_(device) {}
    runtime::Device& device() const override { return device_; }
    void submit(const runtime::Launch&) override {}
    void record(runtime::Event&) override {}
    void wait(runtime::Event&) override {}
    void copy_from_host(Memory&, std::size_t, const void*, std::size_t, runtime::HostMemory) override {
      refuse("values");
    }
    void copy_to_host(void*, Memory&, std::size_t, std::size_t, runtime::HostMemory) override { refuse("values"); }
    void synchronize() override {}
    bool query() override { return true; }

   private:
    TraceDevice& device_;
  };
  [[noreturn]] static void refuse(const char* what) {
    fail({.what = std::string("a decomposition that needs ") + what + " cannot be traced",
          .where = "derived kernels",
          .expected = "calls of operators alone",
          .found = "",
          .fix = ""});
  }
  TraceStream stream_;
};

TraceDevice& trace_device() {
  static auto* device = new TraceDevice;  // never destroyed: traces may outlive what is destroyed at exit
  return *device;
}

}  // namespace

Tensor stand_in(const Tensor& tensor) {
  runtime::Device& device = trace_device();
  const auto bytes = static_cast<std::size_t>(tensor.span_bytes());
  return Tensor(device.allocate(device.default_stream(), bytes), tensor.dtype(), tensor.shape(), tensor.strides(), 0,
                tensor.layout());
}

void CallTrace::call_ends(const OpCall& call, const char* path) {
  if (call.op.schema.kind != OpKind::small) return;
  calls_.push_back({&call.op,
                    call.attributes,
                    {call.inputs.begin(), call.inputs.end()},
                    {call.outputs.begin(), call.outputs.end()},
                    path});
}

DecompositionTrace trace_decomposition(const Registry& registry, const OpCall& call) {
  DecompositionTrace trace;
  for (const Tensor& input : call.inputs) trace.inputs.push_back(input.defined() ? stand_in(input) : Tensor());
  CallTrace calls;
  Context context(registry, trace_device().default_stream(), Switches{}, &calls);
  trace.outputs = call.op.decomposition.run(context, OpCall{call.op, trace.inputs, call.attributes, {}});
  trace.calls.assign(calls.calls().begin(), calls.calls().end());
  return trace;
}

}  // namespace tilewright::ops
