#!/usr/bin/env python3
"""Writes tests/chat/golden: what jinja2 makes of small snippets and of whole chat templates.

The environment is built as transformers builds it (immutable sandbox, trim_blocks, lstrip_blocks, loopcontrols, the
generation tag, its own tojson, namespace and dict). Needs jinja2 >= 3.1 (Debian: python3-jinja2); the committed files were
made with 3.1.6. Templates in tests/chat/golden/templates are written for this project, in the style of published families.

usage: tools/make_chat_goldens.py        (rewrites snippets.json and chats.json)
"""
import copy
import datetime
import json
import pathlib

import jinja2
import jinja2.ext
import jinja2.sandbox

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "chat" / "golden"


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_render"), [], [], body).set_lineno(line)

    def _render(self, caller):
        return caller()


class Dict:
    def __call__(self, *args, **kwargs):
        return dict(*args, **kwargs)

    def fromkeys(self, *args):
        return dict.fromkeys(*args)


class Namespace(jinja2.utils.Namespace):
    def __init__(*args, **kwargs):
        self, args = args[0], args[1:]
        attributes = dict(*args, **kwargs)
        if any(name.startswith("_") for name in attributes):
            raise jinja2.exceptions.SecurityError("underscore")
        jinja2.utils.Namespace.__init__(self, attributes)

    def __setitem__(self, name, value):
        if name.startswith("_"):
            raise jinja2.exceptions.SecurityError("underscore")
        jinja2.utils.Namespace.__setitem__(self, name, value)


def make_environment():
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals.update(raise_exception=raise_exception, namespace=Namespace, dict=Dict(),
                       strftime_now=lambda form: datetime.datetime.now().strftime(form))
    return env


ENV = make_environment()


def outcome(template, variables):
    try:
        return {"output": ENV.from_string(template).render(**copy.deepcopy(variables))}
    except Exception as error:  # every kind of Python error counts as "raises"
        return {"raises": f"{type(error).__name__}: {error}"[:100]}


# Every snippet sees these.
VARIABLES = {
    "s": "Hello World", "t": "  mixed Çase ß éa\tx\n", "e": "", "u": "日本語 テスト 🎉", "n": 5, "m": -3, "f": 2.5, "z": 0,
    "yes": True, "no": None, "l": [3, 1, 2], "words": ["b", "A", "c", "a"], "pairs": [[1, "x"], [2, "y"], [1, "z"]],
    "d": {"b": 1, "a": 2, "C": 3}, "deep": {"k": {"x": [1, 2, {"y": "deep"}]}, "items": 7}, "empty": [],
    "people": [{"name": "Bob", "age": 3, "tags": ["p", "q"]}, {"name": "alice", "age": 10}, {"name": "Carl", "age": 3, "x": None}],
    "mixed": [1, "a", None, 2.0, True, [1]], "html": '<a href="x">b & c</a>', "num": "42", "quotes": 'it\'s "q"',
    "big": 1e22, "small": 1e-7, "tree": [{"v": 1, "c": [{"v": 2, "c": []}, {"v": 3, "c": [{"v": 4, "c": []}]}]}],
}

