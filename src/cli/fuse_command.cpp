#include "cli/fuse_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "cli/command_line.h"
#include "cli/model_notes.h"
#include "cli/model_options.h"
#include "cli/usage.h"
#include "engine/found_chains.h"
#include "engine/fuse_list.h"
#include "engine/trace_forward.h"
#include "measure/chain_arms.h"
#include "opgraph/chain_finder.h"
#include "report/envelope.h"
#include "report/table.h"

namespace tilewright::cli {
namespace {

struct Options : ModelOptions {
  std::int64_t tokens = 128;
  std::string regime = "prefill";
  std::string save;
  int rounds = 15;
};

struct Row {
  opgraph::ChainPattern pattern;
  measure::ChainCheck check;
  measure::ChainTiming timing;
  bool timed = false;
  bool derived() const { return pattern.reason.empty() && check.refusal.empty(); }
  std::string why_not() const { return pattern.reason.empty() ? check.refusal : pattern.reason; }
  bool slower() const { return timed && timing.speed.claims_below(1); }
  bool use() const { return derived() && check.equal && !slower(); }
  int count() const { return static_cast<int>(pattern.instances.size()); }
};

class Progress {
 public:
  ~Progress() { clear(); }
  void show(const std::string& text) {
    if (!terminal_) return;
    std::fprintf(stderr, "\r\033[K%s", text.c_str());
    std::fflush(stderr);
    shown_ = true;
  }
  void clear() {
    if (shown_) std::fputs("\r\033[K", stderr);
    shown_ = false;
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO);
  bool shown_ = false;
};

std::string bytes_text(double bytes) {
  if (bytes < 10e3) return fmt::format("{:.0f} B", bytes);
  if (bytes < 1e6) return fmt::format("{:.0f} kB", bytes / 1e3);
  return fmt::format("{:.1f} MB", bytes / 1e6);
}

// Paths of all instances, each form once: "layers.*.self_attn".
std::vector<std::string> places(const opgraph::OpGraph& graph, const opgraph::ChainPattern& pattern) {
  std::vector<std::string> out;
  for (const opgraph::FoundChain& chain : pattern.instances)
    for (const int n : chain.nodes) {
      const std::string form = opgraph::path_form(graph.nodes[static_cast<std::size_t>(n)].path);
      if (std::find(out.begin(), out.end(), form) == out.end()) out.push_back(form);
    }
  return out;
}

std::string coverage(const opgraph::ChainPattern& pattern) {
  if (!pattern.composite.empty()) return "covered by --fuse " + pattern.composite;
  if (pattern.crossed.empty()) return "part of no composite";
  if (pattern.crossed.size() == 1) return "reaches beyond " + pattern.crossed[0];
  return fmt::format("crosses {}", fmt::join(pattern.crossed, ", "));
}

std::string speed_text(const Row& row) {
  if (!row.timed) return "";
  const measure::Estimate& e = row.timing.speed;
  if (!e.interval) return fmt::format("{:.2f}×", e.value);
  return fmt::format("{:.2f}× [{:.2f}, {:.2f}]{}", e.value, e.low(), e.high(),
                     e.claims_above(1) || e.claims_below(1) ? "" : " ?");
}

std::string table_text(const opgraph::OpGraph& graph, const std::vector<Row>& rows) {
  using report::Align;
  report::Table table({{"", Align::right},
                       {"chain, where"},
                       {"×", Align::right},
                       {"launches", Align::right},
                       {"bytes", Align::right},
                       {"error / bound", Align::right},
                       {"speed"}});
  int number = 0;
  for (const Row& row : rows) {
    const std::string label = std::to_string(++number);
    const std::string what =
        opgraph::ops_text(row.pattern.shape) + ", " + fmt::format("{}", fmt::join(places(graph, row.pattern), ", "));
    const std::string error = row.derived() ? fmt::format("{:.1e}/{:.1e}{}", row.check.worst_error, row.check.tolerance,
                                                          row.check.equal ? "" : " !")
                                            : "";
    table.add_row({label, what, std::to_string(row.count()),
                   row.derived() ? std::to_string(-row.pattern.launches_saved * row.count()) : "",
                   row.derived() ? "-" + bytes_text(row.pattern.bytes_saved * row.count()) : "", error,
                   row.derived() ? speed_text(row) : "not derived"});
  }
  return table.text();
}

std::string notes_text(const std::vector<Row>& rows) {
  report::Table table({{"", report::Align::right}, {"composites"}, {"bound, or why it is not used"}});
  int number = 0;
  for (const Row& row : rows) {
    const std::string note = !row.derived()     ? row.why_not()
                             : !row.check.equal ? "NOT EQUAL, left out; bound: " + row.check.reason
                             : row.slower()     ? "slower, left out; bound: " + row.check.reason
                                                : row.check.reason;
    table.add_row({std::to_string(++number), coverage(row.pattern), note});
  }
  return table.text();
}

Json row_json(const opgraph::OpGraph& graph, const Row& row) {
  Json out{{"ops", opgraph::ops_text(row.pattern.shape)},
           {"where", places(graph, row.pattern)},
           {"count", row.count()},
           {"calls", row.pattern.shape.steps.size()},
           {"launches_saved", row.pattern.launches_saved * row.count()},
           {"bytes_saved", row.pattern.bytes_saved * row.count()},
           {"composite", row.pattern.composite},
           {"crossed", row.pattern.crossed},
           {"derived", row.derived()},
           {"why_not", row.why_not()},
           {"used", row.use()}};
  if (row.derived())
    out["verified"] = {{"equal", row.check.equal},
                       {"worst_error", row.check.worst_error},
                       {"tolerance", row.check.tolerance},
                       {"reason", row.check.reason}};
  if (row.timed) {
    const measure::Estimate& e = row.timing.speed;
    out["timed"] = {{"apart_s", row.timing.apart_s},
                    {"fused_s", row.timing.fused_s},
                    {"ratio", e.value},
                    {"interval", e.interval ? Json{e.interval->low, e.interval->high} : Json()}};
  }
  return out;
}

std::vector<Row> measured(engine::Session& session, const engine::TracedPass& pass,
                          std::vector<opgraph::ChainPattern> patterns, const opgraph::OpGraph& graph, int rounds,
                          Progress& progress) {
  std::vector<Row> out;
  int number = 0;
  const auto total = static_cast<int>(patterns.size());
  for (opgraph::ChainPattern& pattern : patterns) {
    progress.show(fmt::format("chain {} of {}", ++number, total));
    Row row{.pattern = std::move(pattern)};
    if (row.pattern.reason.empty()) {
      // The middle one: neither the first layer's small values nor the last's.
      const opgraph::FoundChain& chain = row.pattern.instances[row.pattern.instances.size() / 2];
      std::vector<ops::TracedCall> calls;
      for (auto& [node, call] : engine::collect_calls(session, pass, chain.nodes)) calls.push_back(std::move(call));
      measure::ChainArms arms(session.context(), opgraph::template_of(graph, chain), std::move(calls));
      row.check = arms.check();
      if (row.derived() && rounds > 0) {
        row.timing = arms.time(rounds);
        row.timed = true;
      }
    }
    out.push_back(std::move(row));
  }
  return out;
}

// Templates of all instances of the rows that are worth it.
std::vector<opgraph::SavedChain> saved(const opgraph::OpGraph& graph, const std::vector<Row>& rows) {
  std::vector<opgraph::SavedChain> out;
  for (const Row& row : rows) {
    if (!row.derived()) continue;
    for (const opgraph::FoundChain& chain : row.pattern.instances) {
      opgraph::SavedChain one{opgraph::template_of(graph, chain), row.use()};
      one.elements = graph.nodes[static_cast<std::size_t>(chain.nodes[0])].outputs[0].shape.elements();
      const bool known =
          std::any_of(out.begin(), out.end(), [&](const opgraph::SavedChain& s) { return s.shape == one.shape; });
      if (known) continue;
      one.figures = row_json(graph, row);
      out.push_back(std::move(one));
    }
  }
  return out;
}

std::filesystem::path save(const Options& options, opgraph::ChainFile identity, const ops::Registry& registry,
                           std::vector<opgraph::SavedChain> chains) {
  const std::filesystem::path path =
      options.save.empty() ? engine::found_chains_path(identity) : std::filesystem::path(options.save);
  std::error_code error;
  if (std::filesystem::exists(path, error)) {  // the other regime's chains of the same model stay
    try {
      const opgraph::ChainFile before = opgraph::read_chain_file(path, registry);
      if (before.key == identity.key && before.dtype == identity.dtype && before.family == identity.family &&
          before.fuse == identity.fuse)
        identity.regimes = before.regimes;
    } catch (const Error&) {
      if (!options.save.empty()) throw;  // not ours: better left alone
    }
  }
  identity.regimes[options.regime] = std::move(chains);
  opgraph::write_chain_file(path, identity);
  return path;
}

void run(const Options& options) {
  const engine::SessionOptions flags = session_options(options, "fuse");
  if (engine::parse_fuse_list(options.fuse).found || !options.fuse_file.empty())
    throw WrongUsage("fuse", "chains that were found cannot be on while they are looked for; leave out found");
  const Program program;
  engine::Session session(program, flags);
  print_model_notes(session.model().info());
  const engine::TracedPass pass{.regime = options.regime == "decode" ? engine::Regime::decode : engine::Regime::prefill,
                                .tokens = options.tokens};
  Progress progress;
  progress.show("tracing a forward pass");
  const opgraph::OpGraph graph = engine::trace_forward(session, pass);
  progress.show("looking for chains");
  const std::vector<Row> rows = measured(session, pass, opgraph::find_chains(graph), graph, options.rounds, progress);
  progress.clear();

  int fewer = 0;
  double bytes = 0;
  for (const Row& row : rows)
    if (row.use()) {
      fewer += row.pattern.launches_saved * row.count();
      bytes += row.pattern.bytes_saved * row.count();
    }
  const models::ModelInfo& info = session.model().info();
  fmt::print("{}, {} layers, {}; {} of {} token{}{}; {} calls\n\n", info.family, info.layers, dtype_name(info.dtype),
             options.regime, options.tokens, options.tokens == 1 ? "" : "s",
             pass.regime == engine::Regime::decode ? " in the cache" : "", graph.nodes.size());
  fmt::print("{}\n{}\n", table_text(graph, rows), notes_text(rows));
  const opgraph::ChainFile identity = engine::chain_identity(flags, info, session.device().kernel_family());
  const std::filesystem::path path = save(options, identity, program.operators, saved(graph, rows));
  fmt::print("{} of {} calls fewer, {} less to move in a forward. Kept in {}\n", fewer, graph.nodes.size(),
             bytes_text(bytes), path.string());
  fmt::print("use them: --fuse {}found{}\n", identity.fuse == "none" ? "" : identity.fuse + ",",
             options.save.empty() ? "" : " --fuse-file " + options.save);
  if (options.report_file.empty()) return;
  Json chains = Json::array();
  for (const Row& row : rows) chains.push_back(row_json(graph, row));
  report::write_report(options.report_file, {.kind = "fuse",
                                             .seeds = {{"tokens", pass.seed}, {"weights", 0}},
                                             .result = {{"regime", options.regime},
                                                        {"tokens", options.tokens},
                                                        {"dtype", std::string(dtype_name(info.dtype))},
                                                        {"device", options.device},
                                                        {"threads", session.device().threads()},
                                                        {"fuse", identity.fuse},
                                                        {"calls", graph.nodes.size()},
                                                        {"calls_saved", fewer},
                                                        {"bytes_saved", bytes},
                                                        {"rounds", options.rounds},
                                                        {"chains", std::move(chains)},
                                                        {"file", path.string()}}});
}

}  // namespace

void add_fuse_command(CLI::App& app) {
  Command command(
      app, "fuse",
      "Find chains of small operators that one kernel can replace in a model, check and time them, keep them");
  auto options = std::make_shared<Options>();
  add_model_options(command, *options, true);
  command.add_option("--seq", options->tokens, "Tokens of the traced pass; decode: tokens before it")
      .range(1, std::int64_t{1} << 20)
      .show_default();
  command.add_option("--regime", options->regime, "The pass to trace: a prompt, or one token after it")
      .one_of({"prefill", "decode"})
      .show_default();
  command.add_option("--rounds", options->rounds, "Rounds of timing; 0: none. Under 6 there is no interval")
      .range(0, 1000)
      .show_default();
  command.add_option("--save", options->save, "Keep the chains in this file (default: beside the cache)");
  command.footer(
      "Switches of --fuse are on while the pass is traced. `ask`, `check` use what was kept with --fuse found, or "
      "--fuse-file FILE.\nColumns: calls and bytes fewer in a forward over all places (×); the worst error on the "
      "model's own tensors and\nits bound; time of the calls as they are / fused, with the 95 % interval; ?: no "
      "difference shown. docs/fusing.md explains all.");
  command.on_run([options] { run(*options); });
}

}  // namespace tilewright::cli
