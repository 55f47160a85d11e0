// A launch: one kernel put on a stream, with its arguments, its grid and what it touches. Plain data; the runtime,
// traces, capture, bisect and simulation read only this.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "base/error.h"

namespace tilewright::runtime {

class Memory;

enum class Unit : std::uint8_t { vector, matrix, conversion, reduction, move };
const char* unit_name(Unit unit);

// What the work needs on any device; filled by ops/core, data to the runtime. Bytes count every tensor element touched
// once.
struct Cost {
  double flops = 0;
  double bytes_read = 0;
  double bytes_written = 0;
  Unit unit = Unit::vector;
};

// A kernel of one backend. `code` is the backend's business. Lives as long as the program, or as long as the module
// that compiled it.
struct Kernel {
  const char* name = "";
  const void* code = nullptr;
};

// A buffer argument: the kernel receives the address memory + offset. `read` and `write` say what happens to the
// `bytes` from there on.
struct BufferArg {
  Memory* memory = nullptr;
  std::uint64_t offset = 0;  // bytes
  std::uint64_t bytes = 0;
  bool read = false;
  bool write = false;
};

inline constexpr int kMaxBufferArgs = 10;
inline constexpr std::size_t kMaxParameterBytes = 512;

struct Launch {
  const Kernel* kernel = nullptr;
  std::uint32_t grid = 1;  // blocks, which may run in any order and at once; 0: nothing runs
  bool ordered = false;    // a block is started only after all blocks of a smaller number have been started, so that it
                           // may wait for them
  const char* op = "";     // operator's name, lives as long as the program
  const char* path = "";   // module path ("layers.3.self_attn.q_norm"), lives as long as the model
  Cost cost;
  const Memory* device_extents = nullptr;  // i32 tensor the kernel reads run-time extents from; null if none

  std::span<const BufferArg> buffers() const { return {buffers_.data(), buffer_count_}; }
  std::span<const std::byte> parameters() const { return {parameters_.data(), parameter_bytes_}; }

  void add_buffer(const BufferArg& buffer) {
    TW_CHECK(buffer_count_ < kMaxBufferArgs);
    buffers_[buffer_count_++] = buffer;
  }
  // `value` is copied; it must be trivially copyable and hold no pointers to memory that may go away.
  template <typename T>
  void set_parameters(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kMaxParameterBytes);
    std::memcpy(parameters_.data(), &value, sizeof value);
    parameter_bytes_ = sizeof value;
  }
  // The same for bytes of a size that is known at run time only.
  void set_parameter_bytes(std::span<const std::byte> bytes) {
    TW_CHECK(bytes.size() <= kMaxParameterBytes);
    std::memcpy(parameters_.data(), bytes.data(), bytes.size());
    parameter_bytes_ = static_cast<std::uint32_t>(bytes.size());
  }

  Launch() = default;
  Launch(const Launch& other) { *this = other; }
  Launch& operator=(const Launch& other);  // copies only what is used

 private:
  std::uint32_t buffer_count_ = 0;
  std::uint32_t parameter_bytes_ = 0;
  std::array<BufferArg, kMaxBufferArgs> buffers_;
  alignas(16) std::array<std::byte, kMaxParameterBytes> parameters_;
};

}  // namespace tilewright::runtime