EXPRESSIONS = """
1 + 2 * 3 - 4 / 2|7 // 2|-7 // 2|7 // -2|7.5 // 2|-7.5 // 2|7 % 3|-7 % 3|7 % -3|-7.5 % 2|2 ** 10|2 ** -1|2 ** 3 ** 2|-2 ** 2|(-8) ** 2
1 / 0|1 // 0|1 % 0|0 ** -1|1.0 / 0|9223372036854775807|1e3|1.5e-3|1_000|0x1F|0o17|0b101|00|1.|.5|1e400|5 / 2|6 / 2|True + 1|yes + yes
1e16|1e15|123456789012345680.0|0.1 + 0.2|1e-4|0.0001|0.00001|1e22|big|small|-0.0|100.0|1.0|3.0e5|2.5e-10
's' + 1|s + n|1 + '1'|l + l|l + (1,)|(1, 2) + (3,)|s * 2|2 * s|l * 2|(1,) * 3|s * -1|s * 1.5|d + d|no + 1|undef + 1|1 - undef|-undef|-s
'a' ~ 1 ~ none ~ true ~ 2.0 ~ l|s ~ undef|1 ~ 2|'a' 'b' "c"|'a' ~ 'b' 'c'
1 < 2 < 3|1 < 3 < 2|1 == 1.0|1 == true|'1' == 1|l == [3, 1, 2]|d == {'a': 2, 'b': 1, 'C': 3}|none == undef|undef == undef2|1 < 'a'|none < 1|'a' < 'b'|'Z' < 'a'|[1, 2] < [1, 3]|(1,) < (1, 0)|1 != 2 != 1|2 >= 2 > 1|none == none
1 in l|9 in l|'Hell' in s|'x' not in s|'a' in d|1 in d|1 in 'abc'|none in mixed|2 in mixed|1 in none|1 in 5|undef in l|1 in undef|'' in ''|3 in range(5)|not 1 in l
not yes|not e|not not l|yes and n|e or 'x'|e and undef.x|yes or undef.x|none or false or []|0 or ''|not undef|yes and not no
n if yes|n if no|n if no else m|'a' if e else 'b' if l else 'c'|(n if no) is defined|('x' if no) ~ 'y'
l[0]|l[-1]|l[5]|l[-9]|l['a']|l[1.0]|l[true]|s[0]|s[-1]|s[99]|u[0]|u[-1]|u[1:3]|u[::-1]|s[::-1]|s[::2]|s[1:-1]|s[-3:]|s[:3]|s[5:2]|s[::-2]|l[::-1]|l[1:]|l[:2]|l[::0]|l['a':]|d['a']|d['zz']|d[0]|d[1:]|none[0]|n[0]|n[1:]|undef[0]|undef['x']|(1, 2, 3)[1:]|range(10)[2:8:2]|range(5)[-1]|l.0|pairs.1.0|s[10:0:-3]|l[-100:100]|s[none:2]|l[:none]
d.a|d.zz|d.zz.y|d.items|deep.items|deep['items']|deep.k.x[2].y|deep.k.q.r|none.x|none.x.y|undef.x|s.foo|s.upper|l.append|l.append(1)|l.pop()|d.update({})|d.pop('a')|d.clear|d.setdefault('q', 1)|d._x|s.__class__|s.__class__.__mro__|d.keys()|d.values()|d.items()|d.items()|list|d.get('a')|d.get('zz')|d.get('zz', 5)|d.get()|d.get([])|l.count(1)|l.index(1)|l.index(9)|l.copy()|(1, 2).count(1)|n.real|f.is_integer()|n.bit_length()|people[0].name|people[0].tags[0]|d.fromkeys
[]|[1]|[1, 'a', None]|()|(1,)|(1, 2)|{}|{'a': 1}|{'a': 1, 'a': 2}|{1: 'a', true: 'b'}|{none: 1}|{[1]: 2}|[[1, [2]], {'k': ('t',)}]|[undef]|{'k': undef}|'it\\'s'|"it's"|quotes|[quotes]|['it\\'s', "q\\"", 'both\\'"']|['\\n\\t\\\\']|['é日🎉']|['\\x00\\x7f\\u200b']|[1.0, true, none, 1e100]
'\\n'|'a\\tb'|'\\u00e9'|'\\x41'|'\\101'|'\\q'|'\\é'|'\\\\'|"\\""|'\\U0001F389'|'a\\
b'|'line
two'
"""

