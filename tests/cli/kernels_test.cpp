// `tilewright kernels` as users run it; the kernels that ship; what is said after a run with --fuse.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/cpu.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "cli/run_program.h"
#include "safetensors/scratch.h"

namespace tilewright::test {
namespace {

namespace fs = std::filesystem;
using hub::Scratch;

const fs::path kBard = TILEWRIGHT_SOURCE_DIR "/assets/bard";
const bool kCompiler = fs::exists(TILEWRIGHT_BINARY_DIR "/lib/libtilewright_llvm.so");

bool fits_terminal(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    int width = 0;
    for (const char c : line) width += (c & 0xc0) != 0x80;
    if (width > 100) return false;
  }
  return true;
}

// Nothing is cached before, and nothing can be compiled.
RunOptions without_compiler(const Scratch& scratch) {
  return {.environment = {{"XDG_CACHE_HOME", scratch.path()}, {"TILEWRIGHT_LLVM_MODULE", "/nonexistent.so"}}};
}

TEST(Kernels, AreListedWithDtypesAndDevices) {
  const Scratch scratch;
  const Outcome o = run_program({"kernels"}, without_compiler(scratch));
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_TRUE(fits_terminal(o.out)) << o.out;
  for (const char* part : {"qk_norm_rope", "hand-written", "derived", "bf16 f16 f32", "head sizes up to 1024", "host",
                           "what ships only", "null"})
    EXPECT_NE(o.out.find(part), std::string::npos) << part << "\n" << o.out;
  const Outcome json = run_program({"kernels", "--format", "json"}, without_compiler(scratch));
  const Json found = Json::parse(json.out);
  EXPECT_FALSE(found["kernels"].empty());
  EXPECT_TRUE(found["devices"].contains("host"));
}

TEST(Kernels, AreShownBeforeAndAfterLowering) {
  const Outcome o = run_program({"kernels", "show", "qk_norm_rope", "--heads", "16", "--dim=96", "--dtype", "bf16"});
  EXPECT_EQ(o.code, 0) << o.err;
  for (const char* part : {"program qk_norm_rope", "lowered for", "bf16[batch, tokens, heads, 96]", "buffers", "bytes"})
    EXPECT_NE(o.out.find(part), std::string::npos) << part << "\n" << o.out;
  const Outcome text = run_program({"kernels", "show", "rms_norm.derived", "--emit", "text"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_EQ(text.out.find("program"), 0u);
  if (!kCompiler) GTEST_SKIP() << "no compiler module";
  const Outcome neon = run_program({"kernels", "show", "rms_norm", "--emit", "assembly", "--level", "neon"});
  EXPECT_EQ(neon.code, 0) << neon.err;
  EXPECT_NE(neon.out.find("tw_run"), std::string::npos);
  const Outcome ir = run_program({"kernels", "show", "rms_norm", "--emit", "ir", "--level", "avx2"});
  EXPECT_NE(ir.out.find("define"), std::string::npos) << ir.err;
}

TEST(Kernels, SayWhatIsWrongAboutTheirArguments) {
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{"kernels", "show", "qk_norm_rope", "--depth", "3"}, "has no number of the name depth; it has dim, batch"},
      {{"kernels", "show", "qk_norm_rope", "--dim", "many"}, "--dim takes a whole number above 0, found many"},
      {{"kernels", "show", "qk_norm_rope", "--dim"}, "--dim needs a number"},
      {{"kernels", "show", "qk_norm_rope", "--tiles", "rows"}, "--tiles takes NAME=N, found rows"},
      {{"kernels", "show"}, "tilewright kernels show: NAME is required"},
  };
  for (const auto& [arguments, message] : wrong) {
    const Outcome o = run_program(arguments);
    EXPECT_EQ(o.code, 2) << message;
    EXPECT_NE(o.err.find(message), std::string::npos) << o.err;
  }
  const Outcome unknown = run_program({"kernels", "verify", "qk_norm_rop"});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_NE(unknown.err.find("did you mean qk_norm_rope?"), std::string::npos) << unknown.err;
}

TEST(Kernels, VerifyComparesWithTheReference) {
  if (!kCompiler) GTEST_SKIP() << "no compiler module";
  const Scratch scratch;
  const fs::path report = scratch.path() / "report.json";
  const RunOptions own{.environment = {{"XDG_CACHE_HOME", scratch.path()}}};
  const Outcome o = run_program({"kernels", "verify", "qk_norm_rope", "--random", "30", "--report-file", report}, own);
  EXPECT_EQ(o.code, 0) << o.out << o.err;
  EXPECT_TRUE(fits_terminal(o.out)) << o.out;
  const Json kernels = read_json_file(report)["result"]["kernels"];
  ASSERT_GE(kernels.size(), 3u);
  for (const Json& k : kernels) {
    EXPECT_EQ(k["verdict"], "pass") << k;
    EXPECT_GT(k["cases"], 5) << k;
  }
}

// Offsets of groups are listed in the cases: a variation that they do not fit is no case.
TEST(Kernels, VerifyLeavesOutVariationsThatTheOperatorRefuses) {
  if (!kCompiler) GTEST_SKIP() << "no compiler module";
  const Scratch scratch;
  const Outcome o = run_program({"kernels", "verify", "grouped_gemm", "--random", "25", "--seed", "7"},
                                {.environment = {{"XDG_CACHE_HOME", scratch.path()}}});
  EXPECT_EQ(o.code, 0) << o.out << o.err;
}

TEST(Kernels, VerifyFailsWhatIsOutsideItsTolerance) {
  if (!kCompiler) GTEST_SKIP() << "no compiler module";
  const Scratch scratch;
  const fs::path cases = scratch.path() / "cases.json";
  write_file_atomically(cases, [](std::ostream& out) {
    out << R"({"cases": [{"op": "rms_norm", "id": "too exact", "seed": 1, "attributes": {"eps": 1e-6}, "input": {
      "x": {"shape": [3, 40], "dtype": "bf16", "fill": "normal"}, "weight": {"shape": [40], "dtype": "bf16", "fill": "normal"}},
      "rtol": 0, "atol": 0, "reason": "none"},
      {"op": "silu_mul", "id": "exact", "seed": 1, "input": {"gate": {"shape": [64, 40], "dtype": "f32", "fill": "normal"},
      "up": {"shape": [64, 40], "dtype": "f32", "fill": "normal"}}, "rtol": 0, "atol": 0, "reason": "none"}]})";
  });
  const Outcome o = run_program({"kernels", "verify", "silu_mul", "--cases", cases});
  EXPECT_EQ(o.code, 1) << o.out << o.err;
  EXPECT_NE(o.out.find("FAIL silu_mul.derived, exact (64×40 f32)"), std::string::npos) << o.out;
  const Outcome other = run_program({"kernels", "verify", "rope", "--cases", cases});
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.err.find("no case of the file is for"), std::string::npos) << other.err;
}

