#include "cli/kernels_show.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include "base/cpu.h"
#include "base/error.h"
#include "cli/command_line.h"
#include "cli/kernel_cases.h"
#include "cli/usage.h"
#include "engine/program.h"
#include "ops/core/tile_signature.h"
#include "report/table.h"
#include "tile/binary/compiler.h"
#include "tile/cost/buffers.h"
#include "tile/cost/cost.h"
#include "tile/ir/printer.h"
#include "tile/passes/lower.h"

namespace tilewright::cli {
namespace {

struct Options {
  std::string name, dtype, target = "host", level, emit = "summary";
  std::vector<std::string> tiles;
  std::map<std::string, std::int64_t> numbers;  // --<number> N
};

std::int64_t whole_number(const std::string& name, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1)
    throw WrongUsage("kernels show", name + " takes a whole number above 0, found " + text);
  return value;
}

// --heads 16 --dim=128: names depend on the kernel.
std::map<std::string, std::int64_t> named_numbers(const std::vector<std::string>& words) {
  std::map<std::string, std::int64_t> out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) throw WrongUsage("kernels show", "unexpected " + words[i]);
    const std::size_t equal = words[i].find('=');
    const std::string name = words[i].substr(2, equal == std::string::npos ? equal : equal - 2);
    if (equal == std::string::npos && i + 1 == words.size())
      throw WrongUsage("kernels show", "--" + name + " needs a number");
    out[name] = whole_number("--" + name, equal == std::string::npos ? words[++i] : words[i].substr(equal + 1));
  }
  return out;
}

// How the operator's cases use the kernel: the first one that it serves, one of those worth timing if there is any.
struct UsualCall {
  ops::Specialisation specialisation;
  std::map<std::string, std::int64_t> dims;  // of the program
  std::string id;
};
std::optional<UsualCall> usual_call(const Program& program, const ops::Registry::RegisteredKernel& registered,
                                    const std::string& dtype) {
  const auto device = program.devices.open("null");
  ops::Context context(program.operators, device->default_stream());
  const ops::Op& op = program.operators.get(ops::OpName(std::string_view(registered.op)));
  const ops::TileKernel& kernel = *registered.kernel;
  std::optional<UsualCall> out;
  for (const ops::OpCase& one : cases_of(program.operators, registered.op)) {
    if (out && !one.bench) continue;
    if (!dtype.empty() && dtype_name(one.inputs.front().dtype) != dtype) continue;
    const std::vector<ops::Tensor> inputs = shaped_inputs(context, one);
    const ops::OpCall call{op, inputs, one.attributes, {}};
    if (kernel.refuse && !kernel.refuse(call).empty()) continue;
    UsualCall usual{.id = one.id};
    if (kernel.specialise) usual.specialisation = kernel.specialise(call);
    ops::Tensors outputs;
    for (const ops::OutputSpec& spec : op.schema.infer(call)) outputs.push_back(context.empty(spec.dtype, spec.shape));
    const tile::Program built = kernel.build(usual.specialisation);
    std::array<std::int64_t, ops::kMaxTileValues> values;
    const ops::TileArguments arguments = kernel.bind(ops::OpCall{op, inputs, one.attributes, outputs.span()});
    if (!ops::TileSignature(built).check(arguments, values).empty()) continue;
    for (std::size_t i = 0; i < built.dims.size(); ++i) usual.dims[built.dims[i]] = values[i];
    out = std::move(usual);
    if (one.bench) break;
  }
  return out;
}

// Numbers of the kernel are set; those that name a symbolic dim are hints for the choice of tiles. `shown_dims`: what
// the prediction is for.
tile::Program program_of(const Program& all, const ops::Registry::RegisteredKernel& registered, const Options& options,
                         tile::LowerOptions& lower, std::map<std::string, std::int64_t>& shown_dims) {
  const std::optional<UsualCall> usual = usual_call(all, registered, options.dtype);
  std::optional<ops::Specialisation> s;
  if (usual) s = usual->specialisation;
  const auto& names = registered.kernel->numbers;
  bool complete = true;
  for (const std::string& name : names) complete &= options.numbers.count(name) != 0;
  if (!s && !complete)
    throw WrongUsage("kernels show",
                     fmt::format("{} needs --{} N", registered.kernel->name, fmt::join(names, " N --")));
  if (!s) s = ops::Specialisation{};
  if (!options.dtype.empty()) s->dtype = dtype_from_name(options.dtype);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (const auto it = options.numbers.find(names[i]); it != options.numbers.end()) s->numbers[i] = it->second;
  tile::Program out = registered.kernel->build(*s);
  for (const std::string& dim : out.dims)
    if (usual && usual->dims.count(dim)) shown_dims[dim] = usual->dims.at(dim);
  std::vector<std::string> known = names;
  known.insert(known.end(), out.dims.begin(), out.dims.end());
  for (const auto& [name, value] : options.numbers) {
    const bool number = std::find(names.begin(), names.end(), name) != names.end();
    const bool dim = std::find(out.dims.begin(), out.dims.end(), name) != out.dims.end();
    if (!number && !dim)
      throw WrongUsage("kernels show", fmt::format("{} has no number of the name {}; it has {}",
                                                   registered.kernel->name, name, fmt::join(known, ", ")));
    if (dim) lower.dims[name] = shown_dims[name] = value;
  }
  return out;
}