METHODS = """
upper()|lower()|strip()|lstrip()|rstrip()|title()|capitalize()|swapcase()|casefold()|split()|split(' ')|split('l')|split('l', 1)|split(none, 1)|split('')|split(sep='o')|rsplit('l', 1)|rsplit(none, 1)|rsplit()|rsplit('o')
strip('Hd')|lstrip('H')|rstrip('dl')|startswith('Hello')|startswith(('x', 'H'))|startswith('e', 1)|startswith(1)|endswith('ld')|endswith('l', 0, 4)|replace('l', 'L')|replace('l', 'L', 1)|replace('', '-')|replace('l')|find('o')|find('o', 5)|find('zz')|rfind('o')|index('o')|index('zz')|rindex('o')|count('l')|count('')|count('l', 5)
join(words)|join([1])|join('ab')|join({})|splitlines()|splitlines(true)|zfill(15)|center(20)|center(21, '*')|ljust(15, '.')|rjust(15)|center(5)|partition(' ')|partition('zz')|rpartition('o')|removeprefix('Hello ')|removesuffix('World')|expandtabs(4)|isdigit()|isalpha()|isalnum()|isspace()|isupper()|islower()|istitle()|isnumeric()|isdecimal()|isascii()|isprintable()|isidentifier()|format(1)|foo()|upper(1)|upper
"""

FILTERS = """
abs|abs(1)|attr('upper')|attr('a')|batch(2)|batch(2, 'x')|capitalize|center(30)|count|d('D')|default('D')|default('D', true)|default|dictsort|dictsort(true)|dictsort(by='value')|dictsort(reverse=true)|e|escape|escape|string|filesizeformat|filesizeformat(true)|first|float|float(1.5)|forceescape|format(1)|format(s, n)|groupby('age')|groupby('name')|indent|indent(2)|indent('> ', true)|indent(2, blank=true)|int|int(7)|int(base=16)|items|items|list|join|join(', ')|join(',', attribute='name')|last|length|list|lower|map('upper')|list|map(attribute='name')|list|map(attribute='x', default='D')|list|map('nosuch')|list|map|list|max|min|max(attribute='age')|min(attribute='name')|reject('odd')|list|reject|list|rejectattr('x')|list|replace('l', 'L')|replace('l', 'L', 2)|reverse|list|reverse|round|round(1)|round(-1)|round(1, 'ceil')|round(0, 'floor')|round(1, 'other')|safe|select('odd')|list|select|list|select('string')|list|select('in', [1, 2])|list|selectattr('age', 'equalto', 3)|map(attribute='name')|list|selectattr('x', 'defined')|list|selectattr('nosuch')|list|slice(2)|list|slice(2, 'x')|list|sort|sort(reverse=true)|sort(case_sensitive=true)|sort(attribute='age')|sort(attribute='age,name')|string|striptags|sum|sum(start=10)|sum(attribute='age')|title|tojson|tojson(indent=2)|tojson(indent=0)|tojson(ensure_ascii=true)|tojson(sort_keys=true)|tojson(separators=(',', ':'))|tojson(indent='--')|trim|trim('dH')|truncate(8)|truncate(5, true)|truncate(9, false, '…', 0)|unique|list|unique(true)|list|upper|urlencode|wordcount|wordwrap(6)|xmlattr|nosuch
"""

TESTS = "boolean|callable|defined|divisibleby(2)|divisibleby 3|eq 5|equalto 'x'|escaped|even|false|filter|float|ge 2|gt 2|in [1, 5]|in 'Hello World!'|integer|iterable|le 5|lower|lt 9|mapping|ne 5|none|number|odd|sameas none|sameas yes|sequence|string|test|true|undefined|upper|not none|not defined|nosuch|== 5|lessthan(9)"

