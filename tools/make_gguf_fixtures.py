#!/usr/bin/env python3
"""Writes tests/gguf/fixtures: GGUF files made by the `gguf` package, and what the reference implementation reads in them.

    make_gguf_fixtures.py tests/gguf/fixtures

  * blocks.safetensors: for each quantised type random blocks `<type>.blocks` (u8) and the package's `<type>.values` (f32).
  * tiny_<architecture>.gguf: a model of one layer, its matrices in different types; tiny_<architecture>.safetensors: the
    weights that transformers makes of it (`gguf_file=…`), the embedding once if the head is tied.
  * tiny_llama.gguf has a SentencePiece vocabulary; merges.json holds the merges that the reference derives from its scores.
Needs the packages torch, transformers, gguf, accelerate.
"""
import json
import os
import pathlib
import sys
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
import gguf
import numpy as np
import torch
import transformers
from transformers.tokenization_utils_base import generate_merges

from safetensors_writer import save_tensors

transformers.utils.logging.disable_progress_bar()
Type = gguf.GGMLQuantizationType
HIDDEN, INNER, HEADS, KV_HEADS, HEAD_DIM, LAYERS = 32, 64, 4, 2, 8, 1


def blocks(random):
    """Where each type keeps its f16 numbers: these get values of every size, the rest of a block is random bits."""
    halves = {Type.Q4_0: [0], Type.Q4_1: [0, 2], Type.Q5_0: [0], Type.Q5_1: [0, 2], Type.Q8_0: [0], Type.Q4_K: [0, 2], Type.Q5_K: [0, 2],
              Type.Q6_K: [208]}
    out = {}
    for kind, places in halves.items():
        size = gguf.GGML_QUANT_SIZES[kind][1]
        raw = random.integers(0, 256, (6, size), dtype=np.uint8)
        for place in places:
            values = (random.standard_normal(6) * 10.0 ** np.array([-7, -4, -2, 0, 2, 3])).astype(np.float16)
            raw[:, place:place + 2] = values.view(np.uint8).reshape(6, 2)
        out[f"{kind.name}.blocks"] = torch.from_numpy(raw.reshape(-1))
        out[f"{kind.name}.values"] = torch.from_numpy(gguf.dequantize(raw, kind).reshape(-1).copy())
    return out


def sentence_piece():
    """Byte tokens, characters and words built from them; some scores are equal."""
    tokens, scores, kinds = ["<unk>", "<s>", "</s>"], [0.0] * 3, [2, 3, 3]
    for byte in range(256):
        tokens.append(f"<0x{byte:02X}>"), scores.append(0.0), kinds.append(6)
    words = ["▁t", "he", "▁the", "▁th", "in", "er", "▁a", "▁▁", "▁▁▁▁", "the", "th", "hé", "▁hé", "▁in", "inn", "▁inner", "ner", "nn"]
    for i, word in enumerate(words):
        tokens.append(word), scores.append(-float(i // 3)), kinds.append(1)
    for i, character in enumerate("▁theinraé.,"):
        tokens.append(character), scores.append(-100.0 - i), kinds.append(1)
    return tokens, scores, kinds


def write_model(path, architecture, random):
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name("tiny")
    writer.add_context_length(128)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(10000.0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    if architecture == "llama":
        writer.add_rope_dimension_count(HEAD_DIM)
        tokens, scores, kinds = sentence_piece()
        writer.add_tokenizer_model("llama")
        writer.add_token_scores(scores)
        writer.add_unk_token_id(0)
    else:
        writer.add_key_length(HEAD_DIM)
        writer.add_value_length(HEAD_DIM)
        alphabet = list(transformers.convert_slow_tokenizer.bytes_to_unicode().values())
        tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"] + alphabet + ["Ġt", "he", "Ġthe", "<think>", "[PAD263]"]
        kinds = [3, 3, 3] + [1] * 256 + [1, 1, 1, 4, 5]
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("qwen2")
        writer.add_token_merges(["Ġ t", "h e", "Ġt he"])
        writer.add_add_bos_token(False)
        writer.add_chat_template("{% for m in messages %}{{ m.content }}é{% endfor %}")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)

    def add(name, *shape, kind=Type.F32):
        value = random.standard_normal(shape).astype(np.float32)
        if kind == Type.F16:
            value = value.astype(np.float16)
        if kind in (Type.F32, Type.F16):
            writer.add_tensor(name, value)
        else:
            writer.add_tensor(name, gguf.quantize(value, kind), raw_dtype=kind)

    add("token_embd.weight", len(tokens), HIDDEN, kind=Type.Q8_0)
    add("output_norm.weight", HIDDEN)
    if architecture == "qwen2":
        add("output.weight", len(tokens), HIDDEN, kind=Type.F16)
    for i in range(LAYERS):
        kinds = [Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0, Type.BF16, Type.F16]
        kinds = kinds[i:] + kinds[:i]
        for (name, rows, columns), kind in zip([("attn_q", HEADS * HEAD_DIM, HIDDEN), ("attn_k", KV_HEADS * HEAD_DIM, HIDDEN),
                                                ("attn_v", KV_HEADS * HEAD_DIM, HIDDEN), ("attn_output", HIDDEN, HEADS * HEAD_DIM),
                                                ("ffn_gate", INNER, HIDDEN), ("ffn_up", INNER, HIDDEN), ("ffn_down", HIDDEN, INNER)], kinds):
            add(f"blk.{i}.{name}.weight", rows, columns, kind=kind)
            if architecture == "qwen2" and name in ("attn_q", "attn_k", "attn_v"):
                add(f"blk.{i}.{name}.bias", rows)
        for name in ["attn_norm", "ffn_norm"]:
            add(f"blk.{i}.{name}.weight", HIDDEN)
        if architecture == "qwen3":
            add(f"blk.{i}.attn_q_norm.weight", HEAD_DIM)
            add(f"blk.{i}.attn_k_norm.weight", HEAD_DIM)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def reference_weights(path):
    config = transformers.AutoConfig.from_pretrained(path.parent, gguf_file=path.name)
    config.head_dim = HEAD_DIM  # the reference does not read attention.key_length
    model = transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, config=config, dtype=torch.float32)
    weights = dict(model.state_dict())
    if model.config.tie_word_embeddings:
        weights.pop("lm_head.weight", None)
    return weights


def main():
    directory = pathlib.Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(3)
    save_tensors(blocks(random), directory / "blocks.safetensors")
    for architecture in ["llama", "qwen2", "qwen3"]:
        path = directory / f"tiny_{architecture}.gguf"
        write_model(path, architecture, random)
        save_tensors(reference_weights(path), directory / f"tiny_{architecture}.safetensors")
    tokens, scores, kinds = sentence_piece()
    skipped = [token for token, kind in zip(tokens, kinds) if kind != 1]
    merges = generate_merges({token: i for i, token in enumerate(tokens)}, dict(zip(tokens, scores)), skipped)
    (directory / "merges.json").write_text(json.dumps(merges, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
