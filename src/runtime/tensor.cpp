#include "runtime/tensor.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "runtime/device.h"

namespace tilewright::runtime {

const char* layout_name(Layout layout) {
  switch (layout) {
    case Layout::strided:
      return "strided";
    case Layout::panel32x2:
      return "panel32x2";
    case Layout::panel32:
      return "panel32";
  }
  return "?";
}

Tensor::Tensor(MemoryRef memory, DType dtype, Shape shape)
    : Tensor(std::move(memory), dtype, shape, contiguous_strides(shape), 0) {}

Tensor::Tensor(MemoryRef memory, DType dtype, Shape shape, Strides strides, std::int64_t offset, Layout layout)
    : memory_(std::move(memory)), dtype_(dtype), layout_(layout), shape_(shape), strides_(strides), offset_(offset) {}

std::uint64_t Tensor::span_bytes() const {
  if (layout_ != Layout::strided) return memory_->bytes() - byte_offset();
  if (elements() == 0) return 0;
  std::int64_t last = 0;
  for (int i = 0; i < rank(); ++i) last += (shape_[i] - 1) * strides_[i];
  return static_cast<std::uint64_t>(last + 1) * dtype_size(dtype_);
}

Tensor Tensor::view(Shape shape) const {
  for (int i = 0; i < shape.rank(); ++i)
    if (shape[i] == -1) {
      shape[i] = 1;
      const std::int64_t rest = shape.elements();
      shape[i] = rest ? elements() / rest : 0;
    }
  Tensor out = *this;
  TW_CHECK(layout_ == Layout::strided && view_strides(shape_, strides_, shape, out.strides_));
  out.shape_ = shape;
  return out;
}

bool Tensor::viewable(const Shape& shape) const {
  Strides unused;
  return layout_ == Layout::strided && view_strides(shape_, strides_, shape, unused);
}

Tensor Tensor::transpose(int a, int b) const {
  Tensor out = *this;
  a = normal_axis(a, rank());
  b = normal_axis(b, rank());
  TW_CHECK(layout_ == Layout::strided);
  std::swap(out.shape_[a], out.shape_[b]);
  std::swap(out.strides_[a], out.strides_[b]);
  return out;
}

Tensor Tensor::permute(const Dims& order) const {
  TW_CHECK(order.rank() == rank() && layout_ == Layout::strided);
  Tensor out = *this;
  for (int i = 0; i < rank(); ++i) {
    const int from = normal_axis(static_cast<int>(order[i]), rank());
    out.shape_[i] = shape_[from];
    out.strides_[i] = strides_[from];
  }
  return out;
}

Tensor Tensor::slice(int axis, std::int64_t begin, std::int64_t end) const {
  axis = normal_axis(axis, rank());
  TW_CHECK(layout_ == Layout::strided && 0 <= begin && begin <= end && end <= shape_[axis]);
  Tensor out = *this;
  out.shape_[axis] = end - begin;
  out.offset_ += begin * strides_[axis];
  return out;
}

Tensor Tensor::select(int axis, std::int64_t index) const { return slice(axis, index, index + 1).squeeze(axis); }

Tensor Tensor::unsqueeze(int axis) const {
  axis = axis < 0 ? axis + rank() + 1 : axis;
  Tensor out = *this;
  const std::int64_t stride = axis < rank() ? shape_[axis] * strides_[axis] : 1;
  out.shape_.insert(axis, 1);
  out.strides_.insert(axis, stride);
  return out;
}

Tensor Tensor::squeeze(int axis) const {
  axis = normal_axis(axis, rank());
  TW_CHECK(shape_[axis] == 1);
  Tensor out = *this;
  out.shape_.erase(axis);
  out.strides_.erase(axis);
  return out;
}

Tensor Tensor::expand(const Shape& shape) const {
  TW_CHECK(layout_ == Layout::strided);
  Tensor out = *this;
  out.strides_ = broadcast_strides(shape_, strides_, shape);
  out.shape_ = shape;
  return out;
}

std::string Tensor::describe() const {
  if (!defined()) return "nothing";
  return std::string(dtype_name(dtype_)) + " " + to_string(shape_) +
         (layout_ == Layout::strided ? "" : std::string(" ") + layout_name(layout_));
}

BufferArg read_arg(const Tensor& tensor) {
  return {.memory = &tensor.memory(), .offset = tensor.byte_offset(), .bytes = tensor.span_bytes(), .read = true};
}
BufferArg write_arg(const Tensor& tensor) {
  return {.memory = &tensor.memory(), .offset = tensor.byte_offset(), .bytes = tensor.span_bytes(), .write = true};
}
BufferArg read_write_arg(const Tensor& tensor) {
  BufferArg arg = read_arg(tensor);
  arg.write = true;
  return arg;
}

Tensor empty(Stream& stream, DType dtype, const Shape& shape) {
  const std::size_t bytes = static_cast<std::size_t>(shape.elements()) * dtype_size(dtype);
  return Tensor(stream.device().allocate(stream, bytes), dtype, shape);
}

Tensor to_device(Stream& stream, const HostTensor& tensor) {
  Tensor out = empty(stream, tensor.dtype, tensor.shape);
  stream.copy_from_host(out.memory(), 0, tensor.bytes.data(), tensor.bytes.size());
  return out;
}

HostTensor to_host(Stream& stream, const Tensor& tensor) {
  TW_CHECK(tensor.layout() == Layout::strided);
  HostTensor out(tensor.dtype(), tensor.shape());
  if (tensor.contiguous()) {
    stream.copy_to_host(out.bytes.data(), tensor.memory(), tensor.byte_offset(), out.bytes.size());
    stream.synchronize();
    return out;
  }
  HostTensor span(DType::u8, {static_cast<std::int64_t>(tensor.span_bytes())});
  stream.copy_to_host(span.bytes.data(), tensor.memory(), tensor.byte_offset(), span.bytes.size());
  stream.synchronize();
  const std::size_t size = dtype_size(tensor.dtype());
  Dims index = Dims::filled(tensor.rank(), 0);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    std::int64_t at = 0;
    for (int d = 0; d < tensor.rank(); ++d) at += index[d] * tensor.strides()[d];
    std::memcpy(out.bytes.data() + static_cast<std::size_t>(i) * size,
                span.bytes.data() + static_cast<std::size_t>(at) * size, size);
    for (int d = tensor.rank() - 1; d >= 0 && ++index[d] == tensor.shape()[d]; --d) index[d] = 0;
  }
  return out;
}

}  // namespace tilewright::runtime
