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
  // A composite that is switched on ran this candidate.
  virtual void fused(const OpCall&, std::string_view /*candidate*/) {}
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
  void fused(const OpCall& call, std::string_view candidate) override {
    for (Observer* o : list_) o->fused(call, candidate);
  }
  void refused(const OpCall& call, std::string_view candidate, const std::string& reason) override {
    for (Observer* o : list_) o->refused(call, candidate, reason);
  }

 private:
  std::vector<Observer*> list_;
};

// Counts what became of calls of composites that are switched on: those that ran a kernel, by op and candidate, and
// refusals, by op, candidate and reason.
class FallbackLog : public Observer {
 public:
  void fused(const OpCall& call, std::string_view candidate) override;
  void refused(const OpCall& call, std::string_view candidate, const std::string& reason) override;
  // Calls that were counted elsewhere: a kernel, or null and why it was the decomposition.
  void add(const Op& op, const Candidate* kernel, const std::string& reason, long count);
  struct Key {
    std::string op, candidate, reason;
    auto operator<=>(const Key&) const = default;
  };
  const std::map<Key, long>& counts() const { return counts_; }
  struct Fused {
    const Op* op = nullptr;
    std::string_view candidate;  // the registry's own text
    long count = 0;
  };
  const std::vector<Fused>& kernels() const { return fused_; }  // in the order in which they first ran

 private:
  std::map<Key, long> counts_;
  std::vector<Fused> fused_;  // few: searched one by one, once per call
};

}  // namespace tilewright::ops
