// A device: memory, streams, events and a clock. Backends derive from it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/capture/graph.h"
#include "runtime/memory.h"
#include "runtime/stream.h"
#include "runtime/trace.h"

namespace tilewright::runtime {

class Device {
 public:
  virtual ~Device() = default;

  virtual std::string name() const = 0;           // as it was opened: "host", "host:opaque", "sim:910b2"
  virtual std::string kernel_family() const = 0;  // whose kernels it runs: "host" for host, host:opaque and sim
  virtual bool computes() const { return true; }  // false: launches are accepted but results are undefined ("null")
  virtual int threads() const { return 1; }       // processor threads it uses, the caller counted

  virtual std::unique_ptr<Stream> create_stream() = 0;
  virtual Stream& default_stream() = 0;
  virtual std::unique_ptr<Event> create_event() = 0;
  virtual void synchronize() = 0;  // all streams

  // At least `bytes` (0 is allowed), aligned to 64, contents undefined, for work of `stream`. Throws Error naming size
  // and what is free if memory does not suffice.
  virtual MemoryRef allocate(Stream& stream, std::size_t bytes) = 0;
  // Foreign memory, used in place. `deleter` runs after the last reference is gone and the device has finished with it.
  virtual MemoryRef import_memory(void* data, std::size_t bytes, std::function<void()> deleter) = 0;
  // The block's address for backends and language bindings; Error where a device has none.
  virtual void* export_pointer(Memory& memory) = 0;
  virtual std::shared_ptr<void> allocate_pinned(std::size_t bytes) = 0;

  virtual MemoryStats memory_stats() const = 0;
  // What allocations could still take, as far as is known. Only an estimate: others allocate too.
  virtual std::size_t available_bytes() const { return SIZE_MAX; }
  virtual void reset_peak() = 0;
  virtual void trim() = 0;  // waits for all work and gives cached blocks back to the system

  // Seconds on the device's clock now. For a simulated device this is its own time.
  virtual double now() = 0;

  // Fixes addresses, drops needless barriers (GraphPlan) and makes the graph ready to be replayed on any stream of this
  // device. Throws Error (107040) for a graph that was instantiated before, and if memory does not suffice.
  virtual std::unique_ptr<ExecutableGraph> instantiate(std::shared_ptr<Graph> graph);

  // Between these, the device writes down what it runs. Both wait for all work. Off, launches cost nothing more.
  virtual void start_trace();
  virtual std::vector<TraceRecord> stop_trace();

  // A kernel that the backend offers by name (the conformance suite uses "cts.*"); null if it has none of that name.
  virtual const Kernel* find_kernel(std::string_view name) const = 0;

 protected:
  friend class Memory;
  virtual void release(Memory* memory) = 0;
};

struct DeviceOptions {
  int threads = 0;               // 0: as many as the process may use
  std::size_t memory_limit = 0;  // bytes; 0: what the machine has
};

// Opens devices by name. "host", "null", "host:opaque" …; the part after the colon is the backend's business.
class DeviceRegistry {
 public:
  struct Backend {
    std::string name;                                                   // "host"
    std::string summary;                                                // one line for `doctor`
    std::function<std::vector<std::string>()> devices;                  // names to list: "host", "host:opaque"
    std::function<std::string(const std::string& device)> unavailable;  // reason, or empty if it can be opened
    std::function<std::shared_ptr<Device>(const std::string& device, const DeviceOptions&)> open;
  };
  void add(Backend backend);
  // Throws Error naming the known devices, or the reason why it is unavailable.
  std::shared_ptr<Device> open(const std::string& name, const DeviceOptions& options = {}) const;
  const std::vector<Backend>& backends() const { return backends_; }

 private:
  std::vector<Backend> backends_;
};

}  // namespace tilewright::runtime
