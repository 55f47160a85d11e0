#include "measure/round_robin.h"

#include <cmath>

namespace tilewright::measure {
namespace {

class Turns {
 public:
  Turns(const std::vector<Contestant>& contestants, const RoundPlan& plan) : contestants_(contestants), plan_(plan) {
    out_.seconds.resize(contestants.size());
    out_.errors.resize(contestants.size());
  }

  RoundTimes run() {
    for (int i = 0; i < plan_.warmup && !out_.interrupted; ++i) turns(-1, i);
    for (int round = 0; round < plan_.rounds && !out_.interrupted; ++round) {
      if (plan_.before_round) plan_.before_round(round);
      turns(round, round);
      if (out_.interrupted) break;
      out_.complete = round + 1;
      for (std::size_t i = 0; i < contestants_.size(); ++i)
        if (!out_.errors[i]) out_.seconds[i].push_back(round_[i]);
    }
    if (plan_.before_round && out_.complete > 0) plan_.before_round(out_.complete);
    return std::move(out_);
  }

 private:
  void turns(int round, int first) {
    round_.assign(contestants_.size(), 0);
    for (std::size_t i = 0; i < contestants_.size(); ++i) {
      const std::size_t at = (static_cast<std::size_t>(first) + i) % contestants_.size();
      if (out_.errors[at]) continue;
      if (plan_.stop && plan_.stop()) {
        out_.interrupted = true;
        return;
      }
      if (plan_.before_sample) plan_.before_sample(round, static_cast<int>(at));
      try {
        round_[at] = contestants_[at].sample();
      } catch (const std::exception& e) {
        out_.errors[at] = error_text(e);
        out_.seconds[at].clear();
        if (plan_.failed) plan_.failed(static_cast<int>(at));
        continue;
      }
      if (std::isnan(round_[at])) {
        out_.interrupted = true;
        return;
      }
    }
  }

  const std::vector<Contestant>& contestants_;
  const RoundPlan& plan_;
  RoundTimes out_;
  std::vector<double> round_;
};

}  // namespace

RoundTimes run_rounds(const std::vector<Contestant>& contestants, const RoundPlan& plan) {
  return Turns(contestants, plan).run();
}

ErrorText error_text(const std::exception& exception) {
  if (const auto* error = dynamic_cast<const Error*>(&exception)) return error->text();
  return {.what = exception.what(), .where = "", .expected = "", .found = "", .fix = ""};
}

}  // namespace tilewright::measure
