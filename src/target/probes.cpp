#include "target/probes.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/error.h"
#include "target/probe_kernels.h"

namespace tilewright::target {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kSlice = std::size_t{1} << 20;  // handed out at a time: no member waits long for the others

std::atomic<unsigned> sink;  // keeps results alive

const ProbeKernels& kernels_of(IsaLevel isa) {
#if defined(__x86_64__)
  switch (isa) {
    case IsaLevel::avx512_bf16:
      return kAvx512Bf16Probe;
    case IsaLevel::avx512:
      return kAvx512Probe;
    case IsaLevel::avx2:
      return kAvx2Probe;
    default:
      break;
  }
#else
  (void)isa;
#endif
  return kGenericProbe;
}

double flops_rate(SpinTeam& team, float (*probe)(long), double flops) {
  constexpr long kIterations = 100000;
  const SpinTeam::Timing timing(team);
  const double start = seconds_now();
  team.run([&](int) {
    const float result = probe(kIterations);
    sink.fetch_or(result > 1 ? 1u : 0u, std::memory_order_relaxed);
  });
  return static_cast<double>(team.size()) * static_cast<double>(kIterations) * flops / (seconds_now() - start);
}

// Dependent operations of known latency.
double clock_rate() {
  constexpr long kSteps = 200000;
  const double start = seconds_now();
#if defined(__x86_64__)
  unsigned long value = 3;
  for (long i = 0; i < kSteps; ++i)
    asm volatile("imul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0" : "+r"(value));  // 3 cycles each since 2008
  return 12.0 * kSteps / (seconds_now() - start);
#elif defined(__aarch64__)
  unsigned long value = 3;
  for (long i = 0; i < kSteps; ++i)
    asm volatile("add %0, %0, #1\n\tadd %0, %0, #1\n\tadd %0, %0, #1\n\tadd %0, %0, #1" : "+r"(value));
  return 4.0 * kSteps / (seconds_now() - start);
#else
  return 0 * start;
#endif
}

void touch(SpinTeam& team, const PagedBuffer& buffer) {
  team.run_blocks(static_cast<unsigned>(buffer.bytes() / kSlice),
                  [&](unsigned slice) { std::memset(buffer.data() + slice * kSlice, 1, kSlice); });
}

}  // namespace

PagedBuffer::PagedBuffer(std::size_t bytes, bool huge_pages) : mapped_(bytes + kHugePage), bytes_(bytes) {
  mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED)
    fail({.what = "no memory to measure the bandwidth with",
          .expected = std::to_string(mapped_) + " bytes",
          .found = std::strerror(errno),
          .fix = "free memory or raise the limit of this process"});
  data_ = reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(mapping_) + kHugePage - 1) / kHugePage * kHugePage);
  madvise(data_, bytes_, huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

PagedBuffer::~PagedBuffer() { munmap(mapping_, mapped_); }

double PeakProbe::f32_fma() const { return flops_rate(team_, kernels_of(isa_).fma, kernels_of(isa_).fma_flops); }
bool PeakProbe::has_bf16_dot() const { return kernels_of(isa_).bf16_dot != nullptr; }
double PeakProbe::bf16_dot() const {
  return has_bf16_dot() ? flops_rate(team_, kernels_of(isa_).bf16_dot, kernels_of(isa_).dot_flops) : 0;
}
int PeakProbe::f32_lanes() const { return kernels_of(isa_).f32_lanes; }
double PeakProbe::clock_hz() const {
  const SpinTeam::Timing timing(team_);
  std::vector<double> clocks(static_cast<std::size_t>(team_.size()));
  team_.run([&](int member) { clocks[static_cast<std::size_t>(member)] = clock_rate(); });
  return clocks[0];
}

std::size_t beyond_caches(int times) {
  const long last_cache = std::max(cpu_info().l3_bytes, 16L << 20);
  return std::min(static_cast<std::size_t>(last_cache) * static_cast<std::size_t>(times), std::size_t{1} << 30) /
         kHugePage * kHugePage;
}

BandwidthProbe::BandwidthProbe(SpinTeam& team, IsaLevel isa, std::size_t bytes)
    : team_(team), isa_(isa), small_(bytes, false), huge_(bytes, true), last_(kVariants) {
  touch(team_, small_);
  touch(team_, huge_);
}

double BandwidthProbe::sample() {
  const auto read = kernels_of(isa_).read;
  const SpinTeam::Timing timing(team_);
  for (int variant = 0; variant < kVariants; ++variant) {
    const PagedBuffer& buffer = variant < 2 ? small_ : huge_;
    const int streams = variant % 2 + 1;
    const double start = seconds_now();
    team_.run_blocks(static_cast<unsigned>(buffer.bytes() / kSlice), [&](unsigned slice) {
      sink.fetch_or(read(buffer.data() + slice * kSlice, kSlice, streams), std::memory_order_relaxed);
    });
    last_[static_cast<std::size_t>(variant)] = static_cast<double>(buffer.bytes()) / (seconds_now() - start);
  }
  return *std::max_element(last_.begin(), last_.end());
}

CopyProbe::CopyProbe(SpinTeam& team, IsaLevel isa, std::size_t bytes)
    : team_(team), isa_(isa), from_(bytes / 2, true), to_(bytes / 2, true) {
  touch(team_, from_);
  touch(team_, to_);
}

double CopyProbe::sample() {
  double best = 0;
  const SpinTeam::Timing timing(team_);
  for (bool streaming : {false, true}) {
    const double start = seconds_now();
    team_.run_blocks(static_cast<unsigned>(from_.bytes() / kSlice), [&](unsigned slice) {
      if (streaming)
        kernels_of(isa_).copy_streaming(to_.data() + slice * kSlice, from_.data() + slice * kSlice, kSlice);
      else
        std::memcpy(to_.data() + slice * kSlice, from_.data() + slice * kSlice, kSlice);
    });
    best = std::max(best, 2.0 * static_cast<double>(from_.bytes()) / (seconds_now() - start));
  }
  return best;
}

double cache_read_bandwidth(SpinTeam& team, IsaLevel isa, std::size_t bytes_per_member) {
  const std::size_t bytes = std::max<std::size_t>(4096, bytes_per_member / 4096 * 4096);
  const std::size_t rounds = std::max<std::size_t>(2, (std::size_t{64} << 20) / bytes);
  PagedBuffer buffer(bytes * static_cast<std::size_t>(team.size()), true);
  const auto read = kernels_of(isa).read;
  double best = 0;
  const SpinTeam::Timing timing(team);
  team.run([&](int member) { std::memset(buffer.data() + bytes * static_cast<std::size_t>(member), 1, bytes); });
  for (int attempt = 0; attempt < 3; ++attempt) {
    const double start = seconds_now();
    team.run([&](int member) {
      unsigned all = 0;
      for (std::size_t i = 0; i < rounds; ++i)
        all |= read(buffer.data() + bytes * static_cast<std::size_t>(member), bytes, 1);
      sink.fetch_or(all, std::memory_order_relaxed);
    });
    best = std::max(best, static_cast<double>(bytes * rounds) * team.size() / (seconds_now() - start));
  }
  return best;
}

double fork_join_seconds(SpinTeam& team) {
  constexpr int kRounds = 2000;
  const SpinTeam::Timing timing(team);
  const double start = seconds_now();
  for (int i = 0; i < kRounds; ++i) team.run([](int) {});
  return (seconds_now() - start) / kRounds;
}

}  // namespace tilewright::target
