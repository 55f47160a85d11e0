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
    raise ValueError(op)
