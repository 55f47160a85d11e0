#include "target/spin_team.h"

#include <pthread.h>

#include <chrono>

#include "base/error.h"

namespace tilewright::target {
namespace {

// Waits a little; a member that waits long gives its processor away, which matters only when there are more members than
// processors.
class Spinner {
 public:
  void wait() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    if (++spins_ > 20000) std::this_thread::yield();
  }

 private:
  int spins_ = 0;
};

void pin(int member, int size, const cpu_set_t& allowed) {
  if (size > CPU_COUNT(&allowed)) return;
  int seen = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || seen++ < member) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);  // a refusal only makes the reading noisier
    return;
  }
}

}  // namespace

SpinTeam::SpinTeam(int threads) : size_(threads) {
  TW_CHECK(threads >= 1);
  CPU_ZERO(&before_);
  pthread_getaffinity_np(pthread_self(), sizeof before_, &before_);
  pin(0, size_, before_);
  for (int member = 1; member < size_; ++member)
    threads_.emplace_back([this, member] {
      pin(member, size_, before_);
      for (unsigned seen = 0;;) {
        for (Spinner spinner; generation_.load(std::memory_order_acquire) == seen;) spinner.wait();
        ++seen;
        if (stop_.load(std::memory_order_relaxed)) return;
        (*work_)(member);
        running_.fetch_sub(1, std::memory_order_acq_rel);
      }
    });
}

SpinTeam::~SpinTeam() {
  stop_.store(true, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  for (std::thread& thread : threads_) thread.join();
  pthread_setaffinity_np(pthread_self(), sizeof before_, &before_);
}

void SpinTeam::run(const std::function<void(int)>& work) {
  work_ = &work;
  running_.store(size_ - 1, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  work(0);
  for (Spinner spinner; running_.load(std::memory_order_acquire);) spinner.wait();
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace tilewright::target
