// A strided tensor in device memory. Views share the memory; making one launches nothing.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/launch.h"
#include "runtime/memory.h"
#include "runtime/stream.h"
#include "tensor/dtype.h"
#include "tensor/host_tensor.h"
#include "tensor/shape.h"

namespace tilewright::runtime {

// How the elements lie in memory. `strided` is the ordinary one; the others are packed weights, whose strides mean
// nothing, and an op that does not know the tag refuses the tensor. Backends define what a tag means:
//   panel32x2: [ceil(N/32)][ceil(K/2)][32][2], panel32: [ceil(N/32)][K][32], both zero padded, of a weight [N, K].
enum class Layout : std::uint8_t { strided, panel32x2, panel32 };
const char* layout_name(Layout layout);

class Tensor {
 public:
  Tensor() = default;
  // A contiguous tensor at the start of `memory`.
  Tensor(MemoryRef memory, DType dtype, Shape shape);
  Tensor(MemoryRef memory, DType dtype, Shape shape, Strides strides, std::int64_t offset,
         Layout layout = Layout::strided);

  bool defined() const { return static_cast<bool>(memory_); }
  DType dtype() const { return dtype_; }
  Layout layout() const { return layout_; }
  const Shape& shape() const { return shape_; }
  std::int64_t dim(int axis) const { return shape_[axis < 0 ? axis + shape_.rank() : axis]; }
  int rank() const { return shape_.rank(); }
  const Strides& strides() const { return strides_; }  // elements
  std::int64_t offset() const { return offset_; }      // elements from the start of the memory
  std::int64_t elements() const { return shape_.elements(); }
  std::uint64_t byte_offset() const { return static_cast<std::uint64_t>(offset_) * dtype_size(dtype_); }
  // Bytes from the first to behind the last element touched (packed: the whole block).
  std::uint64_t span_bytes() const;
  bool contiguous() const { return layout_ == Layout::strided && is_contiguous(shape_, strides_); }
  Memory& memory() const { return *memory_.get(); }
  const MemoryRef& memory_ref() const { return memory_; }
  Device& device() const { return memory_->device(); }

  // Views. Arguments out of range, and a view that would need a copy, abort: callers know their shapes.
  Tensor view(Shape shape) const;  // same elements in the same order; one dim may be -1
  bool viewable(const Shape& shape) const;
  Tensor transpose(int a, int b) const;
  Tensor permute(const Dims& order) const;
  Tensor slice(int axis, std::int64_t begin, std::int64_t end) const;
  Tensor select(int axis, std::int64_t index) const;  // drops the axis
  Tensor unsqueeze(int axis) const;
  Tensor squeeze(int axis) const;
  Tensor expand(const Shape& shape) const;  // broadcast, stride 0

  std::string describe() const;  // "bf16 [1, 16, 5, 64]"

 private:
  MemoryRef memory_;
  DType dtype_ = DType::f32;
  Layout layout_ = Layout::strided;
  Shape shape_;
  Strides strides_;
  std::int64_t offset_ = 0;
};

// A buffer argument that covers the tensor.
BufferArg read_arg(const Tensor& tensor);
BufferArg write_arg(const Tensor& tensor);
BufferArg read_write_arg(const Tensor& tensor);

Tensor empty(Stream& stream, DType dtype, const Shape& shape);  // contiguous
Tensor to_device(Stream& stream, const HostTensor& tensor);     // returns when the bytes have been read
HostTensor to_host(Stream& stream, const Tensor& tensor);       // synchronizes; any strides, not packed layouts

}  // namespace tilewright::runtime
