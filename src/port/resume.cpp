#include "port/resume.h"

#include <algorithm>
#include <chrono>

#include "base/cpu.h"
#include "base/error.h"
#include "report/envelope.h"

namespace tilewright::port {
namespace {

namespace fs = std::filesystem;

Json files_of(const fs::path& directory) {
  Json out = Json::object();
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string extension = it->path().extension().string();
    if (extension != ".json" && extension != ".safetensors" && extension != ".jinja") continue;
    std::error_code unknown;
    const auto size = fs::file_size(it->path(), unknown);
    const auto changed = fs::last_write_time(it->path(), unknown);
    out[it->path().filename().string()] = {unknown ? 0 : size,
                                           unknown ? 0 : static_cast<std::int64_t>(changed.time_since_epoch().count())};
  }
  return out;
}

Json optional_json(const auto& value) { return value ? Json(*value) : Json(); }

std::string shown(const Json& value) { return value.is_null() ? "absent" : value.dump(); }

}  // namespace

Json run_identity(const MeasurementOptions& options) {
  const measure::BenchOptions& b = options.bench;
  const engine::SessionOptions& m = b.model;
  Json goldens = Json::array();
  for (const fs::path& golden : options.goldens) goldens.push_back(golden.string());
  return {{"settings",
           {{"regime", b.regime},
            {"seq", b.seq},
            {"gen", b.gen},
            {"batch", b.batch},
            {"prompt_len", b.prompt_len},
            {"arms", b.arms},
            {"warmup", b.warmup},
            {"iters", b.iters},
            {"seed", b.seed},
            {"dtype", m.load.dtype ? std::string(dtype_name(*m.load.dtype)) : "auto"},
            {"layers", optional_json(m.load.layers)},
            {"device", m.device},
            {"threads", m.device_options.threads},
            {"fuse", m.fuse},
            {"fuse_file", m.fuse_file.string()},
            {"goldens", std::move(goldens)}}},
          {"model", m.dummy_shape.empty() ? Json{{"files", files_of(m.model)}} : Json{{"shape", m.dummy_shape}}},
          {"machine", {{"processor", cpu_info().model}, {"isa", std::string(isa_name(active_isa()))}}},
          {"tool", report::tool_version()}};
}

std::string first_difference(const Json& was, const Json& is) {
  if (was == is) return "";
  if (!was.is_object() || !is.is_object()) return "was " + shown(was) + " and is " + shown(is);
  Json keys = was;
  keys.update(is);
  for (const auto& [key, unused] : keys.items()) {
    const Json a = was.contains(key) ? was[key] : Json(), b = is.contains(key) ? is[key] : Json();
    const std::string inner = first_difference(a, b);
    if (inner.empty()) continue;
    const bool leaf = !a.is_object() || !b.is_object();
    return key + (leaf ? " " : ".") + inner;
  }
  return "";
}

EarlierRun earlier_run(const fs::path& folder, const Json& identity) {
  EarlierRun out;
  const fs::path file = folder / "report.json";
  std::error_code ignored;
  if (!fs::exists(file, ignored)) {
    out.refusal = "there is no " + file.string();
    return out;
  }
  try {
    const Json report = read_json_file(file);
    const Json& result = report.at("result");
    if (report.at("kind") != "port") {
      out.refusal = file.string() + " is no report of `tilewright port`";
      return out;
    }
    if (result.at("bench").is_null()) {
      out.refusal = "the run before ended before anything was measured";
      return out;
    }
    out.refusal = first_difference(result.value("identity", Json()), identity);
    if (!out.refusal.empty()) return out;
    out.bench = result.at("bench");
    if (!out.bench.is_object()) out.bench = nullptr;
    const Json& gate = out.bench.at("gate").at("smoke");
    out.smoke = gate.is_object() && engine::smoke_from_json(gate, file.string()).passed();
    out.arms = !out.bench.at("cases").empty() && out.bench.at("incomplete") == false && exit_code_of(out.bench) == 0;
  } catch (const Json::exception&) {
    out = {};
    out.refusal = file.string() + " is of another version";
  } catch (const Error& error) {
    out = {};
    out.refusal = error.text().where + ": " + error.text().what;
  }
  return out;
}

}  // namespace tilewright::port
