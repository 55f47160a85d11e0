"""The table of the small models that make_test_models.py writes: one Model each. Edits below change a saved directory."""
from dataclasses import dataclass, field
from typing import Callable

import torch


@dataclass
class Model:
    name: str
    what: str  # what a reader can get wrong here
    config: dict  # keyword arguments of the family's configuration class (transformers 5 spelling)
    tokens: int = 23
    batch: int = 2
    new_tokens: int = 10
    dtype: torch.dtype = torch.float32
    shard_size: str | None = None  # as max_shard_size of save_pretrained
    edit: Callable | None = None  # (config, tensors) of the saved directory -> None, changes both in place
    differs: dict[str, Callable] = field(default_factory=dict)  # label -> edit after which the logits must differ
    decode_differs: dict[str, Callable] = field(default_factory=dict)  # label -> edit after which the greedy tokens must differ
    same: dict[str, Callable] = field(default_factory=dict)  # label -> edit that must change nothing
    recompute_differs: bool = False  # dynamic rotation: the cached continuation is not the recomputed one
    seed: int = 1

    @property
    def family(self):
        return self.name.split("-")[0]


def dims(hidden=32, heads=4, kv=2, head_dim=None, layers=2, inter=48, vocab=96, **more):
    result = dict(hidden_size=hidden, num_attention_heads=heads, num_key_value_heads=kv, num_hidden_layers=layers,
                  intermediate_size=inter, vocab_size=vocab, max_position_embeddings=128, **more)
    if head_dim:
        result["head_dim"] = head_dim
    return result


def rope(kind="default", theta=10000.0, **more):
    return {"rope_type": kind, "rope_theta": theta, **more}


def chain(*edits):
    def apply(config, tensors):
        for edit in edits:
            edit(config, tensors)
    return apply


def put(**values):
    """Sets top-level fields of config.json."""
    return lambda config, tensors: config.update(values)


def drop(*keys):
    """Removes top-level fields of config.json."""
    def apply(config, tensors):
        for key in keys:
            assert key in config, key
            del config[key]
    return apply


def inside(name, **values):
    """Sets fields of an object in config.json; None removes."""
    def apply(config, tensors):
        for key, value in values.items():
            if value is None:
                del config[name][key]
            else:
                config[name][key] = value
    return apply


def plain_rope(config, tensors):
    """Keeps theta, removes the scaling, in whichever spelling."""
    if "rope_scaling" in config:
        config["rope_scaling"] = None
    if "rope_parameters" in config:
        config["rope_parameters"] = rope(theta=config["rope_parameters"]["rope_theta"])


def version4(key="rope_type", keep_layer_types=False):
    """Rewrites config.json as transformers 4 wrote it."""
    def apply(config, tensors):
        parameters = config.pop("rope_parameters")
        config["rope_theta"] = parameters.pop("rope_theta")
        kind = parameters.pop("rope_type")
        config["rope_scaling"] = None if kind == "default" else {key: kind, **parameters}
        config["torch_dtype"] = config.pop("dtype")
        config["transformers_version"] = "4.51.3"
        if not keep_layer_types:
            config.pop("layer_types", None)
        for name in ("pad_token_id", "tie_word_embeddings"):
            if config.get(name) is None:
                config.pop(name, None)
    return apply


def zero(*parts):
    """Sets to zero every tensor whose name contains one of the parts."""
    def apply(config, tensors):
        names = [name for name in tensors if any(part in name for part in parts)]
        assert names, parts
        for name in names:
            tensors[name] = torch.zeros_like(tensors[name])
    return apply


def ones(part):
    def apply(config, tensors):
        names = [name for name in tensors if part in name]
        assert names, part
        for name in names:
            tensors[name] = torch.ones_like(tensors[name])
    return apply


def remove(*parts):
    def apply(config, tensors):
        names = [name for name in tensors if any(part in name for part in parts)]
        assert names, parts
        for name in names:
            del tensors[name]
    return apply


EMBEDDING, HEAD = "model.embed_tokens.weight", "lm_head.weight"


def head_differs(config, tensors):
    """A head beside the embedding that is not equal to it."""
    noise = torch.randn(tensors[EMBEDDING].shape, generator=torch.Generator().manual_seed(5))
    tensors[HEAD] = (0.5 * tensors[EMBEDDING] + 0.3 * noise).to(tensors[EMBEDDING].dtype)


