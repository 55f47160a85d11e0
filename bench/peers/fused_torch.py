#!/usr/bin/env python3
"""torch as an opponent of bench/fused: operators of a decoder layer, eager and compiled.

It answers one line of JSON per line on stdin: first {"ready": ...}, then {"seconds": ...}, the time of a call in a sample
of some milliseconds, for
    OP ROWS DTYPE MODE        rms_norm 128 bf16 compile
MODE is eager (the quickest of the ways to write it), compile (of the plain way), or a mode that torch.compile knows (max-autotune). The first
use of a line compiles and warms up. A line that fails is answered with {"error": ...}.
"""
import argparse
import json
import sys
import time

SAMPLE = 0.004
HEADS, KEY_HEADS, WIDTH, HIDDEN, INTERMEDIATE, POSITIONS = 16, 8, 128, 2048, 6144, 512
EPS = 1e-6


def ways(torch, op, rows, dtype):
    """(functions that compute the same, inputs): the first is what the reference implementation writes."""
    functional = torch.nn.functional

    def random(*shape):
        return torch.randn(*shape, dtype=torch.float32).to(dtype)

    def norm(x, weight):
        wide = x.to(torch.float32)
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPS)
        return weight * wide.to(x.dtype)

    def half_turned(x):
        return torch.cat((-x[..., x.shape[-1] // 2:], x[..., :x.shape[-1] // 2]), dim=-1)

    def native_norm(x, weight):
        return functional.rms_norm(x, (x.shape[-1],), weight, EPS)

    if op == "rms_norm":
        return (norm, native_norm), (random(1, rows, HIDDEN), random(HIDDEN))
    if op == "silu_mul":
        return (lambda gate, up: functional.silu(gate) * up,), (random(1, rows, INTERMEDIATE), random(1, rows, INTERMEDIATE))
    if op == "qk_norm_rope":
        def make(normed):
            def function(q, k, q_weight, k_weight, cos, sin):
                q = normed(q.view(1, rows, HEADS, WIDTH), q_weight).transpose(1, 2)
                k = normed(k.view(1, rows, KEY_HEADS, WIDTH), k_weight).transpose(1, 2)
                cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
                return q * cos + half_turned(q) * sin, k * cos + half_turned(k) * sin
            return function
        return (make(norm), make(native_norm)), (random(1, rows, HEADS * WIDTH), random(1, rows, KEY_HEADS * WIDTH),
                                                 random(WIDTH), random(WIDTH), random(1, rows, WIDTH), random(1, rows, WIDTH))
    if op == "softmax":
        columns = max(POSITIONS, rows)
        hidden = torch.arange(columns)[None, :] > torch.arange(rows)[:, None] + columns - rows
        mask = torch.zeros(1, 1, rows, columns, dtype=dtype).masked_fill(hidden, torch.finfo(dtype).min)

        def softmax(scores, mask):
            return functional.softmax(scores * WIDTH ** -0.5 + mask, dim=-1, dtype=torch.float32).to(scores.dtype)

        def native_softmax(scores, mask):
            return functional.softmax(scores * WIDTH ** -0.5 + mask, dim=-1)
        return (softmax, native_softmax), (random(1, HEADS, rows, columns), mask)
    if op == "attention":  # one row stands behind a cache, more are a prompt
        columns = POSITIONS if rows == 1 else rows

        def attention(q, k, v):
            return functional.scaled_dot_product_attention(q, k, v, is_causal=rows > 1, enable_gqa=True).transpose(1, 2)
        return (attention,), (random(1, HEADS, rows, WIDTH), random(1, KEY_HEADS, columns, WIDTH),
                              random(1, columns, KEY_HEADS, WIDTH).transpose(1, 2))
    raise ValueError(f"no operator {op}")


def run(function, inputs, calls):
    start = time.perf_counter()
    for _ in range(calls):
        function(*inputs)
    return (time.perf_counter() - start) / calls


class Work:
    def __init__(self, torch, op, rows, dtype, mode):
        functions, self.inputs = ways(torch, op, rows, {"bf16": torch.bfloat16, "f32": torch.float32}[dtype])
        if mode != "eager":
            options = {} if mode == "compile" else {"mode": mode}
            functions = [torch.compile(functions[0], dynamic=False, **options)]
        timed = []
        for function in functions:
            run(function, self.inputs, 5)
            timed.append((min(run(function, self.inputs, 5) for _ in range(3)), function))
        once, self.function = min(timed, key=lambda pair: pair[0])
        self.calls = max(3, int(SAMPLE / once))

    def seconds(self):
        run(self.function, self.inputs, 2)  # wakes its threads
        return run(self.function, self.inputs, self.calls)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    import torch
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    print(json.dumps({"ready": f"torch {torch.__version__}", "isa": torch.backends.cpu.get_cpu_capability(),
                      "threads": torch.get_num_threads()}), flush=True)
    torch._dynamo.config.recompile_limit = 64  # dtypes and modes of one function
    works, current = {}, None
    with torch.inference_mode():
        for line in sys.stdin:
            words = tuple(line.split())
            if not words:
                continue
            try:
                if words not in works:
                    op, rows, dtype, mode = words
                    if (op, rows) != current:  # nothing old is searched or kept
                        works.clear()
                        torch._dynamo.reset()
                        current = (op, rows)
                    works[words] = Work(torch, op, int(rows), dtype, mode)
                print(json.dumps({"seconds": works[words].seconds()}), flush=True)
            except Exception as error:  # the peer's failure is the driver's news, not its end
                print(json.dumps({"error": f"{type(error).__name__}: {error}".splitlines()[0]}), flush=True)


if __name__ == "__main__":
    main()