TEST(Kernels, BenchPutsKernelsBesideTheDecompositionAndTheLimit) {
  if (!kCompiler) GTEST_SKIP() << "no compiler module";
  const Scratch scratch;
  const fs::path report = scratch.path() / "report.json", cases = scratch.path() / "cases.json";
  write_file_atomically(cases, [](std::ostream& out) {
    out << R"({"cases": [{"op": "rms_norm", "id": "small", "seed": 1, "attributes": {"eps": 1e-6}, "input": {
      "x": {"shape": [2, 64], "dtype": "f32", "fill": "normal"}, "weight": {"shape": [64], "dtype": "f32", "fill": "normal"}},
      "rtol": 1e-5, "atol": 1e-5, "reason": "f32"}]})";
  });
  const Outcome o = run_program(
      {"kernels", "bench", "rms_norm", "--cases", cases, "--rounds", "6", "--threads", "1", "--report-file", report});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_TRUE(fits_terminal(o.out)) << o.out;
  const Json one = read_json_file(report)["result"]["cases"][0];
  ASSERT_GE(one["arms"].size(), 2u);
  EXPECT_EQ(one["arms"][0]["name"], "decomposition");
  EXPECT_EQ(one["arms"][0]["launches"], 6);
  EXPECT_EQ(one["arms"][1]["launches"], 1);
  EXPECT_EQ(one["arms"][1]["ratio_interval"].size(), 2u);
  EXPECT_GT(one["limit_s"], 0);
}

class FirstRun : public testing::TestWithParam<const char*> {};

