#include "hub_server/hub_content.h"

#include <openssl/evp.h>

#include <algorithm>
#include <set>

#include "base/json.h"

namespace tilewright::test {
namespace {

// A prime, and not near a power of two: bytes that came from another place are other bytes.
constexpr std::uint64_t kPeriod = 1048583;

std::string pattern_of(const std::string& path, std::uint64_t size) {
  std::uint64_t state = 1469598103934665603u;
  for (const char c : path) state = (state ^ static_cast<unsigned char>(c)) * 1099511628211u;
  state |= 1;
  std::string text(std::min(size, kPeriod), '\0');
  for (char& c : text) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    c = static_cast<char>(state >> 32);
  }
  return text;
}

// By OpenSSL itself, not by the digests that these tests check.
class Hash {
 public:
  explicit Hash(const EVP_MD* kind) : context_(EVP_MD_CTX_new()) { EVP_DigestInit_ex(context_, kind, nullptr); }
  ~Hash() { EVP_MD_CTX_free(context_); }
  Hash(const Hash&) = delete;
  Hash& operator=(const Hash&) = delete;

  Hash& add(std::string_view bytes) {
    EVP_DigestUpdate(context_, bytes.data(), bytes.size());
    return *this;
  }

  Hash& add(const Body& body) {
    for (std::uint64_t at = 0; at < body.size();) {
      const std::string_view piece = body.at(at, body.size() - at);
      add(piece);
      at += piece.size();
    }
    return *this;
  }

  std::string hex() {
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned int count = 0;
    EVP_DigestFinal_ex(context_, bytes, &count);
    std::string text;
    for (unsigned int i = 0; i < count; ++i) {
      text += "0123456789abcdef"[bytes[i] >> 4];
      text += "0123456789abcdef"[bytes[i] & 15];
    }
    return text;
  }

 private:
  EVP_MD_CTX* context_;
};

std::string git_start(std::uint64_t size) { return "blob " + std::to_string(size) + std::string(1, '\0'); }

std::string hash_of_blob(const std::string& text) {
  return Hash(EVP_sha1()).add(git_start(text.size())).add(text).hex();
}

std::string etag_of_body(const Body& body, bool lfs) {
  return lfs ? Hash(EVP_sha256()).add(body).hex() : Hash(EVP_sha1()).add(git_start(body.size())).add(body).hex();
}

}  // namespace

Body::Body(std::string text) : text_(std::make_shared<const std::string>(std::move(text))), size_(text_->size()) {}

Body Body::of(const HubFile& file) {
  if (!file.from_file.empty()) {
    Body body;
    body.mapped_ = std::make_shared<const MappedFile>(file.from_file);
    body.size_ = body.mapped_->bytes().size();
    return body;
  }
  if (file.made_size == 0) return Body(file.bytes);
  Body body(pattern_of(file.path, file.made_size));
  body.size_ = file.made_size;
  return body;
}

std::string_view Body::at(std::uint64_t offset, std::uint64_t most) const {
  most = std::min(most, size_ - offset);
  if (mapped_) return mapped_->text().substr(offset, most);
  return std::string_view(*text_).substr(offset % text_->size(), most);
}

std::string Body::all() const {
  std::string text;
  text.reserve(size_);
  while (text.size() < size_) text += at(text.size(), size_ - text.size());
  return text;
}

std::string HubServer::bytes_of(const HubFile& file) { return Body::of(file).all(); }

std::string HubServer::etag_of(const HubFile& file) {
  return file.etag.empty() ? etag_of_body(Body::of(file), file.lfs) : file.etag;
}

std::string hash_of_text(const std::string& text) { return Hash(EVP_sha256()).add(text).hex(); }

std::string tree_entry(const ServedFile& file) {
  Json entry = {{"type", "file"}, {"oid", file.blob_id}, {"size", file.body.size()}, {"path", file.path}};
  if (file.lfs) entry["lfs"] = {{"oid", file.etag}, {"size", file.body.size()}, {"pointerSize", file.pointer_size}};
  if (!file.xet_hash.empty()) entry["xetHash"] = file.xet_hash;
  return entry.dump();
}

std::string tree_entry_of_folder(const std::string& path) {
  return Json{{"type", "directory"}, {"oid", hash_of_blob(path)}, {"size", 0}, {"path", path}}.dump();
}

ServedRepository::ServedRepository(HubRepository from)
    : id(from.id), commit(from.commit), token(from.token), gated(from.gated), refs(from.refs) {
  Hash names(EVP_sha1());
  std::set<std::string> folders;
  for (const HubFile& file : from.files) {
    ServedFile served;
    served.path = file.path, served.lfs = file.lfs, served.xet_hash = file.xet_hash;
    served.body = Body::of(file);
    served.etag = file.etag.empty() ? etag_of_body(served.body, file.lfs) : file.etag;
    served.blob_id = served.etag;
    if (file.lfs) {
      const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + served.etag + "\nsize " +
                                  std::to_string(served.body.size()) + "\n";
      served.pointer_size = pointer.size();
      served.blob_id = hash_of_blob(pointer);
    }
    names.add(served.path + '\0' + served.etag + '\n');
    for (std::size_t slash = file.path.find('/', 1); slash != std::string::npos; slash = file.path.find('/', slash + 1))
      folders.insert(file.path.substr(0, slash));
    by_path_[served.path] = files.size();
    files.push_back(std::move(served));
  }
  if (commit.empty()) commit = names.hex();
  for (const std::string& folder : folders) recursive_listing.push_back(tree_entry_of_folder(folder));
  for (const ServedFile& file : files) recursive_listing.push_back(tree_entry(file));
}

const ServedFile* ServedRepository::find(const std::string& path) const {
  const auto found = by_path_.find(path);
  return found == by_path_.end() ? nullptr : &files[found->second];
}

bool ServedRepository::has_revision(const std::string& revision) const {
  if (revision == "main" || revision == commit || refs.count(revision) > 0) return true;
  return std::any_of(refs.begin(), refs.end(), [&](const auto& ref) { return ref.second == revision; });
}

}  // namespace tilewright::test
