#include "runtime/capture/capturing_stream.h"

#include <algorithm>

#include "runtime/error_codes.h"

namespace tilewright::runtime {

// ---- events

void CapturingEvent::check(const char* what) {
  if (!captured_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(device_.captures_.mutex);
  if (mark_) refuse(*mark_->capture, mark_->stream, code::kEventCaptured, what);
}

bool CapturingEvent::query() {
  check("an event that was recorded in a capture was queried");
  return do_query();
}

void CapturingEvent::synchronize() {
  check("an event that was recorded in a capture was synchronized");
  do_synchronize();
}

double CapturingEvent::seconds() {
  check("an event that was recorded in a capture was asked for its time");
  return do_seconds();
}

// ---- taking part in a capture

CapturingStream::~CapturingStream() {
  if (!capturing()) return;
  std::shared_ptr<Graph> dropped;
  const std::lock_guard lock(device_.captures_.mutex);
  if (!capture_) return;
  const std::shared_ptr<Capture> capture = capture_;
  capture->invalidate(code::kStreamCaptured, std::to_string(code::kStreamCaptured) +
                                                 ", a capturing stream was destroyed, " + capture->culprit(member_));
  if (member_ == 0)
    dropped = leave(*capture);  // nobody can end it any more
  else
    capture->members()[static_cast<std::size_t>(member_)].stream = nullptr;
}

void CapturingStream::require_valid() {
  if (!capture_->invalidated()) return;
  fail_with_code(code::kCaptureInvalidated, {.what = "the capture is invalid: only its end is allowed",
                                             .where = capture_->culprit(member_),
                                             .expected = "",
                                             .found = "first error " + capture_->invalidated_by(),
                                             .fix = ""});
}

// Every stream of the capture is an ordinary one again.
std::shared_ptr<Graph> CapturingStream::leave(Capture& capture) {
  std::erase_if(device_.captures_.active, [&](const auto& active) { return active.get() == &capture; });
  device_.captures_.count.store(static_cast<int>(device_.captures_.active.size()), std::memory_order_release);
  std::shared_ptr<Graph> graph = capture.finish();
  for (Capture::Member& member : capture.members()) {
    if (!member.stream) continue;
    CapturingStream& stream = *std::exchange(member.stream, nullptr);
    stream.capturing_.store(false, std::memory_order_release);
    stream.capture_.reset();
    stream.member_ = 0;
  }
  return graph;
}

void CapturingStream::begin_capture(CaptureMode mode) {
  if (this == &device_.default_stream())
    fail_with_code(code::kStreamCaptureImplicit, {.what = "a capture was begun on the default stream",
                                                  .where = device_.name(),
                                                  .expected = "a stream of create_stream",
                                                  .found = "the default stream",
                                                  .fix = ""});
  const std::lock_guard lock(device_.captures_.mutex);
  if (capture_)
    refuse(*capture_, member_, code::kStreamCaptured, "a capture was begun on a stream that captures already");
  capture_ = std::make_shared<Capture>(mode, *this, number());
  member_ = 0;
  device_.captures_.active.push_back(capture_);
  device_.captures_.count.store(static_cast<int>(device_.captures_.active.size()), std::memory_order_release);
  capturing_.store(true, std::memory_order_release);
}

std::shared_ptr<Graph> CapturingStream::end_capture() {
  std::shared_ptr<Graph> graph;  // outlives the lock: what is dropped with it may come back to the device
  const std::lock_guard lock(device_.captures_.mutex);
  if (!capture_)
    fail_with_code(code::kStreamNotCaptured, {.what = "a capture was ended on a stream that is not capturing",
                                              .where = device_.name(),
                                              .expected = "",
                                              .found = "",
                                              .fix = ""});
  const std::shared_ptr<Capture> capture = capture_;
  if (member_ != 0) {
    const int member = member_;
    capture->members()[static_cast<std::size_t>(member)].stream = nullptr;
    capturing_.store(false, std::memory_order_release);
    capture_.reset();
    member_ = 0;
    refuse(*capture, member, code::kStreamCaptureUnmatched, "the capture was ended on a side stream");
  }
  if (capture->thread() != std::this_thread::get_id() && capture->mode() != CaptureMode::relaxed) {
    const std::string place = capture->culprit(0);
    graph = leave(*capture);
    fail_with_code(code::kStreamCaptureWrongThread,
                   {.what = "the capture was ended on another thread than it was begun on",
                    .where = place,
                    .expected = "the thread that began, or relaxed mode",
                    .found = std::string("another thread in ") + capture_mode_name(capture->mode()) + " mode",
                    .fix = ""});
  }
  if (capture->invalidated()) {
    const std::string place = capture->culprit(0);
    graph = leave(*capture);
    fail_with_code(code::kCaptureInvalidated, {.what = "an illegal action made the capture invalid before its end",
                                               .where = place,
                                               .expected = "",
                                               .found = "first error " + capture->invalidated_by(),
                                               .fix = ""});
  }
  if (const int side = capture->unjoined()) {
    const std::string place = capture->culprit(side);
    graph = leave(*capture);
    fail_with_code(code::kStreamUnjoined,
                   {.what = "a side stream has not returned to the stream that began",
                    .where = place,
                    .expected = "an event recorded behind its last action, and a wait for it on the first stream",
                    .found = "side stream " + std::to_string(side) + " left open",
                    .fix = ""});
  }
  graph = leave(*capture);
  return graph;
}

CaptureStatus CapturingStream::capture_status() const {
  if (!capturing()) return CaptureStatus::none;
  const std::lock_guard lock(device_.captures_.mutex);
  if (!capture_) return CaptureStatus::none;
  return capture_->invalidated() ? CaptureStatus::invalidated : CaptureStatus::active;
}

// ---- work

void CapturingStream::submit(const Launch& launch) {
  if (capturing()) {
    const std::lock_guard lock(device_.captures_.mutex);
    if (capture_) {
      require_valid();
      TW_CHECK(launch.kernel);
      for (const BufferArg& buffer : launch.buffers()) TW_CHECK(&buffer.memory->device() == &device_);
      if (launch.grid != 0) capture_->add(member_, {.launch = launch});
      return;
    }
  }
  do_submit(launch);
}

void CapturingStream::record(Event& event) {
  auto& own = static_cast<CapturingEvent&>(event);
  TW_CHECK(&own.device_ == &device_);
  if (capturing()) {
    const std::lock_guard lock(device_.captures_.mutex);
    if (capture_) {
      require_valid();
      own.mark_ = std::make_shared<CaptureMark>(capture_->mark(capture_, member_));
      own.captured_.store(true, std::memory_order_release);
      return;
    }
  }
  if (own.captured_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(device_.captures_.mutex);
    own.mark_.reset();
    own.captured_.store(false, std::memory_order_release);
  }
  do_record(own);
}

void CapturingStream::wait(Event& event) {
  auto& own = static_cast<CapturingEvent&>(event);
  TW_CHECK(&own.device_ == &device_);
  if (capturing()) {
    const std::lock_guard lock(device_.captures_.mutex);
    if (capture_) {
      require_valid();
      if (!own.mark_ || own.mark_->capture->ended())
        refuse(*capture_, member_, code::kCaptureDependency,
               "a capturing stream waits for an event that was not recorded in the capture");
      if (own.mark_->capture != capture_) {
        own.mark_->capture->invalidate(code::kStreamCaptureConflict, std::to_string(code::kStreamCaptureConflict) +
                                                                         ", a stream of another capture waits for it");
        refuse(*capture_, member_, code::kStreamCaptureConflict,
               "a stream of one capture waits for an event of another");
      }
      capture_->wait(member_, *own.mark_);
      return;
    }
  }
  if (own.captured_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(device_.captures_.mutex);
    if (own.mark_) {
      join(own);
      return;
    }
  }
  do_wait(own);
}

// An ordinary stream waits for a place in a capture: from here on it takes part.
void CapturingStream::join(CapturingEvent& event) {
  Capture& capture = *event.mark_->capture;
  if (capture.ended())
    refuse(capture, event.mark_->stream, code::kEventCaptured,
           "a stream waits for an event that was recorded in a capture which has ended");
  if (this == &device_.default_stream())
    refuse(capture, event.mark_->stream, code::kStreamCaptureImplicit,
           "the default stream waits for an event of a capture");
  capture_ = event.mark_->capture;
  if (capture.invalidated()) {
    const std::shared_ptr<Capture> invalid = std::exchange(capture_, nullptr);
    fail_with_code(code::kCaptureInvalidated, {.what = "a stream joins a capture that is invalid",
                                               .where = invalid->culprit(event.mark_->stream),
                                               .expected = "",
                                               .found = "first error " + invalid->invalidated_by(),
                                               .fix = ""});
  }
  member_ = capture.join(*this, *event.mark_);
  capturing_.store(true, std::memory_order_release);
}

bool CapturingStream::capture_copy(GraphNode::Kind kind, Memory& memory, std::size_t offset, void* host,
                                   std::size_t bytes, HostMemory host_memory) {
  const std::lock_guard lock(device_.captures_.mutex);
  const bool pageable = host_memory == HostMemory::pageable;
  if (!capture_) {
    if (!pageable) return false;
    for (const auto& capture : device_.captures_.active)
      if (capture->mode() == CaptureMode::global ||
          (capture->mode() == CaptureMode::thread_local_only && capture->thread() == std::this_thread::get_id()))
        refuse(*capture, 0, code::kCaptureModeNotSupport,
               "a copy of pageable memory on another stream, which the capture's mode forbids");
    return false;
  }
  if (pageable)
    refuse(*capture_, member_,
           capture_->mode() == CaptureMode::relaxed ? code::kInvalidParameter : code::kCaptureModeNotSupport,
           kind == GraphNode::Kind::copy_to_host ? "a copy into pageable memory on a capturing stream"
                                                 : "a copy from pageable memory on a capturing stream");
  require_valid();
  if (bytes == 0) return true;
  TW_CHECK(&memory.device() == &device_);
  const bool to_host = kind == GraphNode::Kind::copy_to_host;
  GraphNode node{.kind = kind, .host = host};
  node.launch.op = to_host ? "copy_to_host" : "copy_from_host";
  node.launch.cost = {
      .bytes_read = static_cast<double>(bytes), .bytes_written = static_cast<double>(bytes), .unit = Unit::move};
  node.launch.add_buffer({.memory = &memory, .offset = offset, .bytes = bytes, .read = to_host, .write = !to_host});
  capture_->add(member_, std::move(node));
  return true;
}

void CapturingStream::copy_from_host(Memory& destination, std::size_t offset, const void* source, std::size_t bytes,
                                     HostMemory kind) {
  if (device_.captures_.count.load(std::memory_order_acquire) != 0 &&
      capture_copy(GraphNode::Kind::copy_from_host, destination, offset, const_cast<void*>(source), bytes, kind))
    return;
  do_copy_from_host(destination, offset, source, bytes, kind);
}

void CapturingStream::copy_to_host(void* destination, Memory& source, std::size_t offset, std::size_t bytes,
                                   HostMemory kind) {
  if (device_.captures_.count.load(std::memory_order_acquire) != 0 &&
      capture_copy(GraphNode::Kind::copy_to_host, source, offset, destination, bytes, kind))
    return;
  do_copy_to_host(destination, source, offset, bytes, kind);
}

void CapturingStream::synchronize() {
  if (capturing()) {
    const std::lock_guard lock(device_.captures_.mutex);
    if (capture_) refuse(*capture_, member_, code::kStreamCaptured, "a capturing stream was synchronized");
  }
  do_synchronize();
}

bool CapturingStream::query() {
  if (capturing()) {
    const std::lock_guard lock(device_.captures_.mutex);
    if (capture_) refuse(*capture_, member_, code::kStreamCaptured, "a capturing stream was queried");
  }
  return do_query();
}

void CapturingStream::replay(ExecutableGraph& graph, std::span<const Binding> bindings) {
  if (capturing()) {
    const std::lock_guard lock(device_.captures_.mutex);
    if (capture_) refuse(*capture_, member_, code::kModelCaptured, "a graph was replayed on a capturing stream");
  }
  auto& planned = static_cast<PlannedExecutable&>(graph);
  TW_CHECK(planned.device_ == &device_);
  if (const int node = planned.graph().freed_use(); node >= 0)
    fail_with_code(code::kModelExecute, {.what = "a buffer that the graph uses was freed after its capture",
                                         .where = node_place(planned.graph(), node),
                                         .expected = "every captured buffer alive and at its address",
                                         .found = "a buffer of this launch whose last reference is gone",
                                         .fix = ""});
  check_bindings(planned.required(), bindings);
  const std::lock_guard lock(planned.mutex_);
  if (planned.stream_ != this && planned.running())
    fail_with_code(code::kModelRunning,
                   {.what = "another stream is still replaying this graph",
                    .where = "replay of " + std::to_string(planned.graph().nodes.size()) + " nodes",
                    .expected = "",
                    .found = "",
                    .fix = ""});
  planned.stream_ = this;
  do_replay(planned);
}

}  // namespace tilewright::runtime
