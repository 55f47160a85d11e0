#!/usr/bin/env python3
"""Writes the fixtures of tests/tokenizer/golden with the reference implementation (PyPI tokenizers).

  tools/make_tokenizer_goldens.py OUT                       small tokenizers of every construct, and their cases
  tools/make_tokenizer_goldens.py OUT --real NAME=FILE …    cases only, for published files that are not committed
  … --random N --seed S                                     N random texts instead of the written ones

A case file <name>.cases.json holds {"tokenizer", "cases": [{"text", "special", "ids", "tokens", "text_all", "text_plain"}]}:
ids and tokens of encoding with (special) or without special tokens, and what the ids decode to with and without special
tokens. The test reads <name>.json beside it, or the published file that the environment names.
"""
import argparse
import json
import pathlib
import random
import sys

from tokenizers import Tokenizer, models, trainers, pre_tokenizers, normalizers

WRITTEN = [
    "", " ", "  ", "a", "Hello, world!", "To be, or not to be, that is the question:", "I'm we've they'll he'd it's DON'T CAN'T",
    "The year 2024, 3.14159 and 1,000,000; 0x1F; ½ ² Ⅷ ٣٤٥ ৪৫", "  two  spaces   three\t\ttabs", "line\nline\r\nline\n\n\nend  \n  indented\n",
    "trailing space ", " leading", "\u00a0nbsp\u2003em\u3000ideographic\u200bzero\u180emvs\u0085nel", "naïve café Việt Nam ÅÅÅ e\u0301 o\u0302\u0323 A\u030a",
    "Ελληνικά ά ὕβρις Σίσυφος ΟΔΥΣΣΕΎΣ", "Привет, как дела? Ёлка й и\u0306", "你好，世界！今天天气很好。", "日本語のテキスト、カタカナとひらがな。が か\u3099",
    "한국어 텍스트 가각 \u1100\u1161\u11a8", "مرحبا بالعالم لَا", "नमस्ते दुनिया क्षि", "ภาษาไทยไม่มีช่องว่าง", "עברית שָׁלוֹם",
    "😀 👍🏽 👨‍👩‍👧‍👦 🇩🇪🇫🇷 ❤️", "ﬁ ﬂ ﬀ Å Ω ㎏ ｆｕｌｌ Ⓐⓐ ℌ ½", "İstanbul ß ẞ ǅ ſ K'S 'ſ", "x" * 70, "ab" * 45, "\u0301\u0323\u0301 marks first",
    "a\u0315\u0300\u05ae\u0062 order", "def f(x):\n    return x**2  # comment\n\n\nclass A:\n\tpass", "if (a && b) { c[i] += ~d ^ e; } // 100%",
    "<s>start</s> <mask> <pad>x<pad>", "a<mask>b <mask> c  <mask>  d", "word wordy sword word", "<|end|><|end|> <|end|>x<|endo|>", "NORM norm Norm nOrm é",
    "https://example.org/path?x=1&y=%20#frag", "mail@example.org __init__ snake_case CamelCase", "...!!!???---===", "“quoted” ‘single’ — dash – en… «guillemets»",
    "nul \x00 bell \x07 esc \x1b del \x7f \x1c\x1d", "\ufeffBOM \ufffd replacement \ufffe", "\\ud83d\\ude00 escaped", "\U00010348\U0001d54f\U0002070e\U000e0041",
    "▁under ▁▁bar ▁", "ĠĠthe Ċ Ġ", "<0x41> <0xE2>", "##pre word</w> </w>", "\n", "\r\n\r\n", "\t \n \t", "a\u200db\u200cc", "ⅣⅤ ①② a_b‿c", "'s 'S 'T't''", "1" * 25,
]
ALPHABET = (
    [chr(c) for c in range(32, 127)] * 3 + list(" \n\t\r  ") * 8 + list("éèüñçşğıİßæœÅΩ") + list("αβγδΣςάὕ") + list("абвгйёЁЖ") +
    list("你好世界今天的是了不我") * 2 + list("あいうえおがカタカナー") + list("가각힣한국어각") + list("مرحبالَِ") + list("नमस्तेक्षि") + list("ไทยภาษ่") +
    list("😀👍🏽\u200d🇩🇪❤\ufe0f") + list("\u0301\u0300\u0323\u0302\u0327\u0345\u3099\u05b0") + list("½²Ⅷ٣৪①㎏ﬁｆ\u00a0\u2003\u3000\u180e\u200b\u0085\u2028\x00\x1f\x7f") +
    list("▁Ġ“”…—«»·¡¿€§") + list("\U00010348\U0001d54f\U0002070e\ufffd"))
