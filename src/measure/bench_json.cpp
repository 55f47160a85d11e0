#include "measure/bench_json.h"

#include <cmath>

namespace tilewright::measure {
namespace {

Json number(const Number& value) { return value && std::isfinite(*value) ? Json(*value) : Json(); }

template <typename T, typename F>
Json list(const std::vector<T>& items, const F& each) {
  Json out = Json::array();
  for (const T& item : items) out.push_back(each(item));
  return out;
}

template <typename T, typename F>
Json or_null(const std::optional<T>& value, const F& json) {
  return value ? json(*value) : Json();
}

Json error_json(const ErrorText& e) {
  return {{"what", e.what},   {"where", e.where}, {"expected", e.expected},
          {"found", e.found}, {"fix", e.fix},     {"code", e.code ? Json(*e.code) : Json()},
          {"name", e.name}};
}

Json equality_json(const Equality& e) {
  return {{"bound", number(e.bound)},
          {"worst", number(e.worst)},
          {"worst_position", e.worst_position},
          {"bound_source", e.bound_source},
          {"bitwise", e.bitwise ? Json(*e.bitwise) : Json()},
          {"tokens_compared", e.tokens_compared},
          {"tokens_equal", e.tokens_equal},
          {"verdict", verdict_name(e.verdict)},
          {"near_tie", or_null(e.near_tie, [](const Equality::NearTie& tie) -> Json {
             return {{"position", tie.position}, {"gap", tie.gap}};
           })}};
}

Json ratio_json(const Ratio& r) {
  return {{"against", r.against},   {"value", r.value},     {"low", number(r.low)},
          {"high", number(r.high)}, {"claimed", r.claimed}, {"best_of", r.best_of}};
}

Json latency_json(const Latency& l) {
  return {{"ttft_s", l.ttft_s}, {"tpot_s", l.tpot_s}, {"p50_s", l.p50_s}, {"p90_s", l.p90_s}, {"p99_s", l.p99_s}};
}

Json once_json(const OnceCosts& c) {
  return {{"load_s", c.load_s},       {"compile_s", c.compile_s},         {"tune_s", c.tune_s},
          {"capture_s", c.capture_s}, {"instantiate_s", c.instantiate_s}, {"graphs", c.graphs}};
}

Json memory_json(const ArmMemory& m) {
  return {{"allocated", m.allocated}, {"peak", m.peak}, {"reserved", m.reserved}, {"reserved_grew", m.reserved_grew}};
}

Json split_json(const Split& s) {
  return {{"kernels_s", s.kernels_s},
          {"submission_s", s.submission_s},
          {"bubbles_s", s.bubbles_s},
          {"compile_s", s.compile_s},
          {"trace_slowdown", s.trace_slowdown}};
}

Json graph_json(const GraphFacts& g) {
  return {{"nodes", g.nodes},
          {"phases", g.phases},
          {"barriers_removed", g.barriers_removed},
          {"arena_bytes", g.arena_bytes},
          {"planned_bytes", g.planned_bytes}};
}

Json arm_json(const ArmResult& a) {
  return {
      {"name", a.name},
      {"status", arm_status_name(a.status)},
      {"reason", a.reason},
      {"error", or_null(a.error, error_json)},
      {"equality", or_null(a.equality, equality_json)},
      {"seconds", a.seconds},
      {"median_s", number(a.median_s)},
      {"best_s", number(a.best_s)},
      {"spread", a.spread_low ? Json{number(a.spread_low), number(a.spread_high)} : Json()},
      {"rate_median", number(a.rate_median)},
      {"rate_best", number(a.rate_best)},
      {"limit_share", number(a.limit_share)},
      {"ratio", or_null(a.ratio, ratio_json)},
      {"latency", or_null(a.latency, latency_json)},
      {"once", or_null(a.once, once_json)},
      {"launches_per_token", number(a.launches_per_token)},
      {"launch_cost_s", number(a.launch_cost_s)},
      {"memory", or_null(a.memory, memory_json)},
      {"split", or_null(a.split, split_json)},
      {"by_op", list(a.by_op,
                     [](const OpTime& o) -> Json {
                       return {{"op", o.op}, {"class", o.op_class}, {"launches", o.launches}, {"seconds", o.seconds}};
                     })},
      {"timeline", list(a.timeline,
                        [](const TimelineEntry& t) -> Json {
                          return {{"op", t.op},
                                  {"path", t.path},
                                  {"lane", t.on_host ? "host" : "device"},
                                  {"start_s", t.start_s},
                                  {"end_s", t.end_s}};
                        })},
      {"timeline_cut", a.timeline_cut},
      {"graph", or_null(a.graph, graph_json)},
      {"fused", list(a.fused,
                     [](const KernelUse& k) -> Json {
                       return {{"op", k.op}, {"candidate", k.candidate}, {"count", k.count}};
                     })},
      {"fallbacks", list(a.fallbacks, [](const KernelUse& k) -> Json {
         return {{"op", k.op}, {"candidate", k.candidate}, {"reason", k.reason}, {"count", k.count}};
       })}};
}

Json case_json(const CaseResult& c) {
  return {{"label", c.label},
          {"tokens", c.tokens},
          {"padded_tokens", c.padded_tokens},
          {"limit_s", number(c.limit_s)},
          {"limit_kind", c.limit_kind},
          {"arms", list(c.arms, arm_json)},
          {"differences", list(c.differences,
                               [](const Difference& d) -> Json {
                                 return {{"from", d.from},
                                         {"to", d.to},
                                         {"whole_s", d.whole_s},
                                         {"compile_s", d.compile_s},
                                         {"submission_s", d.submission_s},
                                         {"bubbles_s", d.bubbles_s},
                                         {"kernels_s", d.kernels_s}};
                               })},
          {"coverage", list(c.coverage, [](const CoverageRow& r) -> Json {
             return {{"block", r.block}, {"op", r.op}, {"fused", r.fused}, {"small", r.small}, {"why", r.why}};
           })}};
}

}  // namespace

Json bench_json(const BenchResult& r) {
  const Fingerprint& f = r.fingerprint;
  return {{"regime", r.regime},
          {"regime_reason", r.regime_reason},
          {"model",
           {{"name", r.model.name},
            {"family", r.model.family},
            {"description", r.model.description},
            {"dtype", r.model.dtype},
            {"layers", r.model.layers},
            {"cut", r.model.cut},
            {"weights", r.model.dummy ? "dummy" : "file"},
            {"weight_bytes", r.model.weight_bytes}}},
          {"settings", r.settings},
          {"fingerprint",
           {{"cpu", f.cpu},
            {"isa", f.isa},
            {"threads", f.threads},
            {"governor", f.governor},
            {"load_average", f.load_average},
            {"memory", f.memory},
            {"system", f.system}}},
          {"limits", or_null(r.limits,
                             [](const BenchLimits& l) -> Json {
                               return {{"f32_flops", l.f32_flops},
                                       {"bf16_flops", l.bf16_flops},
                                       {"read_bytes", l.read_bytes},
                                       {"copy_bytes", l.copy_bytes},
                                       {"barrier_s", l.barrier_s}};
                             })},
          {"gate", {{"smoke", or_null(r.smoke, engine::smoke_json)}}},
          {"cases", list(r.cases, case_json)},
          {"incomplete", r.incomplete.empty() ? Json(false) : Json(r.incomplete)},
          {"warnings", r.warnings}};
}

}  // namespace tilewright::measure
