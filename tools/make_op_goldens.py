#!/usr/bin/env python3
"""Writes src/ops/<name>/golden/<name>.safetensors: inputs and outputs of each composite operator as the reference implementation
computes them, in f32, bf16 and f16, with tails and extreme values.

    make_op_goldens.py        # from the repository's root

Tensors are named "<case>.<input or output>". Metadata: format = tilewright-op-golden-1, op, reference, cases (JSON list of names), and
under each case's name a JSON object {dtype, attributes, inputs: [names in order], outputs: [names in order], error, note}. error: for
each output, the largest |difference| of the stored values from the exact ones (op_formulas.py, float64), null for NaN and infinities.
The reference rounds every intermediate to the model dtype; a kernel that keeps f32 inside differs from it by about that error.

  rms_norm(x, weight; eps) -> out                   Qwen3RMSNorm
  add_rms_norm(x, residual, weight; eps) -> sum, out          residual + x, then Qwen3RMSNorm
  rope(x, cos, sin) -> out                          apply_rotary_pos_emb; x [B, heads, S, D], cos and sin [B, S, D]
  qk_norm_rope(x, weight, cos, sin; heads, eps) -> out        x [B, S, heads * D] -> out [B, heads, S, D], as in Qwen3Attention
  silu_mul(gate, up) -> out, gelu_mul(gate, up) -> out        act(gate) * up; the tanh form of gelu
  scaled_masked_softmax(scores, mask; scale) -> out           scores [B, heads, S, T], mask [B or 1, 1, S, T], additive; softmax in f32
  attention(q, k, v, mask; scale, causal, window) -> out      eager_attention_forward; q [B, heads, S, D], k and v [B, kv heads, T, D],
                                                    out [B, S, heads, D]; the mask says causal and window (0: none) as well
  moe_gate_top_k(logits, bias; as in our schema) -> weights, indices      Qwen3MoeTopKRouter, MiniMaxM2TopKRouter, DeepseekV3TopkRouter (groups
                                                    as in LLaDA2, whose code is not in transformers), each with an identity matrix as its
                                                    linear layer; sorted by biased score, which the last two leave open; indices i32
  grouped_gemm(x, weights, offsets) -> out          _grouped_linear of transformers' grouped_mm experts; offsets i32 with the leading 0
  expert_ffn(x, weights, indices, gate_up, down; activation, alpha, limit) -> out       grouped_mm_experts_forward (the default) of
                                                    Qwen3MoeExperts, MiniMaxM2Experts, Gemma4TextExperts, MiniMaxM3VLExperts
"""
import json
import os
import pathlib
import types

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import torch
import transformers
from transformers.activations import ACT2FN
from transformers.integrations import moe
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3TopkRouter
from transformers.models.gemma4.modeling_gemma4 import Gemma4TextExperts
from transformers.models.minimax_m2.modeling_minimax_m2 import MiniMaxM2Experts, MiniMaxM2TopKRouter
from transformers.models.minimax_m3_vl.modeling_minimax_m3_vl import MiniMaxM3VLExperts
from transformers.models.qwen3 import modeling_qwen3 as reference
from transformers.models.qwen3_moe.modeling_qwen3_moe import Qwen3MoeExperts, Qwen3MoeTopKRouter

from make_golden import reference_versions
from op_formulas import exact
from safetensors_writer import save_tensors

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


