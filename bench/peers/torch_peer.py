#!/usr/bin/env python3
"""torch eager through transformers as a peer of bench/peers: a Qwen3 of a published shape with random weights.

It answers one line of JSON per line on stdin: first {"ready": ...}, then {"seconds": ...} for
    prefill TOKENS            one forward of TOKENS random ids on an empty cache, logits of the last row
    decode STEPS CONTEXT      STEPS greedy steps after CONTEXT tokens (their prefill is not timed)
A line that fails is answered with {"error": ...}. The first use of a regime is warmed up by a run of its own.
"""
import argparse
import json
import sys
import time

SHAPES = {  # hidden, intermediate, layers, heads, kv heads
    "Qwen3-0.6B": (1024, 3072, 28, 16, 8),
    "Qwen3-1.7B": (2048, 6144, 28, 16, 8),
}


def build(shape, dtype, attention):
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM
    from transformers.models.qwen3.modeling_qwen3 import Qwen3RotaryEmbedding
    hidden, intermediate, layers, heads, kv_heads = SHAPES[shape]
    config = Qwen3Config(hidden_size=hidden, intermediate_size=intermediate, num_hidden_layers=layers,
                         num_attention_heads=heads, num_key_value_heads=kv_heads, head_dim=128, vocab_size=151936,
                         max_position_embeddings=40960, tie_word_embeddings=True, rms_norm_eps=1e-6,
                         attn_implementation=attention)
    with torch.device("meta"):  # its own initialisation would take longer than the measurement
        model = Qwen3ForCausalLM(config)
    model = model.to(dtype).to_empty(device="cpu")
    model.model.rotary_emb = Qwen3RotaryEmbedding(config)  # its buffers are not parameters
    model.tie_weights()
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.fill_(1)
            else:
                parameter.uniform_(-0.035, 0.035)
    return model.eval()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=SHAPES, default="Qwen3-0.6B")
    parser.add_argument("--dtype", choices=["bfloat16", "float32"], default="bfloat16")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--attention", choices=["sdpa", "eager"], default="sdpa")
    parser.add_argument("--compile", action="store_true", help="torch.compile the forward of prefill")
    options = parser.parse_args()

    import torch
    import transformers
    torch.set_num_threads(options.threads)
    model = build(options.shape, getattr(torch, options.dtype), options.attention)
    prefill_model = torch.compile(model, dynamic=False) if options.compile else model
    generator = torch.Generator().manual_seed(1)

    def random_ids(count):
        return torch.randint(0, model.config.vocab_size, (1, count), generator=generator)

    @torch.inference_mode()
    def prefill(tokens):
        ids = random_ids(tokens)
        start = time.perf_counter()
        prefill_model(input_ids=ids, use_cache=not options.compile, logits_to_keep=1)
        return time.perf_counter() - start

    @torch.inference_mode()
    def decode(steps, context):
        out = model(input_ids=random_ids(context), use_cache=True, logits_to_keep=1)
        cache, ids = out.past_key_values, out.logits[:, -1].argmax(-1, keepdim=True)
        start = time.perf_counter()
        for _ in range(steps):
            out = model(input_ids=ids, past_key_values=cache, use_cache=True)
            ids = out.logits[:, -1].argmax(-1, keepdim=True)
            ids.item()  # every arm reads its tokens one by one
        return time.perf_counter() - start

    print(json.dumps({"ready": f"torch {torch.__version__}, transformers {transformers.__version__}, {options.dtype}, "
                               f"{options.attention} attention{', torch.compile' if options.compile else ''}",
                      "isa": torch.backends.cpu.get_cpu_capability(), "threads": torch.get_num_threads()}), flush=True)
    warm = set()
    for line in sys.stdin:
        words = line.split()
        if not words:
            continue
        try:
            run, numbers = {"prefill": prefill, "decode": decode}[words[0]], [int(word) for word in words[1:]]
            if tuple(words) not in warm:
                warm.add(tuple(words))
                run(*([min(numbers[0], 8), *numbers[1:]] if words[0] == "decode" else numbers))
            print(json.dumps({"seconds": run(*numbers)}), flush=True)
        except Exception as error:  # the peer's failure is the driver's news, not its end
            print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)


if __name__ == "__main__":
    main()