STATEMENTS = r"""
{% for x in l %}{{ x }}{% endfor %}
{% for x in l %}{{ loop.index }}/{{ loop.index0 }}/{{ loop.revindex }}/{{ loop.revindex0 }}/{{ loop.first }}/{{ loop.last }}/{{ loop.length }}/{{ loop.depth }} {% endfor %}
{% for x in l %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }},{{ loop.cycle('a', 'b') }};{% endfor %}
{% for x in pairs %}{{ loop.changed(x[0]) }}{% endfor %}
{% for a, b in pairs %}{{ a }}={{ b }};{% endfor %}
{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for k in d %}{{ k }}{% endfor %}
{% for a, b in l %}{% endfor %}
{% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}
{% for x in l if x > 1 %}{{ loop.index }}:{{ x }}:{{ loop.last }}:{{ loop.length }} {% else %}none{% endfor %}
{% for x in l if x > 9 %}{{ x }}{% else %}none{% endfor %}
{% for x in empty %}{% else %}empty{% endfor %}{% for x in undef %}{% else %}undef{% endfor %}
{% for x in none %}{% endfor %}
{% for x in 5 %}{% endfor %}
{% for c in u %}[{{ c }}]{% endfor %}
{% for x in tree recursive %}{{ x.v }}@{{ loop.depth }}{% if x.c %}({{ loop(x.c) }}){% endif %}{% endfor %}
{% for x in l %}{{ loop(l) }}{% endfor %}
{% for x in range(6) %}{% if x == 1 %}{% continue %}{% elif x == 4 %}{% break %}{% endif %}{{ x }}{% else %}E{% endfor %}
{% for x in l %}{% continue %}{% else %}all skipped{% endfor %}
{% break %}
{% for x in l %}{% for y in l %}{{ loop.index }}{% endfor %}{{ loop.index }} {% endfor %}
{% set x = 1 %}{% for i in l %}{{ x }}{% set x = x + 1 %}{{ x }};{% endfor %}{{ x }}
{% set x = 1 %}{% if yes %}{% set x = 2 %}{% endif %}{{ x }}
{% if no %}{% set x = 2 %}{% endif %}{{ x is defined }}
{% for i in l %}{% if i == 3 %}{% set n = i %}{% endif %}{{ n }};{% endfor %}{{ n }}
{% for i in l %}{{ s }}{% set s = i %}{{ s }}{% endfor %}
{% set s %}{{ s }}inner{% endset %}{{ s }}
{% set x | upper | replace('A', 'b') %}a{{ s }}{% endset %}{{ x }}
{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set a = b, a %}{{ a }}
{% set a, b = [1] %}
{% set ns = namespace(x=1, l=[]) %}{% for i in l %}{% set ns.x = ns.x + i %}{% set ns.l = ns.l + [i] %}{% endfor %}{{ ns.x }}{{ ns.l }}{{ ns }}{{ ns.zz }}{{ ns['x'] }}
{% set ns = namespace({'a': 1}, b=2) %}{{ ns.a + ns.b }}{% set ns.a, ns.b = 5, 6 %}{{ ns.a }}{{ ns.b }}
{% set ns = namespace() %}{% set ns._x = 1 %}
{% set d.x = 1 %}
{% set loop = 1 %}{{ loop }}
{% for x in l %}{% set loop = 1 %}{% endfor %}
{% set 1 = 2 %}
{% set true = 2 %}
{% macro f(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ f(1) }},{{ f(1, 3) }},{{ f(b=5, a=4) }},{{ f() }},{{ f(1, 2, 3) }}
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, 2) }}
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(b=2) }}
{% macro f(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, 3, k=4) }}{{ f(*[1, 2], **{'z': 3}) }}
{% macro f() %}{{ x }}{% endmacro %}{% set x = 5 %}{{ f() }}
{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}
{% macro f(a) %}[{{ caller(a) }}]{% endmacro %}{% call(x) f(7) %}<{{ x }}>{% endcall %}
{% macro f() %}[{{ caller() }}{{ caller() }}]{% endmacro %}{% call f() %}{{ s }}{% set q = 1 %}{% endcall %}{{ q is defined }}
{% macro f() %}{{ caller is defined }}{% endmacro %}{{ f() }}
{% macro f() %}x{% endmacro %}{% call f() %}{% endcall %}
{% call s %}{% endcall %}
{% macro f(a, b) %}{{ a }}{% endmacro %}{{ f }}{{ f.name }}{{ f.arguments }}{{ f is callable }}
{% macro f(x, y=1, z) %}{% endmacro %}
{% for i in l %}{% macro g() %}{{ i }}{% endmacro %}{{ g() }}{% endfor %}
{% macro outer() %}{% macro inner() %}in{% endmacro %}{{ inner() }}{% endmacro %}{{ outer() }}{{ inner is defined }}
{% with a = 1, b = n %}{{ a }}{{ b }}{% set c = 3 %}{% endwith %}{{ a is defined }}{{ c is defined }}
{% with %}{{ n }}{% endwith %}
{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}
{% filter upper %}abc {{ s }}{% endfilter %}{% filter indent(2) | upper %}a
b{% endfilter %}
{% generation %}{{ s }}{% set g = 1 %}{% endgeneration %}{{ g is defined }}
{% raw %}{{ x }}{% if %}{% endraw %}|{%- raw -%}  y  {%- endraw -%}  z
a {#- c -#} b {# multi
line #} c
{% if a %}1{% elif yes %}2{% else %}3{% endif %}{% if no: %}{% else %}colon{% endif %}
{% if x is defined and x %}{% elif l | length > 2 and not no %}ok{% endif %}
{% print s, n %}{% print %}
{{ raise_exception('no') }}
{{ range(3) }}{{ range(1, 10, 3) | list }}{{ range(5, 0, -2) | list }}{{ range(0) | list }}{{ range(1, 2, 0) }}
{{ range(100001) }}
{{ dict(a=1, b=2) }}{{ dict([('x', 1)]) }}{{ dict({'a': 1}, b=2) | tojson }}{{ dict.fromkeys('ab', 1) }}
{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.next() }}{% set j = joiner(', ') %}{{ j() }}a{{ j() }}b
{{ strftime_now('%Y') | length }}{{ strftime_now('') }}{{ strftime_now('%d %b') is string }}
{{ ('<' | e) + '>' }}{{ '<' + ('>' | safe) }}{{ ('a' | safe) ~ '<' }}{{ ('%s' | safe) % '<' }}{{ ('<' | safe).join(['>', '&']) }}{{ '<' | safe | e }}{{ ['<' | e] }}
{{ '%s|%5d|%-5d|%05.1f|%x|%e|%g|%%|%r|%c' % ('a', 3, 3, 2.55, 255, 12345.678, 0.0001, 'q', 'z') }}
{{ '%s' % l }}{{ '%s %s' % (1, 2) }}{{ '%(a)s' % d }}{{ '%s' % (1, 2) }}
{{ '%s %s' % 1 }}
{{ '%d' % 'x' }}
{{ '%d' % 2.9 }}{{ '%i' % true }}{{ '%5s|%-5s|%.2s' % ('a', 'b', 'cde') }}{{ '%+d % d' % (1, 2) }}{{ '%#x' % 255 }}{{ '%*d' % (4, 1) }}
{{ '{} {}'.format(1, 'a') }}{{ '{1}{0}'.format(1, 2) }}{{ '{a}{b[0]}{c.x}'.format(a=1, b=[2], c={'x': 3}) }}{{ '{:>5}|{:<5}|{:^5}|{:05d}|{:,}|{:.2f}|{:x}|{!r}|{:*^7}|{:+}'.format(1, 2, 3, 4, 5000, 2.345, 255, 'q', 'm', 3) }}{{ '{{}}'.format() }}{{ '{:{}}'.format('a', 4) }}
{{ '{}'.format() }}
{{ '{a}'.format(1) }}
{{ '{:d}'.format('a') }}
{% for x in people | groupby('age') %}{{ x.grouper }}:{{ x.list | map(attribute='name') | join(',') }};{% endfor %}
{% set m = l | map('string') %}{{ m | list }}{{ m | list }}{{ m is iterable }}{{ m is sequence }}{% if m %}truthy{% endif %}
{{ (l | map('string')) | length }}
{{ l | map('string') | first }}{{ l | map('upper') | list }}
{{ people | map(attribute='tags.0') | list }}{{ people | sum(attribute='age') }}{{ pairs | map(attribute=1) | join }}
{{ [true, 1, 1.0, '1'] | unique | list }}{{ [1, 'a'] | sort }}
{{ mixed | tojson }}{{ {'a': (1, 2), 1: none, true: 1.5} | tojson }}{{ {'é': '日\n"\\/'} | tojson }}{{ undef | tojson }}
{{ {(1, 2): 3} | tojson }}
{{ l | map('string') | tojson }}
{{ n is divisibleby }}{{ n | replace }}
{{ foo() }}
{{ s() }}
{{ s.upper().lower().title()[0] }}{{ (s | upper).lower() }}{{ s | upper | lower }}{{ -n | abs }}{{ 'a' + 'b' | upper }}
{{ x is not defined or x }}{{ n is number and s is string }}{{ not n is string }}{{ (n is odd) ~ '' }}
{{ undef }}{{ undef | length }}{{ undef | list }}{{ undef | upper }}{{ undef | join }}{{ undef | first }}{{ undef | default('x') | upper }}{{ undef | trim }}{{ undef is iterable }}{{ undef is sequence }}{{ undef | string }}
{{ undef | sort }}{{ undef | int }}
{{ undef | items | list }}{{ undef | map('x') | list }}{{ undef | sum }}{{ undef | max }}{{ undef | reverse | list }}{{ undef | tojson(1) }}
"""