class File:
    """Collects the cases of one operator."""

    def __init__(self, op, outputs=("out",)):
        self.op, self.outputs, self.tensors, self.cases = op, list(outputs), {}, {}
        self.seed = 0

    def random(self, *shape, dtype, scale=1.0):
        self.seed += 1
        return (scale * torch.randn(shape, generator=torch.Generator().manual_seed(self.seed))).to(DTYPES[dtype])

    def add(self, case, dtype, function, attributes=None, note="", out_dtypes=None, **inputs):
        case = f"{case}_{dtype}"
        assert case not in self.cases
        with torch.no_grad():
            results = function(**inputs)
        results = results if isinstance(results, tuple) else (results,)
        out_dtypes = out_dtypes or [DTYPES[dtype]] * len(self.outputs)
        assert [r.dtype for r in results] == out_dtypes, (case, [r.dtype for r in results])
        if "special" not in case:
            assert all(torch.isfinite(r).all() for r in results), case
        error = {name: None for name in self.outputs}
        if "special" not in case:
            wide = {name: value.double() if value.is_floating_point() else value for name, value in inputs.items()}
            wanted = exact(self.op, wide, attributes or {})
            for name, value, want in zip(self.outputs, results, wanted, strict=True):
                error[name] = float(f"{(value.double() - want).abs().max().item():.3g}")
                if not value.is_floating_point():
                    assert error[name] == 0, case
                    continue
                share = error[name] / want.abs().max().item()
                assert share < {"f32": 1e-5, "bf16": 0.06, "f16": 0.008}[dtype], (case, share)
        for name, value in [*inputs.items(), *zip(self.outputs, results)]:
            self.tensors[f"{case}.{name}"] = value.contiguous()
        self.cases[case] = {"dtype": dtype, "attributes": attributes or {}, "inputs": list(inputs), "outputs": self.outputs, "error": error, "note": note}

    def write(self):
        folder = pathlib.Path("src/ops") / self.op / "golden"
        folder.mkdir(parents=True, exist_ok=True)
        metadata = {"format": "tilewright-op-golden-1", "op": self.op, "reference": reference_versions(), "cases": json.dumps(list(self.cases))}
        metadata |= {case: json.dumps(facts) for case, facts in self.cases.items()}
        path = folder / f"{self.op}.safetensors"
        save_tensors(self.tensors, path, metadata)
        print(f"{path}: {len(self.cases)} cases, {path.stat().st_size} bytes")
        assert path.stat().st_size <= 300_000


def norm(weight, eps):
    module = reference.Qwen3RMSNorm(weight.numel(), eps=eps)
    module.weight = torch.nn.Parameter(weight)
    return module


def largest(dtype):
    """A magnitude near the dtype's own end whose square still fits float32."""
    return {"f32": 1e17, "bf16": 1e17, "f16": 6e4}[dtype]


def with_extremes(x, dtype):
    """Rows (last axis) of zeros, of the largest and smallest magnitudes, one huge among small, and signed zeros."""
    rows = x.view(-1, x.shape[-1])
    rows[0] = 0
    rows[1] = (rows[1].float().sign() * largest(dtype)).to(x.dtype)
    rows[2] = (rows[2].float() * {"f32": 1e-30, "bf16": 1e-30, "f16": 1e-6}[dtype]).to(x.dtype)
    rows[3, 0] = largest(dtype)
    rows[4, ::2] = -0.0
    return x


def with_specials(x):
    rows = x.view(-1, x.shape[-1])
    rows[1, 2] = float("nan")
    rows[2, 1] = float("inf")
    rows[3, 0] = float("-inf")
    return x


def rms_norm_file():
    file = File("rms_norm")
    for dtype in DTYPES:
        def case(name, shape, eps=1e-6, edit=lambda x: x, note="", scale=1.0):
            x = edit(file.random(*shape, dtype=dtype, scale=scale))
            weight = (1 + 0.3 * file.random(shape[-1], dtype="f32")).to(DTYPES[dtype])
            file.add(name, dtype, lambda x, weight: norm(weight, eps)(x), {"eps": eps}, note, x=x, weight=weight)
        case("plain", (2, 5, 64))
        case("tail", (1, 7, 67), note="no multiple of any vector")
        case("one", (3, 1), note="rows of one element")
        case("long", (2, 1031))
        case("heads", (1, 3, 4, 24), eps=1e-5, note="as q_norm sees it")
        case("eps", (2, 3, 33), eps=0.5, scale=0.1)
        case("extreme", (6, 40), edit=lambda x: with_extremes(x, dtype), note="zeros, near the ends of the dtype, signed zeros")
        case("special", (5, 17), edit=with_specials, note="NaN and infinities: stay in their rows")
    file.write()


def add_rms_norm_file():
    file = File("add_rms_norm", outputs=("sum", "out"))

    def run(eps):
        def function(x, residual, weight):
            total = residual + x
            return total, norm(weight, eps)(total)
        return function

    for dtype in DTYPES:
        def case(name, shape, eps=1e-6, edit=lambda x: x, note="", scale=1.0):
            x, residual = edit(file.random(*shape, dtype=dtype)), file.random(*shape, dtype=dtype, scale=scale)
            weight = (1 + 0.3 * file.random(shape[-1], dtype="f32")).to(DTYPES[dtype])
            file.add(name, dtype, run(eps), {"eps": eps}, note, x=x, residual=residual, weight=weight)
        case("plain", (2, 5, 64), scale=3.0)
        case("tail", (1, 7, 67))
        case("long", (2, 1031), eps=1e-5)
        case("extreme", (6, 40), edit=lambda x: with_extremes(x, dtype))
        case("special", (5, 17), edit=with_specials)
    file.write()


