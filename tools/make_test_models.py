#!/usr/bin/env python3
"""Makes the small random-weight models of tests/models/data with the reference implementation, each with its golden.

    make_test_models.py [--only NAME …]        # from the repository's root; the table is tools/test_models.py

Each directory holds config.json, weights and golden.safetensors; its golden is made from the files as they lie there, after the
edits of the table (older spellings, missing fields, contradicting tensors). A model is accepted only if what it stands for
matters: every edit under `differs` must move the logits by at least 20 times the bound of `tilewright check`
(1e-4 * max |logit|), every one under `decode_differs` must change the greedy tokens, every one under `same` must change nothing;
logits have a standard deviation of 1 to 4.5, the first token moves the last logits, the greedy tokens vary, and no greedy token
is decided by less than twice the bound. Seeds are tried in order until all of this holds. README.md lists the effects.
"""
import argparse
import copy
import json
import pathlib
import shutil
import tempfile

import make_golden  # first: it switches the network off
import torch
import transformers
from safetensors.torch import load_file
from safetensors_writer import save_tensors
from test_models import MODELS

DATA = pathlib.Path("tests/models/data")
CONFIGS = {"qwen3": transformers.Qwen3Config, "qwen2": transformers.Qwen2Config, "llama": transformers.LlamaConfig}
BOUND = 1e-4  # of max |logit|, in f32


class Rejected(Exception):
    pass


def require(condition, why):
    if not condition:
        raise Rejected(why)


@torch.no_grad()
def randomise(model, seed):
    """Weights under which every part counts: attention scores and logits spread, norms away from one, biases from zero."""
    generator = torch.Generator().manual_seed(seed)
    gains = {"q_proj": 1.2, "k_proj": 1.2, "v_proj": 1.0, "o_proj": 1.0, "gate_proj": 1.2, "up_proj": 1.0, "down_proj": 1.0, "lm_head": 2.0}
    for name, parameter in model.named_parameters():
        part = name.split(".")[-2]
        noise = torch.randn(parameter.shape, generator=generator)
        if "norm" in part:
            centre = 1.2 if part in ("q_norm", "k_norm") else 1.0
            parameter.copy_((centre + 0.25 * noise).clamp(0.2))
        elif name.endswith("bias"):
            parameter.copy_(0.4 * noise)
        elif part == "embed_tokens":
            tied = model.config.tie_word_embeddings
            parameter.copy_(noise * (2.0 / model.config.hidden_size**0.5 if tied else 1.0))
        else:
            parameter.copy_(noise * gains[part] / parameter.shape[1] ** 0.5)


def read_directory(directory):
    config = json.loads((directory / "config.json").read_text())
    tensors = {}
    for file in sorted(directory.glob("model*.safetensors")):
        tensors |= load_file(file)
    return config, tensors