WHITESPACE = [
    "a\n{% if yes %}\nb\n{% endif %}\nc\n", "a\n  {% if yes %}  \n  b\n  {% endif %}\n  c\n\n", "  {{ n }}  \n  {{ n }}\n", "a  {%- if yes -%}  b  {%- endif -%}  c",
    "a\n {%+ if yes %}\nb{% endif +%}\nc", "  {# c #}\n  x {# d #}\ny", "{% if yes %}x{% endif %}  {% if yes %}\ny{% endif %}", "x {% if yes %}\n\ny{% endif %}\n\n",
    "\n\n{{ n }}\n\n\n", "a\r\nb\rc\n{{ 'x\r\ny' }}\r\n", "{% for x in l %}\n  {{ x }},\n{% endfor %}\nend", "{%- for x in l %}\n{{- x }}\n{%- endfor %}\n", "  \t {% set x = 1 %}  \n  {{ x }}",
    "a\u00a0{%- if yes %}b{% endif %}", "text {% raw %}\n  {{ x }}\n{% endraw %}\n more", "  {% raw %}a{% endraw %}", "{{ n }}\n{#- c -#}\n{{ n }}", "{{- n -}}  \n x", "{% if yes -%}\n\n  a\n{%- else %}{% endif %}.", "{{ '{%' }}{{ '}}' }}{{ \"#}\" }}",
    "{{ {'a': {'b': 1}}}}", "{{ {'a': {'b': 1}}['a']['b'] }}", "{ { } } {% raw %}{#{% endraw %}", "{{n}}{{n}}", "a{{ n\n}}b", "{%if yes%}x{%endif%}", "", "\n", "\n\n", "{{ [1,\n 2,\n] }}", "100% {n} # no {", "{", "a {",
]