def angles(file, dtype, batch, positions, head_dim, theta=10000.0, factor=1.0):
    """cos and sin as the reference makes them for these positions (factor: yarn's attention factor)."""
    config = transformers.Qwen3Config(head_dim=head_dim, rope_parameters={"rope_type": "default", "rope_theta": theta})
    rotary = reference.Qwen3RotaryEmbedding(config)
    rotary.attention_scaling = factor
    ids = torch.tensor(positions)[None].expand(batch, -1)
    cos, sin = rotary(torch.zeros(1, dtype=DTYPES[dtype]), ids)
    return cos.contiguous(), sin.contiguous()


def rope_file():
    file = File("rope")

    def run(x, cos, sin):
        return reference.apply_rotary_pos_emb(x, x, cos, sin)[0]

    for dtype in DTYPES:
        def case(name, shape, positions, note="", edit=lambda x: x, **more):
            cos, sin = angles(file, dtype, shape[0], positions, shape[-1], **more)
            file.add(name, dtype, run, {}, note, x=edit(file.random(*shape, dtype=dtype)), cos=cos, sin=sin)
        case("plain", (2, 4, 5, 16), range(5))
        case("tail", (1, 3, 7, 10), range(7), note="5 pairs")
        case("two", (1, 1, 3, 2), range(3), note="one pair")
        case("one_token", (3, 2, 1, 64), [41], note="decode")
        case("far", (1, 2, 4, 32), [0, 1000, 32767, 131071], theta=1e6)
        case("factor", (1, 2, 3, 24), [0, 9, 30], factor=1.1386, note="cos and sin carry yarn's factor")
        case("extreme", (1, 2, 3, 8), range(3), edit=lambda x: with_extremes(x, dtype) * 0.25)
        case("special", (1, 1, 5, 8), range(5), edit=with_specials)
    file.write()


def qk_norm_rope_file():
    file = File("qk_norm_rope")
    for dtype in DTYPES:
        def case(name, batch, heads, head_dim, positions, eps=1e-6, note="", edit=lambda x: x, **more):
            def run(x, weight, cos, sin):
                states = norm(weight, eps)(x.view(batch, len(positions), -1, head_dim)).transpose(1, 2)
                return reference.apply_rotary_pos_emb(states, states, cos, sin)[0]
            x = edit(file.random(batch, len(positions), heads * head_dim, dtype=dtype).view(-1, head_dim)).view(batch, len(positions), -1)
            weight = (1 + 0.3 * file.random(head_dim, dtype="f32")).to(DTYPES[dtype])
            cos, sin = angles(file, dtype, batch, positions, head_dim, **more)
            file.add(name, dtype, run, {"heads": heads, "eps": eps}, note, x=x, weight=weight, cos=cos, sin=sin)
        case("queries", 1, 16, 32, range(5), note="16 heads as in Qwen3-1.7B's Q, narrower", theta=1e6)
        case("keys", 1, 8, 32, range(5), note="8 heads as in its K", theta=1e6)
        case("wide", 1, 2, 128, range(9), note="one row more than a tile of 8", theta=1e6)
        case("tail", 2, 3, 10, range(7), eps=1e-5)
        case("one_token", 2, 4, 16, [517], note="decode")
        case("extreme", 1, 2, 8, range(3), edit=lambda x: with_extremes(x, dtype))
        case("special", 1, 1, 8, range(5), edit=with_specials)
    file.write()


def product_file(op, activation):
    file = File(op)
    function = ACT2FN[activation]
    for dtype in DTYPES:
        def case(name, shape, edit=lambda x: x, note="", scale=1.0):
            file.add(name, dtype, lambda gate, up: function(gate) * up, {}, note,
                     gate=edit(file.random(*shape, dtype=dtype, scale=scale)), up=file.random(*shape, dtype=dtype))
        case("plain", (2, 5, 96), scale=2.0)
        case("tail", (1, 3, 71), scale=4.0)
        case("one", (1, 1))
        sweep = torch.linspace(-12, 12, 193).to(DTYPES[dtype])
        file.add("sweep", dtype, lambda gate, up: function(gate) * up, {}, "gate from -12 to 12, up 1", gate=sweep, up=torch.ones_like(sweep))
        ends = torch.tensor([-6e4, -2e2, -100.0, -90.0, -50.0, -0.0, 0.0, 1e-6, -1e-6, 50.0, 90.0, 100.0, 2e2, 6e4]).to(DTYPES[dtype])
        file.add("extreme", dtype, lambda gate, up: function(gate) * up, {}, "where exp overflows or tanh saturates", gate=ends, up=torch.ones_like(ends))
        case("special", (5, 9), edit=with_specials)
    file.write()


