#!/usr/bin/env python3
"""Writes tests/hub_fetch/pattern_cases.txt: names, patterns, and whether Python's fnmatch.fnmatchcase takes them.

One case a line: `1` or `0`, the name and the pattern, both as hexadecimal digits of their bytes ("-" if empty).
Bytes that are no UTF-8 are decoded with surrogateescape, as Python decodes file names.
Usage: python3 tools/make_pattern_cases.py > tests/hub_fetch/pattern_cases.txt
"""
import fnmatch
import random
import warnings

warnings.simplefilter("ignore")

NAMES = ["", "a", "b", "ab", "abc", "a/b", "a.json", "config.json", "folder/config.json", ".gitattributes", "model-00001-of-00002.safetensors",
         "-", "]", "[", "!", "^", "\\", "a-b", "[!]", "[]", "[a", "a]", "*", "?", "é", "日本", "日本/語.txt", "\U0001f600", "a b", "\n", "a\nb", "A", "{a}",
         b"\xff".decode("utf-8", "surrogateescape"), b"a\xe6\x97".decode("utf-8", "surrogateescape"),
         b"\xed\xa0\x80".decode("utf-8", "surrogateescape"), b"\xc0\xaf".decode("utf-8", "surrogateescape")]
PATTERNS = ["", "*", "?", "??", "**", "*.json", "a*", "*a", "*/*", "folder/*", "[", "[]", "[!", "[!]", "[]]", "[!]]", "[]a]", "[!]a]", "[a", "[!a", "[a-c]", "[!a-c]",
            "[c-a]", "[!c-a]", "[a-]", "[-a]", "[--a]", "[!-a]", "[!--a]", "[a-c-e]", "[a-cx-z]", "[c-ax]", "[c-a!b]", "[c-a^b]", "[z-a!-c]", "[z-ab-cq]",
            "[^a]", "[\\]", "[\\\\-b]", "[a\\-c]", "[[]", "[[a]", "[[:alpha:]]", "[&&a]", "[a||b]", "[~~]", "[]-a]", "[]-Z]", "[!]-Z]", "[]a-Z]", "[*]", "[?]", "[!*]", "[!?]",
            "é", "[é]", "[à-ü]", "[!é]", "日*", "?本", "[日-本]", "\U0001f600", "[\U0001f600-\U0001f610]", "*.safetensors", "model-?????-of-*", "[!.]*", ".*",
            b"\xff".decode("utf-8", "surrogateescape"), b"[\x80-\xff]".decode("utf-8", "surrogateescape"), "a?b", "{a}", "a\\b", "***a***", "[a-a]", "[---]", "[-]", "[!-]", "[a-b-]", "[--]",
            "[!!]", "[!!-a]", "[!a-!]", "[ -~]", "[a]b]", "[a-]]", "*[!a-c]*", "[a-c]*[x-z]", "[%--]", "[+--a]"]


def field(text):
    return text.encode("utf-8", "surrogateescape").hex() or "-"


def main():
    cases = {(name, pattern) for name in NAMES for pattern in PATTERNS}
    chosen = random.Random(6)
    alphabet = "aabc-![]^*?\\é日"
    for _ in range(6000):
        pattern = "".join(chosen.choice(alphabet) for _ in range(chosen.randint(1, 9)))
        name = "".join(chosen.choice("abc-![]^é日") for _ in range(chosen.randint(0, 5)))
        cases.add((name, pattern))
    for _ in range(4000):  # sets alone: their grammar is the hard part
        inside = "".join(chosen.choice("abcd--!^]\\") for _ in range(chosen.randint(1, 8)))
        cases.add((chosen.choice("abcd-!^]\\e"), "[" + inside + "]"))
    for name, pattern in sorted(cases, key=lambda case: (case[1], case[0])):
        print(int(fnmatch.fnmatchcase(name, pattern)), field(name), field(pattern))


main()
