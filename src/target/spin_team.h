// Pinned threads that spin between pieces of work: for measuring limits, never for serving.
#pragma once

#include <sched.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace tilewright::target {

// The constructing thread is member 0. While a team lives its members are pinned, one to each of the first processors
// that this process may use; the caller's own affinity is restored at the end. More members than processors are not
// pinned.
class SpinTeam {
 public:
  explicit SpinTeam(int threads);
  ~SpinTeam();
  SpinTeam(const SpinTeam&) = delete;
  SpinTeam& operator=(const SpinTeam&) = delete;

  int size() const { return size_; }
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
  cpu_set_t before_;
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