BROKEN = [
    "{{", "{{ n", "{% if", "{% if yes %}", "{% for x in l %}", "{% endif %}", "{% else %}", "{% nosuch %}", "{{ n | }}", "{{ | n }}", "{{ n n }}", "{{ 1 + }}", "{{ (1 }}", "{{ 1) }}", "{{ [1, 2 }}", "{{ 'a }}", "{# open", "{% raw %}", "{{ n | nosuch }}",
    "{{ n is nosuch }}", "{% if no %}{{ n | nosuch }}{% endif %}ok", "{% for x l %}{% endfor %}", "{% set %}{% endset %}", "{% set x %}", "{% macro %}{% endmacro %}", "{{ n.}}", "{{ n..a }}", "{{ n[] }}", "{{ n[1 }}", "{{ {1} }}", "{{ {1:} }}", "{{ f(a=1, 2) }}", "{{ f(*l, 1) }}", "{{ $ }}", "{{ a ? b }}", "{{ a && b }}", "{{ !a }}", "{{ x = 1 }}",
    "{{ n is string is number }}", "{% if yes %}{% endfor %}", "{% block x %}", "{{ 1 if }}", "{{ lambda }}", "{{ not }}", "{% set x = %}", "{% include 'x' %}", "{% import 'x' as y %}", "{% extends 'x' %}", "{{ [x for x in l] }}", "{{ 1 is 1 }}", "{{ }}", "{%%}", "{{ ''.join }}",
]


