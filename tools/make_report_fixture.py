#!/usr/bin/env python3
"""Writes tests/report/fixtures/bench.json: an invented report of docs/report.md's schema, with every status an arm may have.

Its numbers agree with each other (medians, ratios, sums of a split) but were measured nowhere. Needs nothing but Python.
"""
import json
import pathlib
import random
import statistics

ROOT = pathlib.Path(__file__).resolve().parent.parent
rng = random.Random(5)
OPS = [  # of one layer as eager launches it: op, path, class, share of the kernel time
    ("rms_norm", "input_layernorm", "norm", 2), ("linear", "self_attn.qkv", "matmul", 22), ("rms_norm", "self_attn.q_norm", "norm", 1),
    ("rms_norm", "self_attn.k_norm", "norm", 1), ("rope", "self_attn", "elementwise", 3), ("slice_copy", "self_attn", "move", 2),
    ("attention", "self_attn", "attention", 9), ("linear", "self_attn.o_proj", "matmul", 12), ("add", "", "elementwise", 1),
    ("rms_norm", "post_attention_layernorm", "norm", 2), ("linear", "mlp.gate_up", "matmul", 26), ("silu_mul", "mlp", "elementwise", 3),
    ("linear", "mlp.down_proj", "matmul", 16)]
MERGED = {"self_attn.q_norm": "qk_norm_rope", "input_layernorm": "add_rms_norm", "post_attention_layernorm": "add_rms_norm"}
DROPPED = {("rms_norm", "self_attn.k_norm"), ("rope", "self_attn"), ("add", "")}


def step(fused, graph, kernels_s):
    """The launches of one step: a timeline, and the times by operator."""
    ops = [(MERGED.get(p, o) if fused else o, p, c, s) for o, p, c, s in OPS if not (fused and (o, p) in DROPPED)]
    layers = 3
    unit = kernels_s / (layers * sum(s for *_, s in OPS))
    gap = unit * (0.15 if graph else 2.0)
    timeline, by_op, now = [], {}, 0.0
    if not graph:
        timeline.append({"op": "submit", "path": "", "lane": "host", "start_s": 0.0, "end_s": kernels_s * 0.7})
    for layer in range(layers):
        for op, path, kind, share in ops:
            length = unit * share * rng.uniform(0.95, 1.05)
            timeline.append({"op": op, "path": f"layers.{layer}.{path}".rstrip("."), "lane": "device", "start_s": now, "end_s": now + length})
            entry = by_op.setdefault(op, {"op": op, "class": kind, "launches": 0, "seconds": 0.0})
            entry["launches"] += 1
            entry["seconds"] += length
            now += length + gap * rng.uniform(0.5, 1.5)
    return timeline, sorted(by_op.values(), key=lambda e: -e["seconds"])


