// The instruction for loops that wait for another thread.
#pragma once

#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tilewright::backends::host {

inline void relax_processor() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace tilewright::backends::host
