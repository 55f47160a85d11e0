"""Writes tests/ops_small/data/stride_cases.json: the strides torch gives the outputs of elementwise ops, casts and folds
whose operands are views. Needs torch: python3 tools/make_stride_cases.py [OUTPUT]"""
import itertools
import json
import random
import sys

import torch


def views(shape, rng):
    """A random view of `shape` over fresh memory: dims permuted in memory, sliced, or expanded."""
    order = list(range(len(shape)))
    rng.shuffle(order)
    memory = [shape[i] for i in order]
    padded = [n + (2 if rng.random() < 0.2 else 0) for n in memory]
    expanded = [rng.random() < 0.15 for _ in memory]
    base = torch.zeros([1 if e else n for n, e in zip(padded, expanded)])
    base = base.expand(padded)
    for axis, n in enumerate(memory):
        base = base.narrow(axis, 0, n)
    return base.permute([order.index(i) for i in range(len(shape))])


def describe(tensor):
    return {"shape": list(tensor.shape), "strides": list(tensor.stride())}


def main():
    rng = random.Random(7)
    cases = []

    def add(op, inputs, out, **more):
        cases.append({"op": op, "inputs": [describe(t) for t in inputs], **more, **describe(out)})

    for _ in range(120):
        shape = [rng.choice([1, 2, 3, 5, 8]) for _ in range(rng.choice([2, 3, 4]))]
        a, b = views(shape, rng), views(shape, rng)
        if rng.random() < 0.4:
            cut = rng.randrange(len(shape))
            b = views([1 if rng.random() < 0.4 else n for n in shape[cut:]], rng)
        add("neg", [a], -a)
        add("mul", [a, b], a * b)
        add("mul", [b, a], b * a)
        add("to", [a], a.to(torch.bfloat16))
        dim = rng.randrange(len(shape))
        add("softmax", [a], torch.softmax(a, dim), dim=dim)
        add("mean", [a], a.mean(dim), dim=dim)
    # Those of a decoder layer: heads transposed, halves of the last dim, tables without batch or heads.
    for b, h, s, d in itertools.product([1, 2], [1, 4], [1, 5], [8]):
        x = torch.zeros(b, s, h, d).transpose(1, 2)
        table = torch.zeros(1, 1, s, d)
        add("mul", [x, table], x * table)
        add("neg", [x[..., d // 2:]], -x[..., d // 2:])
        add("to", [x], x.to(torch.bfloat16))
        add("add", [x * table, table * x], (x * table) + (table * x))
        row = torch.zeros(b, s, h * d)
        add("mul", [row, torch.zeros(h * d)], row * torch.zeros(h * d))
        add("mul", [row, row.mean(-1, keepdim=True)], row * row.mean(-1, keepdim=True))
    path = sys.argv[1] if len(sys.argv) > 1 else "tests/ops_small/data/stride_cases.json"
    with open(path, "w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")


if __name__ == "__main__":
    main()