def snippets():
    out = []

    def add(template):
        out.append({"template": template, **outcome(template, VARIABLES)})

    for expression in cut(EXPRESSIONS):
        add("{{ " + expression + " }}")
    for method in cut(METHODS):
        for subject in ("s", "t", "u", "e"):
            add("{{ [" + subject + "." + method + "] }}")
    for chain in cut(FILTERS):
        for subject in ("s", "n", "f", "l", "words", "d", "people", "html", "mixed", "e", "no", "num", "u"):
            result = {"template": "{{ " + subject + " | " + chain + " }}"}
            result.update(outcome(result["template"], VARIABLES))
            if " at 0x" not in result.get("output", ""):
                out.append(result)
    for test in TESTS.split("|"):
        for subject in ("n", "s", "l", "d", "no", "undef", "f", "yes", "u"):
            add("{{ " + subject + " is " + test + " }}")
    for statement in split_statements(STATEMENTS):
        add(statement)
    for template in WHITESPACE + BROKEN:
        add(template)
    return [row for row in out if " at 0x" not in row.get("output", "")]


def cut(text):
    """Pieces between bars and line ends that are not inside quotes or brackets; `x|list` and the like stay together."""
    pieces, current, quote, depth, i = [], "", "", 0, 0
    text = text.strip("\n")
    while i < len(text):
        c = text[i]
        if quote:
            current += c
            if c == "\\":
                current += text[i + 1]
                i += 1
            elif c == quote:
                quote = ""
        elif c in "'\"":
            quote, current = c, current + c
        elif c in "([{":
            depth, current = depth + 1, current + c
        elif c in ")]}":
            depth, current = depth - 1, current + c
        elif (c == "|" or c == "\n") and depth == 0:
            pieces.append(current)
            current = ""
        else:
            current += c
        i += 1
    pieces.append(current)
    out = []
    for piece in (p.strip() for p in pieces):
        out.append(piece)
        if piece in ("list", "string") and len(out) > 1:  # also as the end of the chain before it
            out[-1] = out[-2] + "|" + piece
    return [p for p in out if p]


def split_statements(text):
    out, current = [], ""
    for line in text.strip("\n").split("\n"):
        current = line if not current else current + "\n" + line
        if current.count("{%") == current.count("%}") and current.count("{#") == current.count("#}"):
            opened = sum(current.count("{% " + t) for t in ("filter",)) - current.count("endfilter")
            if opened <= 0:
                out.append(current)
                current = ""
    if current:
        out.append(current)
    return out


USER = {"role": "user", "content": "Hi there"}
SYSTEM = {"role": "system", "content": " Be brief.\n"}
ANSWER = {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHello"}
CALL = {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "id": "123456789", "function": {
    "name": "get_weather", "arguments": {"city": "Zürich", "n": [1, 2.5, None, True], "deep": {"a": "<b>"}}}}]}
