#include "runtime/memory.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "runtime/device.h"

namespace tilewright::runtime {

struct Memory::Watchers {
  std::mutex mutex;
  std::vector<Watcher*> list;
  bool freed = false;
};

Memory::~Memory() { delete watchers_.load(std::memory_order_acquire); }

void Memory::add_watcher(Watcher& watcher) {
  Watchers* watchers = watchers_.load(std::memory_order_acquire);
  if (!watchers) {
    auto* fresh = new Watchers;
    if (watchers_.compare_exchange_strong(watchers, fresh, std::memory_order_acq_rel))
      watchers = fresh;
    else
      delete fresh;
  }
  const std::lock_guard lock(watchers->mutex);
  watchers->list.push_back(&watcher);
}

void Memory::remove_watcher(Watcher& watcher) {
  Watchers& watchers = *watchers_.load(std::memory_order_acquire);
  {
    const std::lock_guard lock(watchers.mutex);
    watchers.list.erase(std::find(watchers.list.begin(), watchers.list.end(), &watcher));
    if (!watchers.freed || !watchers.list.empty()) return;
  }
  device_->release(this);
}

void Memory::unreferenced() {
  if (Watchers* watchers = watchers_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(watchers->mutex);
    for (Watcher* watcher : watchers->list) watcher->freed(*this);
    watchers->freed = true;
    if (!watchers->list.empty()) return;
  }
  device_->release(this);
}

void MemoryRef::drop() {
  if (memory_ && memory_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) memory_->unreferenced();
}

}  // namespace tilewright::runtime