def head_equal(config, tensors):
    tensors[HEAD] = tensors[EMBEDDING].clone()


def head_only(config, tensors):
    tensors[HEAD] = tensors.pop(EMBEDDING)


def embedding_only(config, tensors):
    tensors[EMBEDDING] = tensors.pop(HEAD)


def old_frequencies(config, tensors):
    """The buffer of old Llama files, with values nobody may use."""
    for layer in range(config["num_hidden_layers"]):
        tensors[f"model.layers.{layer}.self_attn.rotary_emb.inv_freq"] = torch.full((config["hidden_size"] // 8,), 0.5)


def swap_layers(config, tensors):
    for name in [name for name in tensors if name.startswith("model.layers.0.mlp")]:
        other = name.replace("layers.0", "layers.1")
        tensors[name], tensors[other] = tensors[other], tensors[name]


YARN = dict(factor=4.0, original_max_position_embeddings=32)
LLAMA3 = dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32)
FULL, WINDOW = "full_attention", "sliding_attention"

MODELS = [
    # ---------------------------------------------------------------------------------------------------- qwen3
    Model("qwen3-base", "three layers, tied, 2 query heads a kv head",
          dims(hidden=48, head_dim=16, layers=3, inter=64, vocab=151, tie_word_embeddings=True, rope_parameters=rope(theta=1e6)),
          differs={"q_norm and k_norm all ones": chain(ones("q_norm"), ones("k_norm")), "mlp of two layers swapped": swap_layers,
                   "theta 10000": inside("rope_parameters", rope_theta=1e4)}),
    Model("qwen3-head-dim", "head_dim 24 where hidden/heads is 10; odd feed-forward and vocabulary; eps 0.01; untied",
          dims(hidden=40, head_dim=24, inter=53, vocab=97, rms_norm_eps=0.01, rope_parameters=rope()), tokens=17,
          differs={"eps 1e-6": put(rms_norm_eps=1e-6)}),
    Model("qwen3-one-kv", "6 heads share one kv head", dims(hidden=48, heads=6, kv=1, head_dim=8, inter=40, rope_parameters=rope())),
    Model("qwen3-mha", "as many kv as query heads (3 of 10), hidden 33", dims(
        hidden=33, heads=3, kv=3, head_dim=10, inter=35, vocab=101, rope_parameters=rope()), tokens=13, batch=3),
    Model("qwen3-bias", "attention_bias: q, k, v and o have one", dims(head_dim=12, attention_bias=True, rope_parameters=rope()),
          differs={"o_proj's bias zero": zero("o_proj.bias"), "q's and k's zero": zero("q_proj.bias", "k_proj.bias"),
                   "v's zero": zero("v_proj.bias")}),
    Model("qwen3-no-head-dim", "head_dim missing: 128, not hidden/heads", dims(
        hidden=24, heads=2, kv=1, inter=32, vocab=64, rope_parameters=rope()), dtype=torch.bfloat16, edit=drop("head_dim"), tokens=11,
          same={"head_dim 128": put(head_dim=128)}),
    Model("qwen3-window", "window 5 in the layers from max_window_layers on; layer_types missing", dims(
        head_dim=8, layers=3, use_sliding_window=True, sliding_window=5, max_window_layers=1, rope_parameters=rope()),
          edit=version4(), new_tokens=12,
          differs={"no window": put(use_sliding_window=False), "window 6": put(sliding_window=6), "window 4": put(sliding_window=4),
                   "in all layers": put(max_window_layers=0), "bottom layers instead": put(layer_types=[WINDOW, FULL, FULL])},
          decode_differs={"no window": put(use_sliding_window=False)}),
    Model("qwen3-window-types", "layer_types overrides max_window_layers", dims(
        head_dim=8, layers=3, use_sliding_window=True, sliding_window=7, max_window_layers=28, rope_parameters=rope(),
        layer_types=[WINDOW, FULL, WINDOW]), dtype=torch.float16,
          differs={"layer_types missing": drop("layer_types"), "all windows": put(layer_types=[WINDOW] * 3)}),
    Model("qwen3-window-off", "sliding_window without use_sliding_window is nothing", dims(head_dim=8, rope_parameters=rope()),
          edit=chain(version4(), put(sliding_window=4, use_sliding_window=False, max_window_layers=0)),
          differs={"use_sliding_window": put(use_sliding_window=True)}, same={"sliding_window null": put(sliding_window=None)}),
    Model("qwen3-yarn", "as published for long Qwen3: rope_scaling with rope_type yarn, theta outside", dims(
        head_dim=32, heads=2, kv=1, rope_parameters=rope("yarn", 1e6, **YARN)), edit=version4(), tokens=40,
          differs={"no scaling": plain_rope, "attention factor 1": inside("rope_scaling", attention_factor=1.0),
                   "factor 8": inside("rope_scaling", factor=8.0)},
          same={"max_position_embeddings 40000": put(max_position_embeddings=40000)}),
    Model("qwen3-dynamic", "dynamic NTK, the prompt is longer than max_position_embeddings", dims(
        head_dim=16, rope_parameters=rope("dynamic", factor=4.0)) | dict(max_position_embeddings=16), tokens=30, new_tokens=12,
          recompute_differs=True, differs={"no scaling": plain_rope, "max_position_embeddings 20": put(max_position_embeddings=20)}),
    Model("qwen3-dynamic-crossing", "dynamic NTK, the continuation crosses max_position_embeddings; cached keys keep their rotation", dims(
        head_dim=16, rope_parameters=rope("dynamic", factor=8.0)) | dict(max_position_embeddings=14), tokens=11, new_tokens=24,
          edit=version4("type"), recompute_differs=True, decode_differs={"no scaling": plain_rope}),
    Model("qwen3-bf16", "bf16 file, tied; lm_head.weight in the file equals the embedding", dims(
        hidden=64, head_dim=16, heads=8, kv=2, inter=80, vocab=128, tie_word_embeddings=True, rope_parameters=rope(theta=1e6)),
          dtype=torch.bfloat16, edit=head_equal, same={"lm_head.weight removed": remove(HEAD)}),
    Model("qwen3-f16", "f16 file, checked in f32", dims(head_dim=16, inter=64, rope_parameters=rope()), dtype=torch.float16, tokens=19),
    Model("qwen3-sharded", "bf16 in several files with an index", dims(
        hidden=48, head_dim=16, layers=3, inter=64, rope_parameters=rope()), dtype=torch.bfloat16, shard_size="40KB"),
    Model("qwen3-one-token", "a prompt of one token, a batch of one", dims(head_dim=8, rope_parameters=rope()), tokens=1, batch=1, new_tokens=12),
    Model("qwen3-nulls", "null where a value may be missing", dims(
        hidden=32, heads=4, kv=4, head_dim=8, rope_parameters=rope()),
          edit=chain(version4(), put(num_key_value_heads=None, rope_scaling=None, sliding_window=None, layer_types=None,
                                     eos_token_id=None, pad_token_id=None))),
    # ---------------------------------------------------------------------------------------------------- qwen2
    Model("qwen2-base", "biases on q, k and v always, none on o; tied; transformers 4 spelling", dims(
        hidden=48, heads=6, kv=2, inter=64, vocab=128, tie_word_embeddings=True, rope_parameters=rope(theta=1e6)), edit=version4(),
          differs={"q's and k's bias zero": zero("q_proj.bias", "k_proj.bias"), "v's zero": zero("v_proj.bias")}),
    Model("qwen2-v5", "untied, transformers 5 spelling, f16 file", dims(hidden=36, heads=3, kv=1, inter=45, vocab=99, rope_parameters=rope()),
          dtype=torch.float16, tokens=21),
    Model("qwen2-window", "window 6 above max_window_layers 2; layer_types missing", dims(
        layers=3, use_sliding_window=True, sliding_window=6, max_window_layers=2, rope_parameters=rope()), edit=version4(),
          new_tokens=12, differs={"no window": put(use_sliding_window=False), "in all layers": put(max_window_layers=0),
                                  "window 7": put(sliding_window=7)}),
    Model("qwen2-yarn", "yarn spelled `type`, original length missing: max_position_embeddings stands in", dims(
        hidden=48, heads=2, kv=1, rope_parameters=rope("yarn", 1e4, factor=2.0)) | dict(max_position_embeddings=24),
          edit=chain(version4("type"), inside("rope_scaling", original_max_position_embeddings=None)), tokens=33,
          differs={"no scaling": plain_rope, "max_position_embeddings 12": put(max_position_embeddings=12)},
          same={"original length 24": inside("rope_scaling", original_max_position_embeddings=24)}),
    Model("qwen2-head-dim", "a head_dim in the config counts for qwen2 too", dims(
        hidden=30, heads=3, kv=3, head_dim=16, inter=41, vocab=71, rope_parameters=rope()), tokens=15),
    Model("qwen2-no-kv", "num_key_value_heads missing: 32, however many heads there are", dims(
        hidden=32, heads=64, kv=32, head_dim=4, inter=32, vocab=64, rope_parameters=rope()), dtype=torch.bfloat16,
          edit=drop("num_key_value_heads"), tokens=12, same={"num_key_value_heads 32": put(num_key_value_heads=32)}),
    Model("qwen2-sharded", "f16 in several files, tied, transformers 4 spelling", dims(
        hidden=32, layers=2, tie_word_embeddings=True, rope_parameters=rope()), dtype=torch.float16, shard_size="20KB", edit=version4()),
    # ---------------------------------------------------------------------------------------------------- llama
    Model("llama-base", "untied, transformers 4 spelling, no scaling", dims(
        hidden=48, heads=4, kv=4, inter=64, vocab=128, rms_norm_eps=1e-5, rope_parameters=rope()), edit=version4(),
          differs={"theta 500": put(rope_theta=500.0)}),
    Model("llama-bare", "num_key_value_heads, head_dim, theta, eps, tie_word_embeddings missing: heads, hidden/heads, 10000, 1e-6, false", dims(
        hidden=32, heads=4, kv=4, rope_parameters=rope()),
          edit=chain(version4(), drop("num_key_value_heads", "head_dim", "rope_theta", "rope_scaling", "rms_norm_eps",
                                      "tie_word_embeddings", "attention_bias", "mlp_bias"), old_frequencies),
          differs={"theta 500000": put(rope_theta=5e5)}, same={"rotary_emb.inv_freq removed": remove("inv_freq")}),
    Model("llama-llama3", "rope scaling llama3, tied (as Llama 3.2)", dims(
        hidden=32, heads=2, kv=1, head_dim=32, tie_word_embeddings=True, rope_parameters=rope("llama3", 5e5, **LLAMA3)), edit=version4(), tokens=39,
          differs={"no scaling": plain_rope, "low_freq_factor 2": inside("rope_scaling", low_freq_factor=2.0),
                   "high_freq_factor 8": inside("rope_scaling", high_freq_factor=8.0),
                   "original length 64": inside("rope_scaling", original_max_position_embeddings=64)}),
    Model("llama-llama3-v5", "rope scaling llama3 in transformers 5 spelling, bf16", dims(
        hidden=48, heads=3, kv=3, head_dim=32, rope_parameters=rope("llama3", 1e4, **(LLAMA3 | dict(factor=32.0)))),
          dtype=torch.bfloat16, tokens=29, differs={"no scaling": plain_rope}),
    Model("llama-linear", "rope scaling linear, spelled `type`", dims(rope_parameters=rope("linear", factor=4.0)), edit=version4("type"),
          differs={"no scaling": plain_rope}),
    Model("llama-dynamic", "dynamic NTK, prompt longer than max_position_embeddings, head_dim missing", dims(
        hidden=32, heads=2, kv=2, rope_parameters=rope("dynamic", factor=2.0)) | dict(max_position_embeddings=12), tokens=25, new_tokens=12,
          edit=chain(version4("type"), drop("head_dim")), recompute_differs=True, differs={"no scaling": plain_rope}),
    Model("llama-yarn-exact", "yarn with truncate false, beta_fast 8, beta_slow 0.5", dims(
        hidden=32, heads=2, kv=2, head_dim=24, rope_parameters=rope("yarn", 1e4, truncate=False, beta_fast=8.0, beta_slow=0.5, factor=4.0, original_max_position_embeddings=256)), tokens=40,
          differs={"no scaling": plain_rope, "truncate": inside("rope_parameters", truncate=True),
                   "beta_fast missing": inside("rope_parameters", beta_fast=None), "beta_slow missing": inside("rope_parameters", beta_slow=None)}),
    Model("llama-yarn-factor", "yarn with attention_factor 1.5", dims(
        head_dim=16, rope_parameters=rope("yarn", 1e4, attention_factor=1.5, **YARN)), tokens=31, dtype=torch.float16,
          differs={"attention_factor missing": inside("rope_parameters", attention_factor=None), "no scaling": plain_rope}),
    Model("llama-yarn-mscale", "yarn with mscale 1 and mscale_all_dim 0.5", dims(
        head_dim=16, rope_parameters=rope("yarn", 1e4, mscale=1.0, mscale_all_dim=0.5, **YARN)), tokens=31, dtype=torch.float16,
          differs={"mscale_all_dim missing": inside("rope_parameters", mscale_all_dim=None), "no scaling": plain_rope}),
    Model("llama-yarn-outer", "original_max_position_embeddings at top level beats the one in rope_scaling", dims(
        head_dim=16, rope_parameters=rope("yarn", 1e4, **YARN)), edit=chain(version4(), put(original_max_position_embeddings=16)), tokens=31,
          differs={"top level removed": drop("original_max_position_embeddings")},
          same={"inner removed": inside("rope_scaling", original_max_position_embeddings=None)}),
    Model("llama-bias", "attention_bias and mlp_bias: q, k, v, o, gate, up and down have one", dims(
        head_dim=10, attention_bias=True, mlp_bias=True, rope_parameters=rope()),
          differs={"o_proj's bias zero": zero("o_proj.bias"), "gate's and up's zero": zero("gate_proj.bias", "up_proj.bias"),
                   "down's zero": zero("down_proj.bias"), "q's and k's zero": zero("q_proj.bias", "k_proj.bias")}),
    Model("llama-both-spellings", "rope_scaling beats rope_parameters, whose theta is lost: 10000", dims(
        head_dim=16, rope_parameters=rope()),
          edit=chain(put(rope_scaling={"type": "linear", "factor": 4.0}, rope_parameters=rope("yarn", 500.0, **YARN))), dtype=torch.bfloat16,
          differs={"rope_scaling removed": drop("rope_scaling"), "theta 500": put(rope_theta=500.0)},
          same={"rope_parameters removed": drop("rope_parameters"), "theta 10000": put(rope_theta=10000.0)}),
    Model("llama-theta-in-scaling", "a theta in rope_scaling beats the one at top level and the one in rope_parameters", dims(
        head_dim=16, rope_parameters=rope()),
          edit=put(rope_scaling={"rope_type": "linear", "factor": 2.0, "rope_theta": 300.0}, rope_theta=1e6, rope_parameters=rope(theta=5e4)), dtype=torch.bfloat16,
          differs={"theta in rope_scaling removed": inside("rope_scaling", rope_theta=None)},
          same={"the others removed": drop("rope_parameters", "rope_theta")}),
    Model("llama-theta-in-parameters", "without rope_scaling a theta in rope_parameters beats the one at top level", dims(
        head_dim=16, rope_parameters=rope(theta=200.0)), edit=put(rope_theta=1e6), dtype=torch.bfloat16,
          differs={"theta in rope_parameters removed": inside("rope_parameters", rope_theta=None)},
          same={"top level removed": drop("rope_theta")}),
    Model("llama-theta-outside", "rope_parameters without a theta: the one at top level counts", dims(
        head_dim=16, rope_parameters=rope("linear", factor=2.0)), edit=chain(inside("rope_parameters", rope_theta=None), put(rope_theta=150.0)), dtype=torch.bfloat16,
          differs={"theta removed": drop("rope_theta")}),
    Model("llama-head-only", "tied, and only lm_head.weight is in the file: it serves as embedding too", dims(
        head_dim=8, tie_word_embeddings=True, rope_parameters=rope()), edit=head_only,
          same={"named embed_tokens instead": embedding_only}),
    Model("llama-tie-contradicted", "tie_word_embeddings, but lm_head.weight in the file differs: not tied", dims(
        head_dim=8, tie_word_embeddings=True, rope_parameters=rope()), edit=head_differs,
          differs={"lm_head.weight removed": remove(HEAD)}, same={"tie_word_embeddings false": put(tie_word_embeddings=False)}),
    Model("llama-smollm2", "as SmolLM2: 3 heads a kv head, tied, bf16, theta 100000, fields nobody needs", dims(
        hidden=72, heads=9, kv=3, layers=3, inter=96, vocab=192, tie_word_embeddings=True, rms_norm_eps=1e-5, rope_parameters=rope(theta=1e5)),
          dtype=torch.bfloat16, tokens=27,
          edit=chain(version4(), put(rope_interleaved=False, is_llama_config=True, pretraining_tp=1,
                                     **{"transformers.js_config": {"kv_cache_dtype": {"q4f16": "float16"}}}))),
]
