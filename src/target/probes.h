// Quick readings of what this machine can do at this moment. Each probe keeps its buffers and may be sampled between
// pieces of the work it is compared with: neighbours of a virtual machine change bandwidth by half within minutes.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/cpu.h"
#include "target/spin_team.h"

namespace tilewright::target {

// Memory backed by 2 MB pages (asked for; the kernel may refuse) or 4 KB pages, touched by the members who will read
// it.
class PagedBuffer {
 public:
  PagedBuffer(std::size_t bytes, bool huge_pages);  // throws Error if there is no memory
  ~PagedBuffer();
  PagedBuffer(const PagedBuffer&) = delete;
  PagedBuffer& operator=(const PagedBuffer&) = delete;
  char* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* mapping_ = nullptr;
  std::size_t mapped_ = 0;
  char* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// A multiple of the last cache's size, at most 1 GB; whole megabytes.
std::size_t beyond_caches(int times);

// Flops per second of all members together, about 2 ms a sample.
class PeakProbe {
 public:
  PeakProbe(SpinTeam& team, IsaLevel isa) : team_(team), isa_(isa) {}
  double f32_fma() const;
  bool has_bf16_dot() const;
  double bf16_dot() const;  // 0 where there are none
  double clock_hz() const;  // of one member while all are busy
  int f32_lanes() const;

 private:
  SpinTeam& team_;
  IsaLevel isa_;
};

// Bytes per second of reading memory beyond the last cache: the best of 4 KB and 2 MB pages with 1 and 2 streams a
// member. One sample reads some hundred megabytes, 10 to 40 ms.
class BandwidthProbe {
 public:
  static constexpr int kVariants = 4;
  BandwidthProbe(SpinTeam& team, IsaLevel isa, std::size_t bytes = beyond_caches(8));
  double sample();
  const std::vector<double>& last() const { return last_; }  // of the last sample, in the order 4K/1, 4K/2, 2M/1, 2M/2

 private:
  SpinTeam& team_;
  IsaLevel isa_;
  PagedBuffer small_, huge_;
  std::vector<double> last_;
};

// Bytes read plus bytes written per second: the best of memcpy and non-temporal stores, beyond the last cache.
class CopyProbe {
 public:
  CopyProbe(SpinTeam& team, IsaLevel isa, std::size_t bytes = beyond_caches(8));
  double sample();

 private:
  SpinTeam& team_;
  IsaLevel isa_;
  PagedBuffer from_, to_;
};

// Bytes per second of reading `bytes_per_member` again and again, all members together.
double cache_read_bandwidth(SpinTeam& team, IsaLevel isa, std::size_t bytes_per_member);

// Seconds from handing work to a spinning team until all members are done with nothing.
double fork_join_seconds(SpinTeam& team);

}  // namespace tilewright::target