def additive_mask(dtype, queries, keys, causal=True, window=0):
    """0 where a query sees a key, else the dtype's lowest value; the last query stands at the last key."""
    query = torch.arange(keys - queries, keys)[:, None]
    key = torch.arange(keys)[None]
    seen = torch.ones(queries, keys, dtype=torch.bool)
    if causal:
        seen &= key <= query
    if window:
        seen &= key > query - window
    low = torch.finfo(DTYPES[dtype]).min
    return torch.where(seen, 0.0, low).to(DTYPES[dtype])[None, None]


def softmax_file():
    file = File("scaled_masked_softmax")

    def run(scale):
        def function(scores, mask=None):  # the lines of eager_attention_forward between its two products
            weights = scores * scale
            if mask is not None:
                weights = weights + mask
            return torch.nn.functional.softmax(weights, dim=-1, dtype=torch.float32).to(scores.dtype)
        return function

    for dtype in DTYPES:
        def case(name, shape, mask, scale, note="", edit=lambda x: x, spread=3.0):
            inputs = {"scores": edit(file.random(*shape, dtype=dtype, scale=spread))}
            if mask is not None:
                inputs["mask"] = mask
            file.add(name, dtype, run(scale), {"scale": scale}, note, **inputs)
        case("causal", (2, 3, 9, 9), additive_mask(dtype, 9, 9), 0.25)
        case("window", (1, 2, 13, 13), additive_mask(dtype, 13, 13, window=4), 8**-0.5)
        case("no_mask", (1, 3, 5, 11), None, 0.3)
        case("decode", (2, 4, 1, 37), additive_mask(dtype, 1, 37), 0.125)
        case("one_key", (1, 2, 1, 1), additive_mask(dtype, 1, 1), 0.5)
        rows = additive_mask(dtype, 6, 6).repeat(2, 1, 1, 1)
        rows[1, :, :, :2] = torch.finfo(DTYPES[dtype]).min
        case("padded", (2, 2, 6, 6), rows, 0.25, "the second row's first two keys are padding: its first two queries see nothing and spread evenly",
             spread=1.0)
        case("long", (1, 1, 2, 1030), additive_mask(dtype, 2, 1030), 0.0884)

        def far(x):
            x[..., 0, :] = 300.0
            x[..., 1, 3] = 6e4
            x[..., 2, 3] = -6e4
            return x
        case("extreme", (1, 2, 5, 7), None, 1.0, "equal large scores, one far above, one far below", edit=far)
        case("special", (1, 1, 5, 8), None, 1.0, "NaN and +infinity spoil their row, -infinity is weight 0", edit=with_specials)
    file.write()


