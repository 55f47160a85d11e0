// Sees what a forward pass does without changing it: tracing, fallback counts, timelines and operator graphs are
// observers.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ops/core/op.h"

namespace tilewright::ops {

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void call_begins(const OpCall&, const char* /*path*/) {}
  virtual void call_ends(const OpCall&, const char* /*path*/) {}  // outputs are known
  virtual void launched(const runtime::Launch&) {}
  // A candidate refused a call, or a composite that is switched on fell back to its decomposition (candidate
  // "decomposition").
  virtual void refused(const OpCall&, std::string_view /*candidate*/, const std::string& /*reason*/) {}
};

// Passes everything on to several observers.
class ObserverList : public Observer {
 public:
  void add(Observer& observer) { list_.push_back(&observer); }
  void call_begins(const OpCall& call, const char* path) override {
    for (Observer* o : list_) o->call_begins(call, path);
  }
  void call_ends(const OpCall& call, const char* path) override {
    for (Observer* o : list_) o->call_ends(call, path);
  }
  void launched(const runtime::Launch& launch) override {
    for (Observer* o : list_) o->launched(launch);
  }
  void refused(const OpCall& call, std::string_view candidate, const std::string& reason) override {
    for (Observer* o : list_) o->refused(call, candidate, reason);
  }

 private:
  std::vector<Observer*> list_;
};

// Counts refusals by op, candidate and reason.
class FallbackLog : public Observer {
 public:
  void refused(const OpCall& call, std::string_view candidate, const std::string& reason) override;
  struct Key {
    std::string op, candidate, reason;
    auto operator<=>(const Key&) const = default;
  };
  const std::map<Key, long>& counts() const { return counts_; }

 private:
  std::map<Key, long> counts_;
};

}  // namespace tilewright::ops
