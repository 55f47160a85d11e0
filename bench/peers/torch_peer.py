#!/usr/bin/env python3
"""torch through transformers as a peer of bench/peers: a Qwen3 of a published shape with random weights.

It answers one line of JSON per line on stdin: first {"ready": ...}, then {"seconds": ...} for
    prefill TOKENS            one forward of TOKENS random ids on an empty cache, logits of the last row
    decode STEPS CONTEXT      STEPS greedy steps after CONTEXT positions (random values, written into the cache)
A line that fails is answered with {"error": ...}. The first use of a regime is warmed up by a run of its own.

--mode eager: as it is. compile: torch.compile with static shapes. frozen: the same with inductor's freezing, which
packs the weights for its matrix kernels once. Compiled modes decode in a static cache, the only one whose shapes stay;
eager in a dynamic one unless --cache static.
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
    parser.add_argument("--mode", choices=["eager", "compile", "frozen"], default="eager")
    parser.add_argument("--cache", choices=["dynamic", "static"])
    options = parser.parse_args()
    compiled = options.mode != "eager"
    static = (options.cache or ("static" if compiled else "dynamic")) == "static"

    import torch
    import transformers
    from transformers import DynamicCache, StaticCache
    torch.set_num_threads(options.threads)
    dtype = getattr(torch, options.dtype)
    model = build(options.shape, dtype, options.attention)
    config = model.config
    if options.mode == "frozen":
        import torch._inductor.config
        torch._inductor.config.freezing = True
        model.requires_grad_(False)  # here only: eagerly, torch 2.13 multiplies such bf16 weights 4 to 5 times slower
    forward = torch.compile(model, dynamic=False) if compiled else model
    generator = torch.Generator().manual_seed(1)

    def random_ids(count):
        return torch.randint(0, config.vocab_size, (1, count), generator=generator)

    @torch.inference_mode()
    def prefill(tokens):
        ids = random_ids(tokens)
        start = time.perf_counter()
        out = forward(input_ids=ids, use_cache=not compiled, logits_to_keep=1)
        out.logits[:, -1].argmax(-1).item()
        return time.perf_counter() - start

    caches = {}

    @torch.inference_mode()
    def cache_of(steps, context):
        # A static cache is made once per regime, so that a compiled forward finds its tensors where they were.
        key = (steps, context)
        if key not in caches:
            cache = StaticCache(config=config, max_cache_len=context + steps) if static else DynamicCache(config=config)
            shape = (1, config.num_key_value_heads, context, config.head_dim)
            values = [torch.randn(shape, generator=generator).to(dtype) for _ in range(2)]
            for layer in range(config.num_hidden_layers):
                cache.update(values[0].clone(), values[1].clone(), layer)
            if not static:
                return cache
            caches[key] = cache
        for layer in caches[key].layers:
            layer.cumulative_length.fill_(context)
        return caches[key]

    @torch.inference_mode()
    def decode(steps, context):
        cache, ids = cache_of(steps, context), random_ids(1)
        start = time.perf_counter()
        for _ in range(steps):
            out = forward(input_ids=ids, past_key_values=cache, use_cache=True)
            ids = out.logits[:, -1].argmax(-1, keepdim=True)
            ids.item()  # every arm reads its tokens one by one
        return time.perf_counter() - start

    print(json.dumps({"ready": f"torch {torch.__version__}, transformers {transformers.__version__}, {options.mode}, "
                               f"{options.dtype}, {options.attention} attention, {'static' if static else 'dynamic'} cache",
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
                run(*numbers)
            print(json.dumps({"seconds": run(*numbers)}), flush=True)
        except Exception as error:  # the peer's failure is the driver's news, not its end
            print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)


if __name__ == "__main__":
    main()