def attention_file():
    file = File("attention")
    for dtype in DTYPES:
        def case(name, batch, heads, kv, queries, keys, head_dim, causal=True, window=0, note="", scale=None, spread=1.0, masked=True):
            scale = head_dim**-0.5 if scale is None else scale

            def run(q, k, v, mask=None):
                module = types.SimpleNamespace(num_key_value_groups=heads // kv, training=False)
                return reference.eager_attention_forward(module, q, k, v, mask, scaling=scale)[0]
            inputs = dict(q=file.random(batch, heads, queries, head_dim, dtype=dtype, scale=spread),
                          k=file.random(batch, kv, keys, head_dim, dtype=dtype, scale=spread), v=file.random(batch, kv, keys, head_dim, dtype=dtype))
            if masked:
                inputs["mask"] = additive_mask(dtype, queries, keys, causal, window)
            file.add(name, dtype, run, {"scale": scale, "causal": causal, "window": window}, note, **inputs)
        case("causal", 2, 4, 2, 9, 9, 16)
        case("one_kv", 1, 6, 1, 7, 7, 10, note="all heads share one")
        case("own_kv", 1, 3, 3, 11, 11, 8)
        case("window", 1, 4, 2, 17, 17, 8, window=5)
        case("window_one", 1, 2, 1, 6, 6, 8, window=1, note="each query sees itself alone: out is v")
        case("decode", 2, 4, 2, 1, 33, 16, note="one query at the end of the cache")
        case("decode_window", 1, 4, 2, 1, 33, 8, window=7)
        case("continued", 1, 4, 2, 5, 19, 8, note="5 queries after 14 cached keys")
        case("everything", 1, 2, 1, 6, 6, 8, causal=False, masked=False, note="no mask")
        case("one", 1, 1, 1, 1, 1, 2)
        case("sharp", 1, 2, 1, 8, 8, 16, spread=2.5, note="nearly all weight on one key")
        case("wide", 1, 2, 1, 5, 5, 128)
    file.write()


def identity_router(kind, experts, **config):
    """A router whose logits are its input."""
    module = kind(types.SimpleNamespace(num_experts=experts, num_local_experts=experts, hidden_size=experts, **config))
    module.weight = torch.nn.Parameter(torch.eye(experts))
    return module


def gate_file():
    file = File("moe_gate_top_k", outputs=("weights", "indices"))

    def distinct(tokens, experts, dtype):
        """Logits from -3 to 3 of which no two in a row are equal in any dtype: which of equals an unsorted topk takes is left open."""
        rows = [torch.randperm(experts, generator=torch.Generator().manual_seed(1000 * experts + row)) for row in range(tokens)]
        return (torch.stack(rows) * (6 / experts) - 3).to(DTYPES[dtype])

    def ordered(weights, indices, choice):
        place = torch.argsort(choice.gather(1, indices), dim=-1, descending=True)
        return weights.gather(1, place), indices.gather(1, place).to(torch.int32)

    for dtype in DTYPES:
        def softmax(name, tokens, experts, k, renormalise=True, note=""):
            def run(logits):
                router = identity_router(Qwen3MoeTopKRouter, experts, num_experts_per_tok=k, norm_topk_prob=renormalise).to(DTYPES[dtype])
                _, weights, indices = router(logits)
                return ordered(weights, indices, logits)
            file.add(name, dtype, run, {"k": k, "score": "softmax", "renormalise": renormalise, "dtype": dtype}, note,
                     out_dtypes=[DTYPES[dtype], torch.int32], logits=distinct(tokens, experts, dtype))

        def sigmoid(name, tokens, experts, k, low, high, note=""):
            bias = torch.linspace(low, high, experts)[torch.randperm(experts, generator=torch.Generator().manual_seed(experts))]

            def run(logits, bias):
                router = identity_router(MiniMaxM2TopKRouter, experts, num_experts_per_tok=k).to(DTYPES[dtype])
                _, weights, indices = router(logits, bias)
                return ordered(weights, indices, logits.float().sigmoid() + bias)
            file.add(name, dtype, run, {"k": k, "score": "sigmoid", "renormalise": True}, note, out_dtypes=[torch.float32, torch.int32],
                     logits=distinct(tokens, experts, dtype), bias=bias)

        def groups(name, tokens, experts, k, count, kept, low, high, renormalise=True, scale=2.5, note=""):
            bias = torch.linspace(low, high, experts)[torch.randperm(experts, generator=torch.Generator().manual_seed(experts + 1))]

            def run(logits, bias):
                router = identity_router(DeepseekV3TopkRouter, experts, num_experts_per_tok=k, routed_scaling_factor=scale, n_group=count,
                                         topk_group=kept, norm_topk_prob=renormalise)
                router.e_score_correction_bias.copy_(bias)
                _, weights, indices = router(logits)
                return ordered(weights, indices, logits.float().sigmoid() + bias)
            attributes = {"k": k, "score": "sigmoid", "n_group": count, "topk_group": kept, "renormalise": renormalise,
                          "renormalise_eps": 1e-20, "scale": scale}
            file.add(name, dtype, run, attributes, note, out_dtypes=[torch.float32, torch.int32], logits=distinct(tokens, experts, dtype), bias=bias)
        softmax("softmax", 5, 32, 8)
        softmax("one_token", 1, 16, 2)
        softmax("many_tokens", 33, 24, 3, renormalise=False)
        softmax("one_expert", 5, 8, 1)
        softmax("every_expert", 3, 6, 6)
        sigmoid("sigmoid", 5, 32, 4, -0.5, 0.5)
        sigmoid("sigmoid_many", 33, 16, 2, 0.0, 4.0, note="the bias decides, the weights do not show it")
        sigmoid("sigmoid_negative", 5, 16, 4, -3.0, -1.5, note="every biased score is negative")
        groups("groups", 5, 32, 8, 8, 4, -0.3, 0.3)
        groups("groups_negative", 33, 24, 4, 4, 2, -3.0, -1.5, note="every biased score is negative: groups left out must not win with 0")
        groups("groups_one_expert", 5, 16, 1, 4, 1, -0.3, 0.3, renormalise=False)
    file.write()


def grouped_gemm_file():
    file = File("grouped_gemm")
    for dtype in DTYPES:
        def case(name, sizes, inner, columns, note=""):
            offsets = torch.tensor([0, *sizes]).cumsum(0).to(torch.int32)
            rows = int(offsets[-1])
            file.add(name, dtype, lambda x, weights, offsets: moe._grouped_linear(x, weights, offsets[1:].contiguous()), {}, note,
                     x=file.random(rows, inner, dtype=dtype), weights=file.random(len(sizes), columns, inner, dtype=dtype, scale=inner**-0.5),
                     offsets=offsets)
        case("plain", [2, 1, 2], 40, 32)
        case("empty", [0, 3, 0, 0, 2, 0], 32, 16)
        case("one_row", [0, 0, 1], 32, 24)
        case("all_to_one", [0, 33, 0], 24, 16)
        case("tails", [7, 1, 12, 0, 13], 72, 40)
    file.write()


def expert_ffn_file():
    file = File("expert_ffn")
    kinds = {"qwen3_moe": (Qwen3MoeExperts, "silu"), "minimax_m2": (MiniMaxM2Experts, "silu"), "gemma4": (Gemma4TextExperts, "gelu_tanh"),
             "minimax_m3": (MiniMaxM3VLExperts, "swigluoai")}
    for dtype in DTYPES:
        def case(name, family, tokens, k, experts, width=24, inner=8, choose=None, note="", spread=1.0, **swiglu):
            kind, activation = kinds[family]
            own = family == "qwen3_moe"  # weights in the model's dtype; f32 in the others
            act = "gelu_pytorch_tanh" if activation == "gelu_tanh" else "silu"
            config = types.SimpleNamespace(num_experts=experts, num_local_experts=experts, hidden_size=width, moe_intermediate_size=inner,
                                           intermediate_size=inner, hidden_act=act, hidden_activation=act, swiglu_alpha=swiglu.get("alpha"),
                                           swiglu_limit=swiglu.get("limit"), _experts_implementation="grouped_mm")
            module = kind(config)

            def run(x, weights, indices, gate_up, down):
                module.gate_up_proj, module.down_proj = torch.nn.Parameter(gate_up), torch.nn.Parameter(down)
                return moe.grouped_mm_experts_forward(module, x, indices, weights)
            order = torch.Generator().manual_seed(tokens * experts + k)
            indices = torch.stack([torch.randperm(choose or experts, generator=order)[:k] for _ in range(tokens)]).to(torch.int32)
            weights = torch.rand(tokens, k, generator=order) + 0.1
            weights = (weights / weights.sum(-1, keepdim=True)).to(DTYPES[dtype] if own else torch.float32)
            file.add(name, dtype, run, {"activation": activation, **swiglu}, note or kind.__name__, x=file.random(tokens, width, dtype=dtype, scale=spread),
                     weights=weights, indices=indices, gate_up=file.random(experts, 2 * inner, width, dtype=dtype, scale=width**-0.5),
                     down=file.random(experts, width, inner, dtype=dtype, scale=inner**-0.5))
        case("qwen3_moe", "qwen3_moe", 5, 2, 4)
        case("one_token", "qwen3_moe", 1, 3, 4)
        case("many_tokens", "qwen3_moe", 33, 2, 4, 16, 16)
        case("all_to_one", "qwen3_moe", 9, 1, 3, 16, 16, choose=1, note="two experts without tokens")
        case("minimax_m2", "minimax_m2", 5, 3, 4)
        case("gemma4", "gemma4", 5, 2, 4)
        case("minimax_m3", "minimax_m3", 5, 2, 4, alpha=1.702, limit=7.0)
        case("clamped", "minimax_m3", 5, 2, 3, alpha=1.5, limit=0.75, spread=2.0, note="many gates and ups beyond the limit")
    file.write()


def main():
    torch.set_num_threads(1)
    rms_norm_file()
    add_rms_norm_file()
    rope_file()
    qk_norm_rope_file()
    product_file("silu_mul", "silu")
    product_file("gelu_mul", "gelu_pytorch_tanh")
    softmax_file()
    attention_file()
    gate_file()
    grouped_gemm_file()
    expert_ffn_file()


if __name__ == "__main__":
    main()
