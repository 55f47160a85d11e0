#!/usr/bin/env python3
"""Writes the golden of a model directory: what `tilewright check` compares a run with (format: DESIGN, "Models and weights").

    make_golden.py MODEL_DIR --output golden.safetensors --tokens 24 --batch 2 --seed 1 --new-tokens 12
    make_golden.py MODEL_DIR --output golden.safetensors --prompts "To be, or not" "Good morrow" --new-tokens 32

The reference is transformers' AutoModelForCausalLM with eager attention. Code from the model directory is never run.
  * logits: one forward over the whole input, float32 arithmetic (f16 and bf16 files are widened first).
  * greedy_ids: `generate` of the reference with its own cache, end tokens ignored. With dynamic NTK scaling the rotation base
    grows with every token while cached keys keep their old rotation; that continuation is the one stored, not a recomputed one.
  * top2_gap: best minus second-best logit at each of these steps.
  * bf16_error: the largest |logit difference| between the reference's own bfloat16 run on the same input and `logits`.
Each of the three runs uses a freshly loaded model, because a dynamic rotation remembers the longest input it has seen.
Inputs are random ids (--tokens, --batch, --seed), or prompts in the directory's tokenizer, cut to the shortest (or to --tokens).
"""
import argparse
import json
import os
import pathlib

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
import torch
import transformers

from safetensors_writer import save_tensors

transformers.utils.logging.disable_progress_bar()


def reference_versions():
    return f"transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}"


def load(directory, dtype=torch.float32):
    model = transformers.AutoModelForCausalLM.from_pretrained(directory, dtype=dtype, attn_implementation="eager")
    model.generation_config = transformers.GenerationConfig()  # nothing of the model's own may steer the greedy run
    return model.eval()


@torch.no_grad()
def forward(directory, input_ids, dtype=torch.float32):
    """Logits [B, S, V], widened to float32, of one forward without a cache."""
    return load(directory, dtype)(input_ids=input_ids, use_cache=False).logits.float().contiguous()


@torch.no_grad()
def greedy(directory, input_ids, new_tokens):
    """Greedy continuation [B, N] and the gap [B, N] between the two best logits of each step."""
    settings = transformers.GenerationConfig(
        do_sample=False, num_beams=1, max_new_tokens=new_tokens, min_new_tokens=new_tokens, eos_token_id=None,
        bos_token_id=None, pad_token_id=0, use_cache=True, return_dict_in_generate=True, output_logits=True)
    out = load(directory).generate(input_ids, attention_mask=torch.ones_like(input_ids), generation_config=settings)
    ids = out.sequences[:, input_ids.shape[1]:].contiguous()
    logits = torch.stack(out.logits, dim=1).float()
    assert ids.shape == (input_ids.shape[0], new_tokens) and torch.equal(logits.argmax(-1), ids)
    best = logits.topk(2, dim=-1).values
    return ids, (best[..., 0] - best[..., 1]).contiguous()


def make_golden(directory, input_ids, new_tokens):
    """The tensors and the metadata of the golden."""
    torch.set_num_threads(1)  # the order of summation must not depend on the machine's cores
    logits = forward(directory, input_ids)
    ids, gap = greedy(directory, input_ids, new_tokens)
    error = (forward(directory, input_ids, torch.bfloat16) - logits).abs().max().reshape(1)
    assert torch.isfinite(logits).all() and torch.isfinite(error).all()
    config = json.loads((pathlib.Path(directory) / "config.json").read_text())
    tensors = {"input_ids": input_ids, "logits": logits, "greedy_ids": ids, "top2_gap": gap, "bf16_error": error}
    metadata = {"format": "tilewright-golden-1", "reference": reference_versions(), "dtype": "float32",
                "model_type": config["model_type"]}
    return tensors, metadata


def write_golden(directory, input_ids, new_tokens, output):
    tensors, metadata = make_golden(directory, input_ids, new_tokens)
    save_tensors(tensors, output, metadata)
    return tensors


def random_ids(directory, tokens, batch, seed):
    config = transformers.AutoConfig.from_pretrained(directory)
    vocabulary = config.get_text_config().vocab_size
    return torch.randint(0, vocabulary, (batch, tokens), generator=torch.Generator().manual_seed(seed))


def prompt_ids(directory, prompts, tokens=None):
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    rows = [tokenizer(prompt)["input_ids"] for prompt in prompts]
    length = min([len(row) for row in rows] + ([tokens] if tokens else []))
    return torch.tensor([row[:length] for row in rows])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--prompts", nargs="+", help="texts, one row each")
    parser.add_argument("--tokens", type=int, help="length of every row (random ids: 24)")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--new-tokens", type=int, default=16)
    args = parser.parse_args()
    if args.prompts:
        ids = prompt_ids(args.model, args.prompts, args.tokens)
    else:
        ids = random_ids(args.model, args.tokens or 24, args.batch, args.seed)
    tensors = write_golden(args.model, ids, args.new_tokens, args.output)
    print(f"{args.output}: input {list(ids.shape)}, max |logit| {tensors['logits'].abs().max():.3f}, "
          f"bf16 error {tensors['bf16_error'].item():.4f}, smallest top-2 gap {tensors['top2_gap'].min():.4f}")


if __name__ == "__main__":
    main()
