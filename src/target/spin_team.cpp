#include "target/spin_team.h"

#include <pthread.h>

#include <chrono>

#include "base/error.h"

namespace tilewright::target {
namespace {

constexpr int kSpins = 200000;  // some milliseconds

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

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
  CPU_ZERO(&allowed_);
  pthread_getaffinity_np(pthread_self(), sizeof allowed_, &allowed_);
  for (int member = 1; member < size_; ++member)
    threads_.emplace_back([this, member] {
      pin(member, size_, allowed_);
      const bool crowded = size_ > CPU_COUNT(&allowed_);
      for (unsigned seen = 0;;) {
        for (int spins = crowded ? 0 : kSpins; generation_.load(std::memory_order_acquire) == seen;) {
          if (spins-- > 0)
            relax();
          else
            generation_.wait(seen, std::memory_order_acquire);
        }
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
  generation_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

SpinTeam::Timing::Timing(SpinTeam& team) {
  CPU_ZERO(&before_);
  pthread_getaffinity_np(pthread_self(), sizeof before_, &before_);
  pin(0, team.size_, team.allowed_);
  team.run([](int) {});
}
SpinTeam::Timing::~Timing() { pthread_setaffinity_np(pthread_self(), sizeof before_, &before_); }

void SpinTeam::run(const std::function<void(int)>& work) {
  work_ = &work;
  running_.store(size_ - 1, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  work(0);
  for (int spins = 0; running_.load(std::memory_order_acquire);) {
    if (size_ > CPU_COUNT(&allowed_) || ++spins > kSpins)
      std::this_thread::yield();
    else
      relax();
  }
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace tilewright::target