// A shipped model with everything switched on: kernels come from the build, though nothing can be compiled.
TEST_P(FirstRun, OfTheModelThatShipsCompilesNothing) {
  if (!fs::exists(TILEWRIGHT_BINARY_DIR "/lib/tilewright/kernels")) GTEST_SKIP() << "no kernels were built";
  if (*GetParam() && !is_supported(isa_from_name(GetParam()))) GTEST_SKIP() << "this processor does not support " << GetParam();
  for (const char* dtype : {"f32", "f16", "bf16"}) {
    const Scratch scratch;
    RunOptions options = without_compiler(scratch);
    if (*GetParam()) options.environment["TILEWRIGHT_ISA"] = GetParam();
    const fs::path file = scratch.path() / "report.json";
    const Outcome o = run_program({"ask", kBard, "--prompt", "To be, or not", "--dtype", dtype, "--temperature", "0",
                                   "--max-new-tokens", "8", "--fuse", "all", "--report-file", file},
                                  options);
    ASSERT_EQ(o.code, 0) << o.err;
    EXPECT_TRUE(fits_terminal(o.err.substr(std::min(o.err.size(), o.err.find("\ncomposite"))))) << o.err;
    const Json result = read_json_file(file)["result"];
    for (const Json& fallback : result["fallbacks"])
      EXPECT_EQ(fallback["reason"].get<std::string>().find("cannot be compiled"), std::string::npos) << fallback;
    EXPECT_FALSE(result["fused"].empty()) << o.err;
    EXPECT_NE(o.err.find("qk_norm_rope"), std::string::npos) << o.err;
    EXPECT_FALSE(fs::exists(scratch.path() / "tilewright/kernels"));
  }
}
INSTANTIATE_TEST_SUITE_P(Levels, FirstRun, testing::Values("", "avx2", "avx512"),
                         [](const auto& level) { return std::string(*level.param ? level.param : "own"); });

TEST(Fuse, SaysWhichCompositesRanAsKernelsAndWhyOthersDidNot) {
  const Scratch scratch;
  RunOptions options = without_compiler(scratch);
  options.environment["TILEWRIGHT_ISA"] = "generic";
  const fs::path file = scratch.path() / "report.json";
  const Outcome o = run_program({"ask", kBard, "--prompt", "To be", "--max-new-tokens", "3", "--fuse",
                                 "qk_norm_rope,silu_mul", "--report-file", file},
                                options);
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.err.find("decomposition"), std::string::npos) << o.err;
  EXPECT_NE(o.err.find("avx2, avx512, avx512_bf16"), std::string::npos) << o.err;
  EXPECT_EQ(run_program({"ask", kBard, "--prompt", "To be", "--max-new-tokens", "3"}, options).err.find("composite"),
            std::string::npos);
  bool counted = false;
  const Json fallbacks = read_json_file(file)["result"]["fallbacks"];
  for (const Json& fallback : fallbacks)
    counted |= fallback["op"] == "silu_mul" && fallback["candidate"] == "decomposition" && fallback["count"] == 15;
  EXPECT_TRUE(counted) << fallbacks;
}

TEST(Fuse, AutoMeasuresOnceAndKeepsWhatItFound) {
  if (!kCompiler) GTEST_SKIP() << "no compiler module";
  const Scratch scratch;
  const RunOptions options{.environment = {{"XDG_CACHE_HOME", scratch.path()}}};
  const fs::path file = scratch.path() / "report.json";
  const std::vector<std::string> ask{"ask",           kBard,  "--prompt",         "To be, or not",
                                     "--dtype",       "f32",  "--threads",        "1",
                                     "--temperature", "0",    "--max-new-tokens", "8",
                                     "--fuse",        "auto", "--report-file",    file};
  const Outcome first = run_program(ask, options);
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_NE(first.err.find("--fuse auto: measured"), std::string::npos) << first.err;
  EXPECT_NE(first.err.find("composite"), std::string::npos) << first.err;
  const Json measured = read_json_file(file)["result"]["tuning"];
  EXPECT_GT(measured["measured"], 0);
  EXPECT_GT(measured["seconds"], 0);
  ASSERT_TRUE(measured["file"].is_string());
  const std::string stored = read_text_file(measured["file"].get<std::string>());
  EXPECT_EQ(fs::path(measured["file"].get<std::string>()).parent_path(), scratch.path() / "tilewright/tuning");

  const Outcome second = run_program(ask, options);
  EXPECT_NE(second.err.find("--fuse auto: decided by"), std::string::npos) << second.err;
  EXPECT_EQ(read_json_file(file)["result"]["tuning"]["measured"], 0);
  EXPECT_EQ(read_text_file(measured["file"].get<std::string>()), stored);
  EXPECT_EQ(first.out, second.out);

  const Outcome json = run_program({"kernels", "tuning", "--threads", "1", "--format", "json"}, options);
  ASSERT_EQ(json.code, 0) << json.err;
  EXPECT_EQ(Json::parse(json.out)["decisions"], Json::parse(stored)["decisions"]);
  const Outcome text = run_program({"kernels", "tuning", "--threads", "1"}, options);
  for (const char* part : {"qk_norm_rope", "decomposition", "chosen", "times faster"})
    EXPECT_NE(text.out.find(part), std::string::npos) << text.out;
}

