#include "models/core/weight_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <set>

#include "base/error.h"
#include "models/core/weight_placer.h"

namespace tilewright::models {
namespace {

using hub::TensorView;
using nn::Slot;
using ops::OpName;
using ops::Tensor;

constexpr OpName kCast{"to"};
constexpr const char* kLoadPath = "weights";

class Loader {
 public:
  Loader(ops::Context& context, nn::DecoderConfig& config, std::span<const WeightName> names,
         std::shared_ptr<const hub::Checkpoint> checkpoint, const LoadOptions& options)
      : context_(context), config_(config), names_(names), checkpoint_(std::move(checkpoint)), options_(options) {}

  LoadedWeights run() {
    const ops::PathScope scope(context_, kLoadPath);
    out_.notes = checkpoint_->notes();
    find_prefix();
    resolve_tie();
    const TensorView& embedding = view(Slot::embedding, 0);
    out_.weights.dtype = options_.dtype.value_or(*embedding.dtype);
    check_all();
    const WeightPlacer placer(context_, out_.weights.dtype);
    placer_ = &placer;

    // The table that `embedding` and `head` read; packed where `linear` wants it, for the head's sake.
    if (config_.tied) {
      out_.weights.embedding = out_.weights.head = matrices({&embedding})[0];
    } else {
      out_.weights.embedding = plain(embedding);
      out_.weights.head = matrices({&view(Slot::head, 0)})[0];
    }
    out_.weights.final_norm = plain(view(Slot::final_norm, 0));
    out_.weights.layers.resize(static_cast<std::size_t>(config_.layers));
    for (std::int64_t layer = 0; layer < config_.layers; ++layer) {
      nn::LayerWeights& weights = out_.weights.layers[static_cast<std::size_t>(layer)];
      for (const std::vector<Slot>& group : matrix_groups()) {
        std::vector<const TensorView*> parts;
        for (const Slot slot : group) parts.push_back(&view(slot, layer));
        const std::vector<Tensor> placed = matrices(parts);
        for (std::size_t i = 0; i < group.size(); ++i) weights[group[i]] = placed[i];
      }
      for (const WeightName& name : names_)
        if (is_layer_slot(name.slot) && !weights[name.slot].defined() && slot_shape(config_, name.slot))
          weights[name.slot] = plain(view(name.slot, layer));
      finish_batch();
    }
    finish_batch();
    while (!batches_.empty()) give_back();
    context_.stream().synchronize();  // conversions, too, read the file
    note_unused();
    return std::move(out_);
  }

 private:
  // A batch of launches that read pages of the files, and the point after which the pages may go.
  struct Batch {
    std::unique_ptr<runtime::Event> done;
    std::vector<const TensorView*> read;
  };

  const std::string& pattern(Slot slot) const {
    for (const WeightName& name : names_)
      if (name.slot == slot) return name.pattern;
    TW_CHECK(!"every slot of a family has a name");
    return names_[0].pattern;
  }

  // A file saved from the bare model lacks the leading "model.". A head is no sign: it never had one.
  void find_prefix() {
    constexpr std::string_view kModel = "model.";
    const auto any = [&](std::size_t skipped) {
      return std::any_of(names_.begin(), names_.end(), [&](const WeightName& name) {
        return name.pattern.starts_with(kModel) &&
               checkpoint_->contains(fmt::format(fmt::runtime(name.pattern.substr(skipped)), 0));
      });
    };
    bare_ = !any(0) && any(kModel.size());
  }

  std::string published_name(Slot slot, std::int64_t layer) const {
    if (slot == Slot::embedding && embedding_is_head_) return pattern(Slot::head);
    const std::string name = fmt::format(fmt::runtime(pattern(slot)), layer);
    return bare_ && name.starts_with("model.") ? name.substr(6) : name;
  }

  const TensorView& view(Slot slot, std::int64_t layer) {
    const TensorView& out = checkpoint_->get(published_name(slot, layer));
    if (!out.dtype || (*out.dtype != DType::f32 && *out.dtype != DType::f16 && *out.dtype != DType::bf16))
      fail({.what = "tensor \"" + out.name + "\" has a dtype that this family cannot be loaded from",
            .where = out.file->path().string(),
            .expected = "F32, F16 or BF16",
            .found = out.dtype_name,
            .fix = "use the model's f32, f16 or bf16 files"});
    const Shape expected = slot == Slot::embedding || slot == Slot::head
                               ? Shape{config_.vocab_size, config_.hidden_size}
                               : *slot_shape(config_, slot);
    if (!(out.shape == expected))
      fail({.what = "tensor \"" + out.name + "\" has another shape than config.json says",
            .where = out.file->path().string(),
            .expected = to_string(expected),
            .found = to_string(out.shape),
            .fix = "config.json and weights must come from one model; download both again"});
    used_.insert(out.name);
    return out;
  }

  void resolve_tie() {
    const bool has_embedding = checkpoint_->contains(published_name(Slot::embedding, 0));
    const bool has_head = checkpoint_->contains(published_name(Slot::head, 0));
    if (!config_.tied) return;
    embedding_is_head_ = !has_embedding && has_head;
    if (!has_embedding || !has_head) return;
    const TensorView& embedding = view(Slot::embedding, 0);
    const TensorView& head = view(Slot::head, 0);
    config_.tied = embedding.dtype == head.dtype &&
                   std::memcmp(embedding.bytes.data(), head.bytes.data(), embedding.bytes.size()) == 0;
    if (!config_.tied)
      out_.notes.push_back(
          "config.json says that head and embedding are one, but the file holds two different ones: the "
          "file is believed");
  }

