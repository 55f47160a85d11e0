// Streams order work, events order streams and time work on the device's clock.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "runtime/capture/mode.h"
#include "runtime/launch.h"
#include "runtime/memory.h"

namespace tilewright::runtime {

class Device;
class ExecutableGraph;
class Graph;
struct Binding;

// A point in a stream. Recording again moves it. Safe to use from several threads.
class Event {
 public:
  virtual ~Event() = default;
  virtual bool query() = 0;        // true if the recorded point has been passed (or nothing was recorded)
  virtual void synchronize() = 0;  // waits for it; rethrows a sticky fault of its device
  // Seconds on the device's clock at which the point was passed. Both this and `seconds_since` synchronize.
  virtual double seconds() = 0;
  double seconds_since(Event& start) { return seconds() - start.seconds(); }
};

// Host memory of a copy: from pageable memory the call returns only when the bytes have been read or written; with
// pinned memory (Device::allocate_pinned) it is asynchronous and the caller keeps the memory alive.
enum class HostMemory { pageable, pinned };

// An ordered queue, asynchronous to the caller. A device's streams run concurrently unless ordered by events.
// Submission from several threads to one stream is not allowed; synchronize and query may come from any thread. Faults
// of device work are sticky: they rise as Error at the next synchronize of any stream of the device.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual Device& device() const = 0;
  virtual void submit(const Launch& launch) = 0;
  virtual void record(Event& event) = 0;
  virtual void wait(Event& event) = 0;  // later work of this stream waits for the point last recorded in `event`
  virtual void copy_from_host(Memory& destination, std::size_t offset, const void* source, std::size_t bytes,
                              HostMemory kind = HostMemory::pageable) = 0;
  virtual void copy_to_host(void* destination, Memory& source, std::size_t offset, std::size_t bytes,
                            HostMemory kind = HostMemory::pageable) = 0;
  virtual void synchronize() = 0;  // returns when everything submitted so far is done
  virtual bool query() = 0;        // true if everything submitted so far is done; throws only while capturing

  // Until end_capture, work put on this stream, and on streams that wait for events recorded on it, is written down
  // instead of run; memory allocated for them has no address before the graph is instantiated. Illegal actions throw
  // Error with Ascend's code and name at once and invalidate the capture (error_codes.h, docs/capture.md). A device
  // that cannot capture throws Error.
  virtual void begin_capture(CaptureMode mode = CaptureMode::global);
  // Throws Error (107025, 107029, 107036, 107038, 507903); afterwards the stream is an ordinary one in every case.
  virtual std::shared_ptr<Graph> end_capture();
  virtual CaptureStatus capture_status() const { return CaptureStatus::none; }
  // Submits the whole graph as one piece of work: no allocation, no work per node on this thread. `bindings`: all that
  // the graph requires, as captured; others are refused (507015), as are graphs of which a buffer was freed (507011).
  virtual void replay(ExecutableGraph& graph, std::span<const Binding> bindings = {});

  // Blocks allocated for this stream, with the arenas of graphs captured on it. Devices that do not tell streams apart
  // answer for the whole device.
  virtual MemoryStats memory_stats() const;
  virtual void reset_peak();
};

}  // namespace tilewright::runtime
