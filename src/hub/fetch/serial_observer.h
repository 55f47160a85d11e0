// Passes on what several threads tell, one call at a time.
#pragma once

#include <mutex>
#include <string>

#include "hub/fetch/pull.h"

namespace tilewright::hub {

class SerialObserver final : public PullObserver {
 public:
  explicit SerialObserver(PullObserver& observer) : observer_(observer) {}
  void listed(const std::string& commit, std::size_t files, std::uint64_t bytes_to_fetch) override {
    const std::lock_guard guard(mutex_);
    observer_.listed(commit, files, bytes_to_fetch);
  }
  void progress(const RemoteFile& file, std::uint64_t held) override {
    const std::lock_guard guard(mutex_);
    observer_.progress(file, held);
  }
  void finished(const RemoteFile& file) override {
    const std::lock_guard guard(mutex_);
    observer_.finished(file);
  }
  void note(const std::string& text) override {
    const std::lock_guard guard(mutex_);
    observer_.note(text);
  }

 private:
  std::mutex mutex_;
  PullObserver& observer_;
};

}  // namespace tilewright::hub
