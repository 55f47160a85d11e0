// Streams and events of a device that can capture. What is legal when is decided here once for all backends; a backend
// implements the do_… functions, which are called outside captures only.
#pragma once

#include "runtime/capture/capture.h"
#include "runtime/capture/capturing_device.h"
#include "runtime/stream.h"

namespace tilewright::runtime {

class CapturingEvent : public Event {
 public:
  explicit CapturingEvent(CapturingDevice& device) : device_(device) {}
  bool query() final;
  void synchronize() final;
  double seconds() final;

 protected:
  virtual bool do_query() = 0;
  virtual void do_synchronize() = 0;
  virtual double do_seconds() = 0;  // synchronizes

 private:
  friend class CapturingStream;
  void check(const char* what);
  CapturingDevice& device_;
  std::atomic<bool> captured_{false};  // there is a mark
  std::shared_ptr<CaptureMark> mark_;  // where it was recorded last, if that was in a capture; Captures::mutex
};

class CapturingStream : public Stream {
 public:
  explicit CapturingStream(CapturingDevice& device) : device_(device) {}
  ~CapturingStream() override;  // a capture that it takes part in becomes invalid
  Device& device() const final { return device_; }
  virtual int number() const = 0;  // the one the device counts its memory under

  void submit(const Launch& launch) final;
  void record(Event& event) final;
  void wait(Event& event) final;
  void copy_from_host(Memory& destination, std::size_t offset, const void* source, std::size_t bytes,
                      HostMemory kind) final;
  void copy_to_host(void* destination, Memory& source, std::size_t offset, std::size_t bytes, HostMemory kind) final;
  void synchronize() final;
  bool query() final;
  void begin_capture(CaptureMode mode) final;
  std::shared_ptr<Graph> end_capture() final;
  CaptureStatus capture_status() const final;
  void replay(ExecutableGraph& graph, std::span<const Binding> bindings) final;

 protected:
  virtual void do_submit(const Launch& launch) = 0;
  virtual void do_record(CapturingEvent& event) = 0;
  virtual void do_wait(CapturingEvent& event) = 0;
  virtual void do_copy_from_host(Memory& destination, std::size_t offset, const void* source, std::size_t bytes,
                                 HostMemory kind) = 0;
  virtual void do_copy_to_host(void* destination, Memory& source, std::size_t offset, std::size_t bytes,
                               HostMemory kind) = 0;
  virtual void do_synchronize() = 0;
  virtual bool do_query() = 0;
  // Puts the whole graph on the stream; it was made by this device's make_executable.
  virtual void do_replay(PlannedExecutable& graph) = 0;

 private:
  friend class CapturingDevice;
  bool capturing() const { return capturing_.load(std::memory_order_acquire); }
  void require_valid();  // throws 507903
  void join(CapturingEvent& event);
  // True if the copy was recorded.
  bool capture_copy(GraphNode::Kind kind, Memory& memory, std::size_t offset, void* host, std::size_t bytes,
                    HostMemory host_memory);
  std::shared_ptr<Graph> leave(Capture& capture);

  CapturingDevice& device_;
  std::atomic<bool> capturing_{false};
  std::shared_ptr<Capture> capture_;  // Captures::mutex
  int member_ = 0;
};

}  // namespace tilewright::runtime