  // Everything is checked before anything is placed.
  void check_all() {
    total_ = 0;
    for (const WeightName& name : names_) {
      if (!slot_shape(config_, name.slot)) continue;
      const std::int64_t layers = is_layer_slot(name.slot) ? config_.layers : 1;
      for (std::int64_t layer = 0; layer < layers; ++layer)
        total_ += static_cast<std::uint64_t>(view(name.slot, layer).shape.elements()) * dtype_size(out_.weights.dtype);
    }
    out_.bytes = total_;
    require_memory_for_weights(context_, total_, config_.family);
  }

  // The bytes of the file as a device tensor of the file's dtype: the mapping itself, or a copy of bytes that are not
  // aligned for their dtype. `kept`: the tensor outlives this loader.
  Tensor imported(const TensorView& v, bool kept) {
    if (!v.aligned()) {
      Tensor copy = context_.empty(*v.dtype, v.shape);
      context_.stream().copy_from_host(copy.memory(), 0, v.bytes.data(), v.bytes.size());
      return copy;
    }
    std::function<void()> deleter = [] {};
    if (kept) deleter = [owner = checkpoint_] {};
    // Only read, through a mapping that is read-only.
    void* data = const_cast<std::byte*>(v.bytes.data());
    return Tensor(context_.device().import_memory(data, v.bytes.size(), std::move(deleter)), *v.dtype, v.shape);
  }

  Tensor converted(const TensorView& v, bool kept) {
    const DType wanted = out_.weights.dtype;
    if (v.dtype == wanted) return imported(v, kept);
    return ops::call(context_, kCast, {imported(v, false)}, {{"dtype", wanted}});
  }

  // Row-major: small vectors are copied so that the file's pages can go; the embedding table stays the mapping.
  Tensor plain(const TensorView& v) {
    placed_ += static_cast<std::uint64_t>(v.shape.elements()) * dtype_size(out_.weights.dtype);
    if (v.dtype == out_.weights.dtype && v.shape.rank() == 1) {
      Tensor copy = context_.empty(*v.dtype, v.shape);
      context_.stream().copy_from_host(copy.memory(), 0, v.bytes.data(), v.bytes.size());
      return copy;
    }
    return converted(v, true);
  }

  std::vector<Tensor> matrices(const std::vector<const TensorView*>& parts) {
    std::vector<Tensor> out;
    if (!placer_->packs()) {
      for (const TensorView* v : parts) out.push_back(plain(*v));
      return out;
    }
    std::vector<Shape> shapes;
    for (const TensorView* v : parts) shapes.push_back(v->shape);
    out = placer_->place(shapes);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      placer_->packer().pack(context_, converted(*parts[i], false), out[i]);
      batch_.push_back(parts[i]);
      placed_ += static_cast<std::uint64_t>(shapes[i].elements()) * dtype_size(out_.weights.dtype);
    }
    return out;
  }

  void finish_batch() {
    if (options_.progress) options_.progress(placed_, total_);
    if (batch_.empty()) return;
    Batch batch{context_.device().create_event(), std::move(batch_)};
    context_.stream().record(*batch.done);
    batches_.push_back(std::move(batch));
    batch_.clear();
    if (batches_.size() > 2) give_back();
  }

  void give_back() {
    batches_.front().done->synchronize();
    for (const TensorView* v : batches_.front().read) v->file->drop(v->bytes);
    batches_.pop_front();
  }

  void note_unused() {
    std::string first;
    std::int64_t count = 0;
    for (const TensorView* v : checkpoint_->tensors()) {
      if (used_.contains(v->name) || v->name.ends_with("rotary_emb.inv_freq")) continue;
      if (v->name == published_name(Slot::head, 0) && config_.tied) continue;
      if (options_.layers && v->name.find("layers.") != std::string::npos) continue;
      if (count++ == 0) first = v->name;
    }
    if (count)
      out_.notes.push_back(fmt::format("{} tensor{} of the file {} not used by this family, the first one is \"{}\"",
                                       count, count == 1 ? "" : "s", count == 1 ? "is" : "are", first));
  }

  ops::Context& context_;
  nn::DecoderConfig& config_;
  std::span<const WeightName> names_;
  std::shared_ptr<const hub::Checkpoint> checkpoint_;
  const LoadOptions& options_;
  const WeightPlacer* placer_ = nullptr;
  LoadedWeights out_;
  std::set<std::string, std::less<>> used_;
  bool bare_ = false;
  bool embedding_is_head_ = false;
  std::uint64_t placed_ = 0, total_ = 0;
  std::vector<const TensorView*> batch_;
  std::deque<Batch> batches_;
};

}  // namespace

LoadedWeights load_weights(ops::Context& context, nn::DecoderConfig& config, std::span<const WeightName> names,
                           std::shared_ptr<const hub::Checkpoint> checkpoint, const LoadOptions& options) {
  return Loader(context, config, names, std::move(checkpoint), options).run();
}

}  // namespace tilewright::models