def measured(name, tokens, rate, base, rounds, limit_s, spread=0.01, near_tie=None, wrong=False):
    fused, graph = "fused" in name, "graph" in name
    seconds = [tokens / rate * rng.uniform(1 - spread, 1 + spread) for _ in range(rounds)]
    median, best = statistics.median(seconds), min(seconds)
    kernels, submission, compiling = median * (0.95 if graph else 0.76), median * (0.03 if graph else 0.13), 0.0
    split = {"kernels_s": kernels, "submission_s": submission, "compile_s": compiling, "bubbles_s": median - kernels - submission,
             "trace_slowdown": 1.021}
    timeline, by_op = step(fused, graph, kernels / tokens)
    ratio = None
    if base:
        ratios = sorted(b / s for b, s in zip(base["seconds"], seconds))
        low, high = (ratios[0], ratios[-1]) if rounds >= 6 else (None, None)
        ratio = {"against": "eager", "value": statistics.median(ratios), "low": low, "high": high,
                 "claimed": bool(low) and (low > 1 or high < 1), "best_of": base["best_s"] / best}
    verdict = "wrong" if wrong else "near-tie" if near_tie else "equal"
    tpot = median / tokens
    return {
        "name": name, "status": "wrong" if wrong else "measured", "reason": "", "error": None,
        "equality": {"bound": 0.0213, "worst": 0.734 if wrong else 0.0081, "worst_position": 7,
                     "bound_source": "1.5 × eager against eager with f32 activations, 32 positions",
                     "bitwise": True if name == "graph" else None, "tokens_compared": 32, "tokens_equal": 11 if wrong else 31 if near_tie else 32,
                     "verdict": verdict, "near_tie": near_tie} if base else None,
        "seconds": seconds, "median_s": median, "best_s": best, "spread": statistics.quantiles(seconds, n=4, method="inclusive")[::2],
        "rate_median": tokens / median, "rate_best": tokens / best, "limit_share": limit_s / median, "ratio": None if wrong else ratio,
        "latency": {"ttft_s": tpot * 3.1, "tpot_s": tpot, "p50_s": tpot * 0.99, "p90_s": tpot * 1.05, "p99_s": tpot * 1.31},
        "once": {"load_s": 0.412, "compile_s": 0.035 if fused else 0.0, "tune_s": 0.0, "capture_s": 0.0031 if graph else None,
                 "instantiate_s": 0.0012 if graph else None, "graphs": 2 if graph else 0},
        "launches_per_token": len([e for e in timeline if e["lane"] == "device"]), "launch_cost_s": 8.1e-8 if graph else 1.21e-6,
        "memory": {"allocated": 182000000, "peak": 214000000, "reserved": 256000000, "reserved_grew": name == "eager"},
        "split": split, "by_op": by_op, "timeline": timeline, "timeline_cut": 120 if name == "eager" else 0,
        "graph": {"nodes": len(timeline), "phases": 31, "barriers_removed": 8, "arena_bytes": 4194304, "planned_bytes": 9437184} if graph else None,
        "fused": [{"op": "qk_norm_rope", "candidate": "tile", "count": 3}, {"op": "add_rms_norm", "candidate": "derived", "count": 6}] if fused else [],
        "fallbacks": [{"op": "rms_norm", "candidate": "decomposition", "reason": "switched off", "count": 9}] if not fused else [],
    }


def without_numbers(name, status, reason, error=None):
    return {"name": name, "status": status, "reason": reason, "error": error, "equality": None, "seconds": [], "median_s": None,
            "best_s": None, "spread": None, "rate_median": None, "rate_best": None, "limit_share": None, "ratio": None, "latency": None,
            "once": None, "launches_per_token": None, "launch_cost_s": None, "memory": None, "split": None, "by_op": [], "timeline": [],
            "timeline_cut": 0, "graph": None, "fused": [], "fallbacks": []}


def differences(arms):
    out = []
    known = [a for a in arms if a["split"]]
    for i, a in enumerate(known):
        for b in known[i + 1:]:
            parts = {k: a["split"][k] - b["split"][k] for k in ("compile_s", "submission_s", "bubbles_s", "kernels_s")}
            out.append({"from": a["name"], "to": b["name"], "whole_s": a["median_s"] - b["median_s"], **parts})
    return out


def case(label, tokens, padded, limit_s, arms):
    return {"label": label, "tokens": tokens, "padded_tokens": padded, "limit_s": limit_s, "limit_kind": "read bandwidth", "arms": arms,
            "differences": differences(arms),
            "coverage": [{"block": "layers.*.self_attn", "op": "qk_norm_rope", "fused": 3, "small": 0, "why": ""},
                         {"block": "layers.*", "op": "add_rms_norm", "fused": 6, "small": 0, "why": ""},
                         {"block": "layers.*.mlp", "op": "silu_mul", "fused": 0, "small": 3, "why": "no kernel of this backend takes a row of 3072 in bf16"}]}


CODE = {"what": "a stream was synchronised while it captures", "where": "layers.0.self_attn, bmm, launch 12", "expected": "no waiting between begin and end of a capture",
        "found": "synchronize() on stream 1", "fix": "move the call out of the captured part, or read the value after the replay", "code": 107027,
        "name": "ACL_ERROR_RT_STREAM_CAPTURED"}
