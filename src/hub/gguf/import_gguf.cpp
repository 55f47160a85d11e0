#include "hub/gguf/import_gguf.h"

#include <fmt/format.h>
#include <unistd.h>

#include <ostream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/mapped_file.h"
#include "hub/gguf/gguf_config.h"
#include "hub/gguf/gguf_file.h"
#include "hub/gguf/gguf_tokenizer.h"
#include "hub/gguf/gguf_weights.h"
#include "hub/safetensors/safetensors_writer.h"

namespace tilewright::hub {
namespace {

namespace fs = std::filesystem;

bool is_model_file(const std::string& name) {
  return name == "config.json" || name == "generation_config.json" || name == "tokenizer.json" ||
         name == "tokenizer_config.json" || name == "special_tokens_map.json" || name == "chat_template.jinja" ||
         name == "model.safetensors.index.json" || (name.starts_with("model") && name.ends_with(".safetensors"));
}

[[noreturn]] void refuse(const char* what, const fs::path& where, const std::error_code& error) {
  fail({.what = what,
        .where = where.string(),
        .expected = "",
        .found = error.message(),
        .fix = "check that the folder exists, is writable and has free space"});
}

// The directory in the making; goes away with everything in it unless it is put in place.
class Staging {
 public:
  Staging(const fs::path& target, bool force) : target_(fs::absolute(target).lexically_normal()) {
    if (target_.filename().empty()) target_ = target_.parent_path();  // "out/"
    std::error_code error;
    if (fs::is_symlink(target_, error)) target_ = fs::weakly_canonical(target_, error);
    if (fs::exists(target_, error) && !fs::is_directory(target_, error))
      fail({.what = "the output directory is a file",
            .where = target_.string(),
            .expected = "a directory, or nothing",
            .found = "",
            .fix = "give another --output-dir"});
    occupied_ = fs::exists(target_, error) && !fs::is_empty(target_, error);
    if (error) refuse("cannot read the output directory", target_, error);
    if (occupied_ && !force)
      fail({.what = "the output directory is not empty",
            .where = target_.string(),
            .expected = "an empty directory, or none",
            .found = fs::directory_iterator(target_)->path().filename().string(),
            .fix = "give another --output-dir, or --force to replace the model in it"});
    fs::create_directories(target_.parent_path(), error);
    path_ = target_.string() + fmt::format(".tmp{}", ::getpid());
    if (!error) fs::create_directory(path_, error);
    if (error) refuse("cannot create the output directory", target_, error);
  }
  ~Staging() {
    std::error_code ignored;
    if (!placed_) fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

  void want_space(std::uint64_t bytes) const {
    std::error_code error;
    const fs::space_info space = fs::space(path_, error);
    if (!error && space.available < bytes)
      fail({.what = "not enough free disk space for the weights",
            .where = target_.string(),
            .expected = fmt::format("{} bytes", bytes),
            .found = fmt::format("{} bytes", space.available),
            .fix = "free disk space, or import with --dtype bf16"});
  }

  void put_in_place() {
    std::error_code error;
    if (!occupied_) {
      fs::rename(path_, target_, error);  // over an empty directory, or to a new name
      if (error) refuse("cannot give the output directory its name", target_, error);
      placed_ = true;
      return;
    }
    const fs::path old = target_.string() + fmt::format(".old{}", ::getpid());
    fs::rename(target_, old, error);
    if (error) refuse("cannot move the older directory away", target_, error);
    fs::rename(path_, target_, error);
    if (error) {
      std::error_code ignored;
      fs::rename(old, target_, ignored);
      refuse("cannot give the output directory its name", target_, error);
    }
    placed_ = true;
    for (const fs::directory_entry& entry : fs::directory_iterator(old, error))
      if (!is_model_file(entry.path().filename().string())) {
        fs::rename(entry.path(), target_ / entry.path().filename(), error);
        if (error) refuse("cannot move a file back from the older directory", entry.path(), error);
      }
    if (!error) fs::remove_all(old, error);
    if (error) refuse("cannot remove the older directory", old, error);
  }

 private:
  fs::path target_, path_;
  bool occupied_ = false, placed_ = false;
};

void write_text(const fs::path& path, const std::string& text) {
  write_file_atomically(path, [&](std::ostream& out) { out << text; });
}

std::string pretty(const nlohmann::ordered_json& value, const std::string& where) {
  try {
    return value.dump(2) + "\n";
  } catch (const nlohmann::json::exception&) {
    fail({.what = "the metadata holds text that is not UTF-8",
          .where = where,
          .expected = "UTF-8",
          .found = "",
          .fix = "download or convert the file again"});
  }
}

std::uint64_t written_bytes(const GgufWeight& weight, DType dtype) {
  return static_cast<std::uint64_t>(weight.shape.elements()) * dtype_size(dtype);
}

// Consecutive weights, none of the groups larger than the limit unless a single weight is.
std::vector<std::vector<const GgufWeight*>> split_into_shards(const std::vector<GgufWeight>& weights, DType dtype,
                                                              std::uint64_t limit) {
  std::vector<std::vector<const GgufWeight*>> out;
  std::uint64_t size = 0;
  for (const GgufWeight& weight : weights) {
    const std::uint64_t bytes = written_bytes(weight, dtype);
    if (out.empty() || (size + bytes > limit && size > 0)) {
      out.emplace_back();
      size = 0;
    }
    out.back().push_back(&weight);
    size += bytes;
  }
  return out;
}

void write_weights(const fs::path& directory, const std::vector<GgufWeight>& weights, DType dtype,
                   const GgufImport& request, std::uint64_t total) {
  const auto shards = split_into_shards(weights, dtype, request.shard_bytes);
  std::uint64_t done = 0;
  nlohmann::ordered_json index;
  index["metadata"]["total_size"] = total;
  std::map<std::string, std::string> weight_map;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string name = shards.size() == 1 ? "model.safetensors"
                                                : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    std::vector<TensorToWrite> tensors;
    for (const GgufWeight* weight : shards[i]) {
      weight_map[weight->name] = name;
      tensors.push_back(
          {.name = weight->name, .dtype = dtype, .shape = weight->shape, .produce = [&, weight](const ByteSink& sink) {
             produce_weight(*weight, dtype, [&](std::span<const std::byte> bytes) {
               sink(bytes);
               done += bytes.size();
               if (request.progress) request.progress(done, total);
             });
           }});
    }
    write_safetensors(directory / name, tensors, {{"format", "pt"}});
  }
  index["weight_map"] = weight_map;
  if (shards.size() > 1) write_text(directory / "model.safetensors.index.json", pretty(index, request.file.string()));
}

}  // namespace

void import_gguf(const GgufImport& request) {
  const GgufFile gguf = GgufFile::open(request.file);
  const std::string where = request.file.string();
  const GgufModel model = read_gguf_model(gguf.content);
  const std::vector<GgufWeight> weights = map_gguf_weights(gguf.content, model);
  const GgufVocabulary vocabulary = read_gguf_vocabulary(gguf.content, model.architecture, model.vocabulary);
  const DType dtype = request.dtype.value_or(natural_dtype(weights));
  std::uint64_t total = 0;
  for (const GgufWeight& weight : weights) total += written_bytes(weight, dtype);

  Staging staging(request.output_dir, request.force);
  staging.want_space(total);
  const fs::path& directory = staging.path();
  write_text(directory / "config.json", pretty(published_config(gguf.content, model, dtype), where));
  write_text(directory / "generation_config.json", pretty(generation_config_json(vocabulary), where));
  write_text(directory / "tokenizer.json", tokenizer_json(vocabulary));
  write_text(directory / "tokenizer_config.json", pretty(tokenizer_config_json(vocabulary, model.context), where));
  if (const auto chat = gguf.content.text("tokenizer.chat_template"))
    write_text(directory / "chat_template.jinja", *chat);
  write_weights(directory, weights, dtype, request, total);
  staging.put_in_place();
}

}  // namespace tilewright::hub