CHUNKS = ["the ", "and", " of", "ing", "'s", "'LL", "<|im_start|>", "<|endoftext|>", "<|begin_of_text|>", "<bos>", "<eos>", "<think>", "  ", "\n\n", "    ",
          "return ", "123", "12345", " \n", "▁▁", "<unused1>", "<|eot_id|>", "Việt", "e\u0301", "\t\t", "http://", "()", "{}\n", "的", "。"]


def assigned():
    """Characters that Unicode 12 has, which every library at hand knows."""
    import unicodedata
    return [chr(c) for c in range(0x20, 0x30000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co") and unicodedata.ucd_3_2_0.category(chr(c)) != "Cn"]


def random_texts(count, seed):
    rng, everything = random.Random(seed), assigned()
    out = []
    for _ in range(count):
        kind, parts = rng.random(), []
        for _ in range(rng.choice([1, 3, 8, 20, 40])):
            r = rng.random()
            if kind < 0.15: parts.append(rng.choice(everything))
            elif kind < 0.3 and r < 0.5: parts.append(rng.choice(CHUNKS))
            elif r < 0.2: parts.append(rng.choice(CHUNKS))
            elif r < 0.25: parts.append(rng.choice(everything))
            elif r < 0.3: parts.append(rng.choice(ALPHABET) * rng.randrange(1, 9))
            else: parts.append(rng.choice(ALPHABET))
        out.append("".join(parts))
    return out


REGEX = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN = REGEX.replace("{1,3}", "")


def token(content, **flags):
    return {"content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True} | flags


ADDED = [token("<|end|>"), token("<|endo|>"), token("<mask>", lstrip=True, rstrip=True), token("<pad>", rstrip=True),
         token("word", single_word=True, special=False), token("norm", normalized=True, special=False), token("é", normalized=True, special=False),
         token("<s>"), token("</s>", lstrip=True)]
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
GPT2 = BYTE_LEVEL | {"use_regex": True}
BOS = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
       "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}]}
BOTH = BOS | {"single": BOS["single"] + [{"SpecialToken": {"id": "</s>", "type_id": 0}}]}
FALLBACK = {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}]}


def split(pattern, behavior, invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def sequence(*items):
    return {"type": "Sequence", "pretokenizers": list(items)}


def normalize(*items):
    return {"type": "Sequence", "normalizers": [{"type": i} if isinstance(i, str) else i for i in items]}


def metaspace(scheme, split=True):
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split}


def replace(pattern, content, kind="String"):
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


# name: (base vocabulary, normalizer, pre-tokenizer, post-processor, decoder, changes to the model)
RECIPES = {
    "qwen": ("bytes", {"type": "NFC"}, sequence(split(QWEN, "Isolated"), BYTE_LEVEL), BYTE_LEVEL, BYTE_LEVEL, {}),
    "llama3": ("bytes", None, sequence(split(REGEX, "Isolated"), BYTE_LEVEL), {"type": "Sequence", "processors": [BYTE_LEVEL, BOS]}, BYTE_LEVEL, {"ignore_merges": True, "strings": True}),
    "gpt2": ("bytes", None, GPT2 | {"add_prefix_space": True}, BYTE_LEVEL, BYTE_LEVEL, {"strings": True}),
    "smollm": ("bytes", None, sequence({"type": "Digits", "individual_digits": True}, GPT2), BYTE_LEVEL, BYTE_LEVEL, {}),
    "roberta": ("bytes", normalize("NFKC", "Lowercase"), GPT2, {"type": "RobertaProcessing", "sep": ["</s>", 1], "cls": ["<s>", 0], "trim_offsets": True, "add_prefix_space": False}, BYTE_LEVEL, {}),
    "bytes_then_split": ("bytes", None, sequence(BYTE_LEVEL, split("Ġ", "MergedWithNext", kind="String")), None, BYTE_LEVEL, {}),
    "byte_normalizer": ("bytes", normalize("NFD", "StripAccents", "ByteLevel"), split("Ġ", "MergedWithNext", kind="String"), None, BYTE_LEVEL, {}),
    "gemma": ("fallback", replace(" ", "▁"), split(" ", "MergedWithPrevious", kind="String"), BOS, FALLBACK, {"byte_fallback": True, "fuse_unk": True}),
    "llama2": ("fallback", normalize({"type": "Prepend", "prepend": "▁"}, replace(" ", "▁")), None, BOTH,
               {"type": "Sequence", "decoders": FALLBACK["decoders"] + [{"type": "Strip", "content": " ", "start": 1, "stop": 0}]}, {"byte_fallback": True, "fuse_unk": True}),
    "metaspace_always": ("characters", {"type": "NFKD"}, metaspace("always"), BOTH, metaspace("always"), {"fuse_unk": True}),
    "metaspace_first": ("characters", normalize({"type": "Strip", "strip_left": True, "strip_right": False}, "NFKC"), metaspace("first"), None, metaspace("first"), {"fuse_unk": False}),
    "metaspace_never": ("characters", normalize("NFD", {"type": "Strip", "strip_left": False, "strip_right": True}), metaspace("never", False), None, metaspace("never", False), {"unk_token": None}),
    "partly_fallback": ("characters", None, metaspace("first", False), None,
                        {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Strip", "content": "e", "start": 0, "stop": 1}, {"type": "Strip", "content": "t", "start": 1, "stop": 0}, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}]},
                        {"byte_fallback": True, "some_bytes": True}),
    "clip": ("suffix", normalize("NFC", replace(r"\s+", " ", "Regex"), "Lowercase"), sequence({"type": "WhitespaceSplit"}, split(r"[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+", "Removed", True)), None, {"type": "BPEDecoder", "suffix": "</w>"}, {}),
    "prefix": ("prefix", None, {"type": "Whitespace"}, None, None, {}),
    "bert_like": ("characters", {"type": "Lowercase"}, {"type": "BertPreTokenizer"}, {"type": "BertProcessing", "sep": ["</s>", 1], "cls": ["<s>", 0]}, None, {}),
    "words": ("characters", None, sequence({"type": "Whitespace"}, {"type": "Digits", "individual_digits": False}), None, {"type": "Fuse"}, {}),
    "delimiter": ("characters", None, sequence({"type": "CharDelimiterSplit", "delimiter": "e"}, {"type": "Punctuation", "behavior": "Contiguous"}), None, None, {}),
    "regex_words": ("characters", None, sequence(split(r"\b", "Isolated"), split(r"\w\W|[\w\s]{3}+|\h{2}", "MergedWithNext")), None, None, {}),
    "regex_lines": ("characters", None, sequence(split(r"^\s*|$|(?m:x.x)", "Contiguous"), split(r"\p{Greek}+|\p{Han}{,2}|[a-f[x-z]]+", "Isolated")), None, None, {}),
}
for behavior in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
    for invert in (False, True):
        RECIPES[f"split_{behavior.lower()}{'_inverted' if invert else ''}"] = (
            "characters", None, sequence(split(r"\s|[aeiou]*", behavior, invert), {"type": "Punctuation", "behavior": behavior}), None,
            {"type": "Sequence", "decoders": [replace(r"e(?=r)|\s", "3", "Regex"), {"type": "Fuse"}, replace("r", "RR")]}, {})


def train(kind):
    unk = None if kind == "bytes" else "<unk>"
    options = {"prefix": {"continuing_subword_prefix": "##"}, "suffix": {"end_of_word_suffix": "</w>"}}.get(kind, {})
    tok = Tokenizer(models.BPE(unk_token=unk, **options))
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False) if kind == "bytes" else \
        pre_tokenizers.Metaspace(prepend_scheme="never") if kind in ("fallback", "characters") else pre_tokenizers.Whitespace()
    special = ["<s>", "</s>"] + ([unk] if unk else [])
    alphabet = pre_tokenizers.ByteLevel.alphabet() if kind == "bytes" else []
    size = {"bytes": 700, "fallback": 620}.get(kind, 460)
    trainer = trainers.BpeTrainer(vocab_size=size, min_frequency=2, special_tokens=special, initial_alphabet=alphabet, limit_alphabet=256 if kind == "bytes" else 160, show_progress=False, **options)
    texts = [t for t in WRITTEN if "<" not in t]
    tok.train_from_iterator(texts * 3 + [t.lower() for t in texts], trainer)
    return json.loads(tok.to_str())


def build(recipe, bases):
    base, normalizer, pre, post, decoder, changes = recipe
    out = json.loads(json.dumps(bases[base]))
    changes, model = dict(changes), out["model"]
    vocab = model["vocab"]
    if changes.get("byte_fallback"):
        for b in range(256):
            if not changes.get("some_bytes") or b % 5: vocab.setdefault(f"<0x{b:02X}>", len(vocab))
    changes.pop("some_bytes", None)
    if changes.pop("strings", False): model["merges"] = [" ".join(m) for m in model["merges"]]
    model.update(changes)
    added, nxt = [], len(vocab)
    for t in ([token("<unk>")] if "<unk>" in vocab else []) + ADDED:
        n = vocab.get(t["content"], nxt)
        nxt += n == nxt
        added.append({"id": n} | t)
    def fill(p):
        if p and p["type"] == "TemplateProcessing":
            ids = {a["content"]: a["id"] for a in added}
            used = [i["SpecialToken"]["id"] for i in p["single"] if "SpecialToken" in i]
            p["special_tokens"] = {u: {"id": u, "ids": [ids[u]], "tokens": [u]} for u in used}
        for q in (p or {}).get("processors", []): fill(q)
        return p
    out.update(added_tokens=added, normalizer=normalizer, pre_tokenizer=pre, post_processor=fill(post and json.loads(json.dumps(post))), decoder=decoder)
    return out


def cases_of(tok, texts):
    out = []
    for n, text in enumerate(texts):
        special = n % 3 != 0
        try:
            e = tok.encode(text, add_special_tokens=special)
            case = {"text": text, "special": special, "ids": e.ids, "tokens": [tok.id_to_token(i) for i in e.ids]}
            case["text_all"], case["text_plain"] = tok.decode(e.ids, skip_special_tokens=False), tok.decode(e.ids, skip_special_tokens=True)
        except BaseException as problem:  # the reference panics on a few
            print("no answer:", repr(text)[:60], str(problem)[:80], file=sys.stderr)
            continue
        out.append(case)
    return out


def dump(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("out", type=pathlib.Path)
    args.add_argument("--real", nargs="*", default=[])
    args.add_argument("--random", type=int)
    args.add_argument("--seed", type=int, default=1)
    args = args.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    texts = random_texts(args.random, args.seed) if args.random else WRITTEN
    if args.real:
        for item in args.real:
            name, file = item.split("=", 1)
            dump(args.out / f"{name}.cases.json", {"tokenizer": name, "cases": cases_of(Tokenizer.from_file(file), texts if args.random else texts + random_texts(200, args.seed))})
        return
    bases = {kind: train(kind) for kind in ("bytes", "fallback", "characters", "suffix", "prefix")}
    for name, recipe in RECIPES.items():
        made = build(recipe, bases)
        dump(args.out / f"{name}.json", made)
        tok = Tokenizer.from_str(json.dumps(made))
        dump(args.out / f"{name}.cases.json", {"tokenizer": name, "cases": cases_of(tok, texts)})


if __name__ == "__main__":
    main()
