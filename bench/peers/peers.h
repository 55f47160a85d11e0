// Programs that run the same shapes: llama.cpp's llama-bench and torch.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tilewright::bench {

struct Regime {
  std::string text;
  bool decode = false;
  int tokens = 0, context = 0;
};
// "prefill TOKENS" or "decode TOKENS CONTEXT"; else Error.
Regime parse_regime(const std::string& text);

// One thing that runs a shape. `rate`: tokens per second; throws Error if it cannot.
struct Peer {
  std::string name, about;
  std::function<double(const Regime&)> rate;
};
struct Absent {
  std::string name, reason, how;
};

struct PeerOptions {
  std::string directory = "build/peers", torch_script = "bench/peers/torch_peer.py", python = "python3";
  int threads = 2;
  std::vector<std::string> torch_modes = {"eager", "compile", "frozen"}, llama_modes = {"fa", "nofa"};
  bool no_torch = false, no_llama = false;
};

// Those that are installed; the others are added to `absent`. Held to the instruction set that this process is held to
// (TILEWRIGHT_ISA): llama.cpp by a build of its own, torch by its libraries' environment variables.
std::vector<Peer> find_peers(const PeerOptions& options, const std::string& shape, std::vector<Absent>& absent);

}  // namespace tilewright::bench
