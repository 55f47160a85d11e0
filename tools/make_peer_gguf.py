#!/usr/bin/env python3
"""Writes a GGUF file with the published shape of a Qwen3 model and seeded random bf16 weights, for bench/peers.

    make_peer_gguf.py --shape Qwen3-0.6B --output build/peers/Qwen3-0.6B-bf16.gguf

Needs the package gguf. There is no tokenizer in the file (llama.cpp's kind "none"): llama-bench makes up its token ids.
Norms are f32 ones, as llama.cpp's own converter keeps them; matrices are normal with deviation 0.02, cut to bf16.
"""
import argparse
import os

import gguf
import numpy as np

SHAPES = {  # hidden, intermediate, layers, heads, kv heads, head size, vocabulary; all with a tied head
    "Qwen3-0.6B": (1024, 3072, 28, 16, 8, 128, 151936),
    "Qwen3-1.7B": (2048, 6144, 28, 16, 8, 128, 151936),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=SHAPES, required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    hidden, intermediate, layers, heads, kv_heads, head, vocabulary = SHAPES[options.shape]
    unfinished = options.output + ".part"
    writer = gguf.GGUFWriter(unfinished, "qwen3")
    writer.add_name(f"{options.shape} shape, random weights")
    writer.add_block_count(layers)
    writer.add_context_length(40960)
    writer.add_embedding_length(hidden)
    writer.add_feed_forward_length(intermediate)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_key_length(head)
    writer.add_value_length(head)
    writer.add_rope_freq_base(1e6)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_vocab_size(vocabulary)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_BF16)
    writer.add_tokenizer_model("none")

    tensors = [("token_embd.weight", (vocabulary, hidden)), ("output_norm.weight", (hidden,))]
    for layer in range(layers):
        tensors += [(f"blk.{layer}.{name}.weight", shape) for name, shape in (
            ("attn_norm", (hidden,)), ("attn_q", (heads * head, hidden)), ("attn_k", (kv_heads * head, hidden)),
            ("attn_v", (kv_heads * head, hidden)), ("attn_q_norm", (head,)), ("attn_k_norm", (head,)),
            ("attn_output", (hidden, heads * head)), ("ffn_norm", (hidden,)), ("ffn_gate", (intermediate, hidden)),
            ("ffn_up", (intermediate, hidden)), ("ffn_down", (hidden, intermediate)))]
    for name, shape in tensors:
        if len(shape) == 1:
            writer.add_tensor_info(name, shape, np.dtype(np.float32), 4 * shape[0])
        else:
            writer.add_tensor_info(name, (shape[0], 2 * shape[1]), np.dtype(np.uint8), 2 * shape[0] * shape[1],
                                   raw_dtype=gguf.GGMLQuantizationType.BF16)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    random = np.random.default_rng(options.seed)
    for _, shape in tensors:  # one at a time: the file may be larger than the memory
        if len(shape) == 1:
            writer.write_tensor_data(np.ones(shape, np.float32))
        else:
            values = random.standard_normal(shape, np.float32) * np.float32(0.02)
            writer.write_tensor_data((values.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8))
    writer.close()
    os.replace(unfinished, options.output)
    print(options.output, os.path.getsize(options.output), "bytes")


if __name__ == "__main__":
    main()
