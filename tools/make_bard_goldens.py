#!/usr/bin/env python3
"""Writes the goldens of the model that ships, assets/bard.

    make_bard_goldens.py        # from the repository's root

  * assets/bard/golden.safetensors: the format of make_golden.py, one prompt of 24 tokens, 32 new tokens.
  * tests/models/data/bard_texts.json: 8 prompts, each run alone in float32: prompt, prompt_ids, greedy_ids (40, end tokens ignored), text (the
    decoded greedy_ids) and top2_gap, the smallest gap between the two best logits along the way.
"""
import json
import pathlib

import torch
from transformers import AutoTokenizer

import make_golden

MODEL = pathlib.Path("assets/bard")
DATA = pathlib.Path("tests/models/data")
PASSAGE = ("Now is the winter of our discontent\nMade glorious summer by this sun of York;\n"
           "And all the clouds that lour'd upon our house")
PROMPTS = [
    "To be, or not",
    "HAMLET: O, what a rogue and peasant slave am I!\n",
    "Good morrow, my lord. What news",
    "KING HENRY VI\n",
    "'Tis the night\u2019s 3rd hour \u2014 enter ROMEO & caf\u00e9 \u5b57",
    "  Enter a Messenger.\n\nMessenger.  My",
    "A",
    PASSAGE,
]


def main():
    torch.set_num_threads(1)
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    ids = make_golden.prompt_ids(MODEL, [PASSAGE], 24)
    assert ids.shape == (1, 24)
    make_golden.write_golden(MODEL, ids, 32, MODEL / "golden.safetensors")
    texts = []
    for prompt in PROMPTS:
        ids = make_golden.prompt_ids(MODEL, [prompt])
        assert tokenizer.decode(ids[0]) == prompt
        greedy, gap = make_golden.greedy(MODEL, ids, 40)
        texts.append({"prompt": prompt, "prompt_ids": ids[0].tolist(), "greedy_ids": greedy[0].tolist(),
                      "text": tokenizer.decode(greedy[0]), "top2_gap": round(gap.min().item(), 6)})
        print(json.dumps(texts[-1]["text"]), texts[-1]["top2_gap"])
    document = {"reference": make_golden.reference_versions(), "dtype": "float32", "model": str(MODEL), "texts": texts}
    lines = json.dumps(document, indent=1, ensure_ascii=False)
    (DATA / "bard_texts.json").write_text(lines + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
