#!/usr/bin/env python3
"""Writes the launches of one decoder layer as an eager framework makes them, from a torch profiler trace of the reference
implementation: bf16, eager attention, no cache, the causal mask as the model makes it, one prompt of 5 tokens.

    trace_layer.py        # from the repository's root; writes tests/models/data/trace_<family>.json

What counts as a launch, walking the trace from the outside inwards:
  * Views (view, transpose, expand, slice, select, …) and allocation (empty, empty_like, …) are free.
  * Operators that only stand for others (linear, matmul, softmax, to, reshape, contiguous, dropout, …) are entered. So a
    linear layer is `mm`, with bias `addmm`, attention's products are `bmm`, with the weight as mm sees it: [in, out].
  * Every other operator is one launch and is not entered: `mean` is one, although the CPU does sum and div_ for it.
  * A `to` that changes the dtype is one launch, "to"; one that changes nothing is none. A reshape or contiguous that has to copy
    is one launch, "copy". An inactive dropout is none. `_softmax` is written "softmax".
  * A Python number beside a tensor is no input; it is listed under "scalars".
Each launch has: op (as in aten, without overload), called (the outermost aten operator it stands for), path (the module, inside
the layer), inputs and outputs as [dtype, shape]. The profiler gives order, names, inputs and modules; outputs, scalars and a
check of all of these come from a second run under a dispatch mode, which sees the same operators from the other side.
Lists: launches (one layer; both layers of the model must give the same), embedding, rotary (cos and sin, once a forward), mask
(the reference's own way to make it; ours may differ), head (final norm and lm_head).
"""
import json
import os
import pathlib
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import torch
import transformers
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from make_golden import reference_versions

DATA = pathlib.Path("tests/models/data")
FAMILIES = {"qwen3": transformers.Qwen3Config, "qwen2": transformers.Qwen2Config, "llama": transformers.LlamaConfig}
SIZES = dict(hidden_size=32, num_attention_heads=4, num_key_value_heads=2, head_dim=8, num_hidden_layers=2, intermediate_size=48,
             vocab_size=64, max_position_embeddings=64, bos_token_id=0, eos_token_id=1)
BATCH, TOKENS = 1, 5

FREE = {"view", "_unsafe_view", "_reshape_alias", "view_as", "transpose", "t", "permute", "expand", "slice", "select", "narrow", "unsqueeze",
        "squeeze", "alias", "detach", "split", "chunk", "unbind", "as_strided", "empty", "empty_like", "empty_strided", "resize_",
        "result_type", "resolve_conj", "lift_fresh"}
ENTERED = {"linear", "matmul", "softmax", "to", "reshape", "contiguous", "dropout", "flatten", "diff", "type_as", "is_nonzero"}
RENAMED = {"_to_copy": "to", "clone": "copy", "_softmax": "softmax", "_local_scalar_dense": "item"}
DTYPES = {"c10::BFloat16": "bf16", "float": "f32", "long int": "i64", "bool": "bool"}
TORCH_DTYPES = {torch.bfloat16: "bf16", torch.float32: "f32", torch.int64: "i64", torch.bool: "bool"}


def tiny_model(family):
    torch.manual_seed(1)
    config = FAMILIES[family](**SIZES)
    return transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16, attn_implementation="eager").eval()


def mark_modules(model):
    """Every module's forward becomes a range "module:<path>" of the trace."""
    for name, module in model.named_modules():
        open_ranges = []

        def enter(module, arguments, name=name, open_ranges=open_ranges):
            open_ranges.append(torch.profiler.record_function("module:" + name))
            open_ranges[-1].__enter__()

        def leave(module, arguments, output, open_ranges=open_ranges):
            open_ranges.pop().__exit__(None, None, None)

        module.register_forward_pre_hook(enter)
        module.register_forward_hook(leave)


