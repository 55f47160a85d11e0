"""The composite operators by their formulas, in float64: what the goldens' values would be without rounding."""
import math

import torch


def rms(x, weight, eps):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * weight


def rotate(x, cos, sin):
    half = x.shape[-1] // 2
    first, second = x[..., :half], x[..., half:]
    cos, sin = cos[:, None, :, :half], sin[:, None, :, :half]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


def masked_softmax(scores, mask, scale):
    """A row in which nothing is seen spreads evenly."""
    scores = scores * scale
    if mask is not None:
        unseen = (mask < -1e4).expand(scores.shape)
        nothing = unseen.all(-1, keepdim=True)
        scores = torch.where(nothing, 0.0, torch.where(unseen, -math.inf, scores))
    return torch.softmax(scores, -1)


def attend(q, k, v, mask, scale):
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
    return (masked_softmax(q @ k.transpose(-1, -2), mask, scale) @ v).transpose(1, 2)


def heads_first(x, heads):
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)


def gate(logits, bias, a):
    scores = torch.softmax(logits, -1) if a["score"] == "softmax" else torch.sigmoid(logits)
    choice = scores if bias is None else scores + bias
    count = a.get("n_group", 1)
    if count > 1:
        grouped = choice.view(len(choice), count, -1)
        best = grouped.sort(-1, descending=True).values[..., :2].sum(-1)
        kept = best.argsort(-1, descending=True)[:, : a["topk_group"]]
        stays = torch.zeros(len(choice), count, dtype=torch.bool).scatter(1, kept, True)
        choice = torch.where(stays[..., None], grouped, -math.inf).view(choice.shape)
    indices = choice.sort(dim=-1, descending=True, stable=True).indices[:, : a["k"]]
    weights = scores.gather(1, indices)
    if a["renormalise"]:
        weights = weights / (weights.sum(-1, keepdim=True) + a.get("renormalise_eps", 0))
    return [weights * a.get("scale", 1), indices]


def gated(g, u, a):
    if a["activation"] == "silu":
        return g * torch.sigmoid(g) * u
    if a["activation"] == "gelu_tanh":
        return 0.5 * g * (1 + torch.tanh(math.sqrt(2 / math.pi) * (g + 0.044715 * g**3))) * u
    g = g.clamp(max=a["limit"])
    return (u.clamp(-a["limit"], a["limit"]) + 1) * g * torch.sigmoid(a["alpha"] * g)


def experts(x, weights, indices, gate_up, down, a):
    out = torch.zeros_like(x)
    for token in range(len(x)):
        for weight, expert in zip(weights[token], indices[token].tolist(), strict=True):
            g, u = (gate_up[expert] @ x[token]).chunk(2)
            out[token] += weight * (down[expert] @ gated(g, u, a))
    return out


def exact(op, t, a):
    """Outputs in order, from inputs `t` (float64, by name) and attributes `a`."""
    if op == "rms_norm":
        return [rms(t["x"], t["weight"], a["eps"])]
    if op == "add_rms_norm":
        total = t["residual"] + t["x"]
        return [total, rms(total, t["weight"], a["eps"])]
    if op == "rope":
        return [rotate(t["x"], t["cos"], t["sin"])]
    if op == "qk_norm_rope":
        return [rotate(rms(heads_first(t["x"], a["heads"]), t["weight"], a["eps"]), t["cos"], t["sin"])]
    if op == "silu_mul":
        return [t["gate"] * torch.sigmoid(t["gate"]) * t["up"]]
    if op == "gelu_mul":
        g = t["gate"]
        return [0.5 * g * (1 + torch.tanh(math.sqrt(2 / math.pi) * (g + 0.044715 * g**3))) * t["up"]]
    if op == "scaled_masked_softmax":
        return [masked_softmax(t["scores"], t.get("mask"), a["scale"])]
    if op == "attention":
        return [attend(t["q"], t["k"], t["v"], t.get("mask"), a["scale"])]
    if op == "moe_gate_top_k":
        return gate(t["logits"], t.get("bias"), a)
    if op == "grouped_gemm":
        ends = t["offsets"].tolist()
        return [torch.cat([t["x"][b:e] @ w.T for w, b, e in zip(t["weights"], ends, ends[1:], strict=False)])]
    if op == "expert_ffn":
        return [experts(t["x"], t["weights"], t["indices"], t["gate_up"], t["down"], a)]
    raise ValueError(op)