def write_config(config, directory):
    (directory / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def edit_directory(directory, edit):
    """Applies an edit of the table; weight files are written anew only if a tensor changed."""
    config, tensors = read_directory(directory)
    before = dict(tensors)
    edit(config, tensors)
    write_config(config, directory)
    if before.keys() != tensors.keys() or any(before[name] is not tensors[name] for name in tensors):
        for file in directory.glob("model*.safetensors*"):
            file.unlink()
        save_tensors(tensors, directory / "model.safetensors", {"format": "pt"})


def variant_of(directory, edit, scratch):
    target = pathlib.Path(tempfile.mkdtemp(dir=scratch)) / "model"
    shutil.copytree(directory, target)
    edit_directory(target, edit)
    return target


def recompute(directory, ids, greedy):
    """The token after each prefix of input and greedy continuation, every prefix run by a fresh model without a cache."""
    whole = torch.cat([ids, greedy], 1)
    steps = range(ids.shape[1], whole.shape[1])
    return torch.stack([make_golden.forward(directory, whole[:, :step])[:, -1].argmax(-1) for step in steps], 1)


def make(model, seed, scratch):
    """One attempt: the finished directory and its row of facts."""
    directory = pathlib.Path(tempfile.mkdtemp(dir=scratch)) / model.name
    config = CONFIGS[model.family](bos_token_id=0, eos_token_id=1, **copy.deepcopy(model.config))
    network = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    randomise(network, seed)
    network = network.to(model.dtype)
    network.config.dtype = model.dtype
    network.save_pretrained(directory, max_shard_size=model.shard_size or "1GB")
    (directory / "generation_config.json").unlink(missing_ok=True)
    if model.edit:
        edit_directory(directory, model.edit)
    else:
        write_config(read_directory(directory)[0], directory)

    ids = torch.randint(0, config.vocab_size, (model.batch, model.tokens), generator=torch.Generator().manual_seed(seed + 1000))
    golden = make_golden.write_golden(directory, ids, model.new_tokens, directory / "golden.safetensors")
    logits, greedy = golden["logits"], golden["greedy_ids"]
    bound = BOUND * logits.abs().max().item()
    spread = logits.std().item()
    require(1.0 <= spread <= 4.5, f"logits have a standard deviation of {spread:.2f}")
    require(golden["top2_gap"].min() > 2 * bound, "a greedy token is nearly undecided")
    require(min(len(set(row.tolist())) for row in greedy) >= min(3, model.new_tokens), "the continuation repeats itself")
    if model.tokens > 1 and "window" not in model.name:
        other = ids.clone()
        other[:, 0] = (other[:, 0] + 1) % config.vocab_size
        moved = (make_golden.forward(directory, other)[:, -1] - logits[:, -1]).abs().amax(-1).min()
        require(moved > 20 * bound, "the first token does not reach the last logits")
    recomputed = recompute(directory, ids, greedy)
    require(torch.equal(recomputed, greedy) != model.recompute_differs, "cached and recomputed continuation")

    effects = []
    for label, edit in model.differs.items():
        effect = (make_golden.forward(variant_of(directory, edit, scratch), ids) - logits).abs().max().item()
        require(effect > 20 * bound, f"{label}: moves the logits by {effect:.2g} only")
        effects.append(f"{label}: {effect:.2g}")
    for label, edit in model.decode_differs.items():
        other, _ = make_golden.greedy(variant_of(directory, edit, scratch), ids, model.new_tokens)
        require(not torch.equal(other, greedy), f"{label}: same tokens")
        first = (other != greedy).any(0).nonzero()[0].item()
        effects.append(f"{label}: greedy differs from step {first}")
    for label, edit in model.same.items():
        effect = (make_golden.forward(variant_of(directory, edit, scratch), ids) - logits).abs().max().item()
        require(effect == 0, f"{label}: moves the logits by {effect:.2g}, should not")
        effects.append(f"{label}: none")
    if model.recompute_differs:
        first = (recomputed != greedy).any(0).nonzero()[0].item()
        effects.append(f"recomputed instead of cached: greedy differs from step {first}")
    facts = dict(name=model.name, what=model.what, file=str(model.dtype).split(".")[1], shape=f"{model.batch} × {model.tokens} + {model.new_tokens}",
                 largest=logits.abs().max().item(), spread=spread, bf16=golden["bf16_error"].item(), effects=effects, seed=seed)
    return directory, facts


def readme(rows):
    lines = ["# Models of the tests", "",
             "Small models with random weights and goldens of the reference implementation (" + make_golden.reference_versions() + ").",
             "This file is written by `python3 tools/make_test_models.py`; `bard_texts.json` comes from `tools/make_bard_goldens.py`, `trace_*.json`",
             "from `tools/trace_layer.py`. Columns: batch × tokens + new tokens; the largest |logit| and the logits' standard deviation; the",
             "reference's own bf16 error; and how much the logits move when the feature is changed (bound of `check`: 1e-4 of the largest).",
             "", "| directory | shows | file | input | max, std | bf16 error | effect of an edit on the logits |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        lines.append(f"| `{row['name']}` | {row['what']} | {row['file']} | {row['shape']} | {row['largest']:.1f}, {row['spread']:.1f} | "
                     f"{row['bf16']:.3f} | {'; '.join(row['effects'])} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", help="try these alone and print the facts; nothing is written")
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows, failed = [], []
    for model in MODELS:
        if args.only and model.name not in args.only:
            continue
        for seed in range(model.seed, model.seed + 20):
            with tempfile.TemporaryDirectory() as scratch:
                try:
                    directory, facts = make(model, seed, scratch)
                except Rejected as why:
                    print(f"{model.name} seed {seed}: {why}", flush=True)
                    continue
                if not args.only:
                    target = DATA / model.name
                    shutil.rmtree(target, ignore_errors=True)
                    shutil.copytree(directory, target)
                print(model.name, "seed", seed, json.dumps(facts["effects"], ensure_ascii=False), f"std {facts['spread']:.2f} bf16 {facts['bf16']:.3f}", flush=True)
                rows.append(facts)
                break
        else:
            failed.append(model.name)
    if failed:
        raise SystemExit(f"no seed does for {failed}")
    if not args.only:
        (DATA / "README.md").write_text(readme(rows))


if __name__ == "__main__":
    main()