CALL_TEXT = {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{\"a\": 1}"}}, {"function": {"name": "g", "arguments": {}}}]}
RESULT = {"role": "tool", "name": "get_weather", "content": "{\"t\": 21}", "tool_call_id": "123456789"}
RESULT_OBJECT = {"role": "tool", "content": {"t": 21, "s": "ä"}}
PARTS = {"role": "user", "content": [{"type": "text", "text": "look "}, {"type": "image", "image": "x"}, {"type": "text", "text": " at é"}]}
CHATS = {
    "user": [USER], "system": [SYSTEM, USER], "turns": [SYSTEM, USER, ANSWER, {"role": "user", "content": "再见 🎉\n"}],
    "call": [USER, CALL, RESULT, {"role": "assistant", "content": "21 degrees"}, USER], "calls": [SYSTEM, USER, CALL_TEXT, RESULT, RESULT],
    "object": [USER, CALL, RESULT_OBJECT], "parts": [PARTS], "parts_system": [{"role": "system", "content": [{"type": "text", "text": "sys"}]}, PARTS, ANSWER],
    "answer_first": [ANSWER], "nothing": [], "twice": [USER, USER], "systems": [SYSTEM, SYSTEM], "empty": [{"role": "user", "content": ""}],
    "other_role": [{"role": "critic", "content": "y"}], "no_content": [{"role": "user"}],
    "reasoning": [USER, {"role": "assistant", "content": "x", "reasoning_content": "because\n"}, USER, {"role": "assistant", "content": "y", "reasoning_content": "so"}],
    "quotes": [{"role": "user", "content": "{{ x }} {% raw %} \"'\\ <|im_end|>"}],
}
TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "description": "Weather \"now\" <b>", "parameters": {"type": "object", "properties": {
        "city": {"type": "string", "description": "näme", "enum": ["a", "b"]}, "n": {"type": "array", "items": {"type": "number"}, "nullable": True},
        "at": {"type": "object", "properties": {"x": {"type": "integer", "default": 0}}, "required": ["x"]}}, "required": ["city"]}}},
    {"type": "function", "function": {"name": "f", "description": "", "parameters": {"type": "object", "properties": {}}}},
]


def chats():
    rows = []
    for path in sorted((GOLDEN / "templates").glob("*.jinja")):
        for chat, messages in CHATS.items():
            for tools in (False, True):
                for extra in ({}, {"add_generation_prompt": False}, {"enable_thinking": False}):
                    if extra and (tools or chat not in ("user", "turns", "call", "reasoning", "parts_system")):
                        continue
                    variables = {"bos_token": "<s>", "eos_token": "</s>", "documents": None, "add_generation_prompt": True, **extra}
                    result = outcome(path.read_text(), {**variables, "messages": messages, "tools": TOOLS if tools else None})
                    rows.append({"template": path.name, "chat": chat, "tools": tools, "variables": variables, **result})
    return {"chats": CHATS, "tools": TOOLS, "rows": rows}


def lines(rows):
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]"


def main():
    found = snippets()
    (GOLDEN / "snippets.json").write_text(
        '{"jinja2": ' + json.dumps(jinja2.__version__) + ',\n"variables": ' + json.dumps(VARIABLES, ensure_ascii=False) + ',\n"rows": ' + lines(found) + "}\n")
    whole = chats()
    (GOLDEN / "chats.json").write_text(
        '{"jinja2": ' + json.dumps(jinja2.__version__) + ',\n"chats": ' + json.dumps(whole["chats"], ensure_ascii=False) + ',\n"tools": ' +
        json.dumps(whole["tools"], ensure_ascii=False) + ',\n"rows": ' + lines(whole["rows"]) + "}\n")
    for name, rows in (("snippets", found), ("chats", whole["rows"])):
        print(name, len(rows), "rows,", sum("raises" in row for row in rows), "raise")


if __name__ == "__main__":
    main()