void print_tiles(const tile::Program& p) {
  if (p.tiles.empty()) return;
  report::Table table({{"tile"}, {"chosen", report::Align::right}, {"of"}});
  for (const tile::TileParameter& t : p.tiles)
    table.add_row({t.name, std::to_string(t.chosen), fmt::format("{}", fmt::join(t.choices, ", "))});
  fmt::print("\ntiles (--tiles NAME=N sets one)\n{}", table.text());
}

// Dims are those of the operator's usual case where they were not set by name.
void print_prediction(const tile::Program& p, const tile::TileTarget& target,
                      const std::map<std::string, std::int64_t>& shown_dims) {
  tile::CostQuestion question;
  question.dims = shown_dims;
  const tile::TileCost cost = tile::predict_cost(p, target, question);
  std::string dims;
  for (const std::string& dim : p.dims) {
    const auto set = question.dims.find(dim);
    dims += fmt::format("{}{} = {}", dims.empty() ? "" : ", ", dim,
                        set == question.dims.end() ? question.other_dims : set->second);
  }
  fmt::print("\npredicted, not measured, for {}: {:.2f} µs; {:.3g} MB read, {:.3g} MB written, {:.3g} MFLOP\n",
             target.name, cost.seconds * 1e6, cost.bytes_read * 1e-6, cost.bytes_written * 1e-6,
             (cost.vector_flops + cost.special_flops + cost.matrix_flops) * 1e-6);
  if (!dims.empty()) fmt::print("  with {} (--NAME N sets them)\n", dims);
}

void run(const Options& options) {
  const Program all;
  const RegisteredKernels found = find_kernels(all.operators, options.name);
  const auto exact =
      std::find_if(found.begin(), found.end(), [&](const auto& k) { return k.kernel->name == options.name; });
  const ops::Registry::RegisteredKernel& registered = exact == found.end() ? found.front() : *exact;
  tile::LowerOptions lower;
  lower.target = options.target;
  lower.level = !options.level.empty() ? options.level : std::string(isa_name(active_isa()));
  for (const std::string& setting : options.tiles) {
    const std::size_t equal = setting.find('=');
    if (equal == std::string::npos) throw WrongUsage("kernels show", "--tiles takes NAME=N, found " + setting);
    lower.tiles[setting.substr(0, equal)] = whole_number("--tiles", setting.substr(equal + 1));
  }
  std::map<std::string, std::int64_t> shown_dims;
  const tile::Program program = program_of(all, registered, options, lower, shown_dims);
  const tile::Program lowered = tile::lower(program, lower);
  if (options.emit == "text") {
    std::fputs(tile::print(lowered).c_str(), stdout);
  } else if (options.emit != "summary") {
    const tile::CompilerOutput code = tile::compile_text(tile::print(lowered), lower.level, options.emit);
    std::fputs((options.emit == "ir" ? code.ir : code.assembly).c_str(), stdout);
  } else {
    fmt::print("{} of {}, {}\n\n{}", registered.kernel->name, registered.op,
               registered.kernel->kind == ops::CandidateKind::derived ? "derived" : "hand-written",
               tile::print(program));
    fmt::print("\nlowered for {}\n\n{}", options.target == "host" ? lower.level : options.target, tile::print(lowered));
    print_tiles(lowered);
    const tile::TileTarget target = tile::tile_target(options.target, lower.level);
    fmt::print("\nbuffers\n{}", tile::buffer_text(lowered, tile::buffer_table(lowered, target), target));
    print_prediction(lowered, target, shown_dims);
  }
}

}  // namespace

void add_kernels_show(CLI::App& kernels) {
  Command command(kernels, "show", "A kernel's program before and after lowering, its tiles and buffers");
  auto options = std::make_shared<Options>();
  command.add_option("NAME", options->name, "A kernel, or an operator (its first kernel)").required();
  command.add_option("--dtype", options->dtype, "Of the tensors (default: the operator's first case)")
      .one_of({"f32", "f16", "bf16"});
  command.add_option("--target", options->target, "What to lower for: host, or a device such as 910b2").show_default();
  command.add_option("--level", options->level, "Instruction set of the host (default: this processor's)")
      .one_of({"avx2", "avx512", "avx512_bf16", "neon"});
  command.add_option("--tiles", options->tiles, "NAME=N sets a tile size; may be repeated");
  command.add_option("--emit", options->emit, "Only this: text (of the lowered program), ir or assembly (of LLVM)")
      .one_of({"text", "ir", "assembly"});
  command.take_unknown_words();
  command.footer(
      "Numbers that a kernel is compiled for, and its symbolic dims, are set by name: --dim 128 --heads 16.");
  command.on_run([command, options] {
    options->numbers = named_numbers(command.unknown_words());
    run(*options);
  });
}

}  // namespace tilewright::cli
