// Captures under way: what has been recorded, which streams take part, and what each of them knows of the others.
// Streams, events and devices of a backend that can capture consult it (capturing_stream.h, capturing_device.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "runtime/capture/graph.h"

namespace tilewright::runtime {

class CapturingStream;
class Capture;

// A point of a capturing stream, kept by the event that was recorded there.
struct CaptureMark {
  std::shared_ptr<Capture> capture;
  int stream = 0;
  std::vector<int> tail;            // nodes that lie directly before the point
  std::vector<std::uint64_t> seen;  // Member::seen there
};

// One capture. Not thread-safe: its device's Captures::mutex guards it.
class Capture {
 public:
  // A stream that takes part; number 0 began.
  struct Member {
    CapturingStream* stream = nullptr;  // null: destroyed, or it has left
    std::vector<int> tail;              // nodes that the next one comes directly after
    // What comes before this point: the first seen[i] actions of member i. A stream that has returned is one of which
    // the first member has seen every action.
    std::vector<std::uint64_t> seen;
    int last_node = -1;
  };

  Capture(CaptureMode mode, CapturingStream& stream, int memory_stream);

  int join(CapturingStream& stream, const CaptureMark& mark);
  CaptureMark mark(const std::shared_ptr<Capture>& self, int member);
  void wait(int member, const CaptureMark& mark);
  // A launch or copy; stream, order and use of memory are filled in here.
  void add(int member, GraphNode node);
  void plan(MemoryRef memory);
  // The side stream that has not returned; 0: all have.
  int unjoined() const;
  // Ends it: hands the graph over. Of planned memory that is still held, says so.
  std::shared_ptr<Graph> finish();

  // The first illegal action makes the capture worthless; its text is told again at the end.
  void invalidate(int code, const std::string& text);
  std::string culprit(int member) const;  // the last captured launch of that stream

  CaptureMode mode() const { return mode_; }
  std::thread::id thread() const { return thread_; }
  bool invalidated() const { return invalid_code_ != 0; }
  std::string invalidated_by() const { return invalid_text_; }
  bool ended() const { return graph_ == nullptr; }
  std::vector<Member>& members() { return members_; }

 private:
  void use(const Memory& memory, int node);

  std::shared_ptr<Graph> graph_;  // null: ended
  CaptureMode mode_;
  std::thread::id thread_;
  int invalid_code_ = 0;
  std::string invalid_text_;
  std::vector<Member> members_;
  std::unordered_map<const Memory*, int> planned_;  // position in Graph::planned; -1: from outside
};

// All captures under way on a device.
struct Captures {
  std::mutex mutex;
  std::vector<std::shared_ptr<Capture>> active;
  std::atomic<int> count{0};  // of `active`, readable without the mutex
};

// Invalidates the capture and throws the error of `code`, its place being the last captured launch of that stream.
[[noreturn]] void refuse(Capture& capture, int member, int code, const char* what);

}  // namespace tilewright::runtime