def profile(model, ids):
    """The trace's operator and module events as a forest of {name, args, children}."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profiler:
        model(ids, use_cache=False)
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch) / "trace.json"
        profiler.export_chrome_trace(str(file))
        events = json.loads(file.read_text())["traceEvents"]
    events = [e for e in events if e.get("ph") == "X" and e.get("cat") in ("cpu_op", "user_annotation")]
    events.sort(key=lambda e: (e["ts"], -e["dur"]))
    roots, stack = [], []
    for event in events:
        while stack and event["ts"] >= stack[-1]["end"]:
            stack.pop()
        node = {"name": event["name"], "args": event["args"], "end": event["ts"] + event["dur"], "children": []}
        (stack[-1]["children"] if stack else roots).append(node)
        stack.append(node)
    return roots


def profiled_inputs(node):
    inputs = []
    for shape, kind in zip(node["args"].get("Input Dims", []), node["args"].get("Input type", [])):
        if kind == "TensorList":
            inputs += [["list", one] for one in shape]
        elif kind in DTYPES:
            inputs.append([DTYPES[kind], shape])
    return inputs


def launches_of(nodes, path="", called=None):
    result = []
    for node in nodes:
        if node["name"].startswith("module:"):
            result += launches_of(node["children"], node["name"][len("module:"):])
            continue
        if not node["name"].startswith("aten::"):
            result += launches_of(node["children"], path, called)
            continue
        name = node["name"][len("aten::"):]
        outermost = called or name
        if name in FREE:
            continue
        if name in ENTERED or name == "item":
            result += launches_of(node["children"], path, outermost)
        else:
            result.append({"op": RENAMED.get(name, name), "called": outermost, "path": path, "inputs": profiled_inputs(node)})
    return result


class Recorder(TorchDispatchMode):
    """The operators that reach the dispatcher's end, with outputs and scalars."""

    def __init__(self):
        super().__init__()
        self.launches = []

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        output = function(*arguments, **(keywords or {}))
        name = function._schema.name.split("::")[1]
        if name not in FREE:
            describe = lambda values: [[TORCH_DTYPES[v.dtype], list(v.shape)] for v in tree_leaves(values) if isinstance(v, torch.Tensor)]
            scalars = [a for a in arguments if isinstance(a, (int, float)) and not isinstance(a, bool)]
            self.launches.append({"op": RENAMED.get(name, name), "inputs": describe(arguments), "outputs": describe(output),
                                  "scalars": scalars if name in ("pow", "add", "mul") else []})
        return output


def merge(profiled, recorded):
    """The profiler's list with outputs and scalars of the other; both must tell the same story."""
    assert [l["op"] for l in profiled] == [l["op"] for l in recorded], "profiler and dispatcher see different launches"
    result = []
    for one, other in zip(profiled, recorded):
        shapes = lambda launch: [shape for _, shape in launch["inputs"]]
        assert shapes(one) == shapes(other), (one, other)
        kinds = lambda launch: [kind for kind, _ in launch["inputs"]]
        assert "list" in kinds(one) or kinds(one) == kinds(other), (one, other)
        merged = {**one, "inputs": other["inputs"], "outputs": other["outputs"]}
        if other["scalars"]:
            merged["scalars"] = other["scalars"]
        result.append(merged)
    return result


def section_of(path):
    for prefix, name in (("model.embed_tokens", "embedding"), ("model.rotary_emb", "rotary"), ("model.layers.", "layer"),
                         ("model.norm", "head"), ("lm_head", "head")):
        if path.startswith(prefix):
            return name
    return "mask"


@torch.no_grad()
def trace(family):
    ids = torch.randint(0, SIZES["vocab_size"], (BATCH, TOKENS), generator=torch.Generator().manual_seed(1))
    model = tiny_model(family)
    model(ids, use_cache=False)
    with Recorder() as recorder:
        model(ids, use_cache=False)
    mark_modules(model)
    profiled = launches_of(profile(model, ids))
    # The mask is made of more numbers than tensors and is only listed, not checked: compare what lies before and after it.
    first = next(i for i, l in enumerate(profiled) if section_of(l["path"]) == "rotary")
    tail = len(profiled) - first
    assert section_of(profiled[0]["path"]) == "embedding"
    merged = merge(profiled[:1], recorder.launches[:1]) + profiled[1:first] + merge(profiled[first:], recorder.launches[-tail:])
    sections = {"embedding": [], "mask": [], "rotary": [], "layer": [], "head": []}
    for launch in merged:
        sections[section_of(launch["path"])].append(launch)
    layers = [[], []]
    for launch in sections.pop("layer"):
        _, _, number, *rest = launch["path"].split(".")
        layers[int(number)].append({**launch, "path": ".".join(rest)})
    assert layers[0] == layers[1], "the two layers differ"
    for launch in [l for section in sections.values() for l in section]:
        launch["path"] = launch["path"].removeprefix("model.")
    return {"family": family, "reference": reference_versions(), "dtype": "bf16", "attention": "eager", "batch": BATCH, "tokens": TOKENS,
            "config": SIZES, "launches": layers[0], **sections}


def write(document, path):
    lines = []
    for key, value in document.items():
        if isinstance(value, list):
            rows = ",\n".join("  " + json.dumps(launch) for launch in value)
            lines.append(f" {json.dumps(key)}: [\n{rows}\n ]")
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(value)}")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main():
    torch.set_num_threads(1)
    for family in FAMILIES:
        document = trace(family)
        write(document, DATA / f"trace_{family}.json")
        print(family, {key: len(value) for key, value in document.items() if isinstance(value, list)})
        for launch in document["launches"]:
            shown = " ".join(f"{kind}{shape}" for kind, shape in launch["inputs"])
            print(f"  {launch['path']:28} {launch['op']:8} {shown} -> {launch['outputs'][0][0]}{launch['outputs'][0][1]} {launch.get('scalars', '')}")


if __name__ == "__main__":
    main()
