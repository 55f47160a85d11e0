// Pinned threads that spin between pieces of work: for measuring limits, never for serving.
#pragma once

#include <sched.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace tilewright::target {

// The constructing thread is member 0. The others are pinned, one to each of the processors after the first that this
// process may use (not if there are too few); they spin for some milliseconds after each run, then sleep.
class SpinTeam {
 public:
  explicit SpinTeam(int threads);
  ~SpinTeam();
  SpinTeam(const SpinTeam&) = delete;
  SpinTeam& operator=(const SpinTeam&) = delete;

  int size() const { return size_; }
  // While one lives, the calling thread is pinned to the first processor and the members are awake: hold it around what
  // is timed. Threads made meanwhile inherit the pin.
  class Timing {
   public:
    explicit Timing(SpinTeam& team);
    ~Timing();
    Timing(const Timing&) = delete;
    Timing& operator=(const Timing&) = delete;

   private:
    cpu_set_t before_;
  };
  // work(member) on every member at once; returns when all are done. Only from the constructing thread; must not throw.
  void run(const std::function<void(int)>& work);
  // work(block) for every block in [0, blocks), handed out in ascending order.
  template <typename Work>
  void run_blocks(unsigned blocks, const Work& work) {
    next_.store(0, std::memory_order_relaxed);
    run([&](int) {
      for (unsigned block; (block = next_.fetch_add(1, std::memory_order_relaxed)) < blocks;) work(block);
    });
  }

 private:
  const int size_;
  cpu_set_t allowed_;
  std::vector<std::thread> threads_;
  alignas(64) std::atomic<unsigned> generation_{0};
  alignas(64) std::atomic<int> running_{0};
  alignas(64) std::atomic<unsigned> next_{0};
  const std::function<void(int)>* work_ = nullptr;
  std::atomic<bool> stop_{false};
};

// Seconds of a clock that only goes forward.
double seconds_now();

}  // namespace tilewright::target