TEST(Fuse, BenchCanDecideForAuto) {
  if (!kCompiler) GTEST_SKIP() << "no compiler module";
  const Scratch scratch;
  const RunOptions options{.environment = {{"XDG_CACHE_HOME", scratch.path()}}};
  const Outcome o =
      run_program({"kernels", "bench", "silu_mul", "--rounds", "1", "--threads", "1", "--store"}, options);
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.out.find("stored in"), std::string::npos) << o.out;
  const Outcome text = run_program({"kernels", "tuning", "--threads", "1"}, options);
  EXPECT_NE(text.out.find("silu_mul "), std::string::npos) << text.out;
}

TEST(Fuse, AutoServesWhereNothingCanBeStoredOrCompiled) {
  const Scratch scratch;
  RunOptions options = without_compiler(scratch);
  options.environment["TILEWRIGHT_ISA"] = "generic";
  const std::vector<std::string> ask{"ask", kBard, "--prompt", "To be", "--max-new-tokens", "3", "--fuse", "auto"};
  const Outcome generic = run_program(ask, options);
  EXPECT_EQ(generic.code, 0) << generic.err;
  EXPECT_NE(generic.err.find("tile programs are compiled for"), std::string::npos) << generic.err;  // why none fuses
  EXPECT_EQ(generic.err.find("decided by"), std::string::npos) << generic.err;
  options = without_compiler(scratch);
  options.environment["XDG_CACHE_HOME"] = "/proc/none";
  const Outcome unwritable = run_program(ask, options);
  EXPECT_EQ(unwritable.code, 0) << unwritable.err;
  if (fs::exists(TILEWRIGHT_BINARY_DIR "/lib/tilewright/kernels")) {
    EXPECT_NE(unwritable.err.find("not stored"), std::string::npos) << unwritable.err;
  }
  const Outcome nothing = run_program({"kernels", "tuning"}, options);
  EXPECT_EQ(nothing.code, 0) << nothing.err;
  EXPECT_NE(nothing.out.find("Nothing is decided yet"), std::string::npos) << nothing.out;
  const Outcome null = run_program({"ask", kBard, "--prompt", "To be", "--max-new-tokens", "3", "--fuse", "auto",
                                    "--device", "null", "--temperature", "0"},
                                   options);
  EXPECT_EQ(null.code, 0) << null.err;
}

TEST(Kernels, AnInstructionSetThatIsNotHereIsAnErrorBeforeAnythingRuns) {
  const Scratch scratch;
  RunOptions options = without_compiler(scratch);
  for (const char* level : {"neon", "no_such_level"}) {
    options.environment["TILEWRIGHT_ISA"] = level;
    if (level == std::string("neon") && is_supported(IsaLevel::neon)) continue;
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"ask", kBard, "--prompt", "To be", "--max-new-tokens", "2", "--threads", "1"},
          {"kernels", "verify", "silu_mul", "--threads", "2"}}) {
      const Outcome o = run_program(words, options);  // ran for ever: the launch that failed was never done
      EXPECT_EQ(o.code, 1) << o.err;
      EXPECT_NE(o.err.find("TILEWRIGHT_ISA"), std::string::npos) << o.err;
    }
  }
}

TEST(Fuse, ManyProcessesMayCompileTheSameKernelsAtOnce) {
  if (!kCompiler) GTEST_SKIP() << "no compiler module";
  const Scratch scratch;
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const Outcome o =
          run_program({"kernels", "verify", "silu_mul"}, {.environment = {{"XDG_CACHE_HOME", scratch.path()}}});
      _exit(o.code);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
}

}  // namespace
}  // namespace tilewright::test