eager = measured("eager", 128, 61.3, None, 9, 1.31)
first = case("decode 128 after 32, batch 1", 128, 128, 1.31, [
    eager, measured("graph", 128, 79.9, eager, 9, 1.31), measured("fused", 128, 74.2, eager, 9, 1.31, near_tie={"position": 19, "gap": 0.0031}),
    measured("fused+graph", 128, 91.4, eager, 9, 1.31)])
eager = measured("eager", 512, 55.0, None, 9, 5.31)
second = case("decode 512 after 32, batch 1", 512, 512, 5.31, [
    eager, without_numbers("graph", "failed", "", CODE), measured("fused", 512, 66.6, eager, 9, 5.31, wrong=True),
    without_numbers("fused+graph", "refused", "its ungraphed arm, fused, is wrong")])
eager = measured("eager", 16, 58.0, None, 4, 0.163)
third = case("decode 16 after 2000, batch 1", 16, 16, 0.163, [
    eager, measured("graph", 16, 58.3, eager, 4, 0.163, spread=0.03), without_numbers("fused", "skipped", "--skip fused"),
    without_numbers("fused+graph", "skipped", "--skip fused")])
report = {
    "kind": "bench", "schema": "tilewright-report", "version": 1,
    "command": ["tilewright", "bench", "models/Example 0.6B", "--regime", "decode", "--gen", "128,512,16", "--report-file", "r.json"],
    "tool": {"name": "tilewright", "version": "0.1.0", "commit": "0123456789ab"},
    "machine": {"processor": "Example CPU", "instruction_set": "avx512_bf16", "logical_cpus": 2, "memory_bytes": 25000000000, "system": "Linux 6.1.0"},
    "seeds": {"prompt": 1, "sampling": 0}, "created": "2024-06-01T12:00:00Z",
    "result": {
        "regime": "decode", "regime_reason": "the model generates token by token, and --gen was given",
        "model": {"name": "Example-0.6B", "family": "qwen3", "description": "decoder, grouped-query attention", "dtype": "bf16", "layers": 3, "cut": True,
                  "weights": "dummy", "weight_bytes": 1192000000},
        "settings": {"batch": 1, "prompt_len": 32, "gen": [128, 512, 16], "seq": None, "warmup": 2, "iters": 3, "rounds": 9, "threads": 2, "device": "host",
                     "isa": "avx512_bf16", "seed": 1},
        "fingerprint": {"cpu": "Example CPU", "isa": "avx512_bf16", "threads": 2, "governor": "performance", "load_average": [0.12, 0.3, 0.21],
                        "memory": 25000000000, "system": "Linux 6.1.0"},
        "limits": {"f32_flops": 2.12e11, "bf16_flops": 8.4e11, "read_bytes": 6.12e10, "copy_bytes": 4.4e10, "barrier_s": 3.1e-7},
        "gate": {"smoke": {"ran": True, "passed": True, "checks": [
            {"name": "finite logits", "value": 0, "bound": 0, "passed": True, "note": ""},
            {"name": "mean −log p of the passage", "value": 3.21, "bound": 8.83, "passed": True, "note": ""},
            {"name": "token cycle", "value": "period 7", "bound": None, "passed": True, "note": "a warning: the last 28 tokens repeat"}]}},
        "cases": [first, second, third], "incomplete": "interrupted after round 4 of case 3",
        "warnings": ["the load average was 1.4 when the run began: other programs disturb the figures"]}}
path = ROOT / "tests/report/fixtures/bench.json"


def rounded(value):
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    return [rounded(v) for v in value] if isinstance(value, list) else value


def text(value, indent=0):
    """Lists of small objects a line each, so that the file can be read."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or len(flat) + indent <= 150 or not value:
        return flat
    space = " " * (indent + 1)
    if isinstance(value, dict):
        inner = [f"{space}{json.dumps(k, ensure_ascii=False)}: {text(v, indent + 1)}" for k, v in value.items()]
    else:
        inner = [space + text(v, indent + 1) for v in value]
    first, last = "{}" if isinstance(value, dict) else "[]"
    return f"{first}\n" + ",\n".join(inner) + f"\n{' ' * indent}{last}"


path.parent.mkdir(parents=True, exist_ok=True)
path.write_text(text(rounded(report)) + "\n")
print(path.stat().st_size, "bytes")
