"""Writes chats, templates for them and what the package transformers writes of them.

Usage: chats.py FILE
"""

import json
import sys

from transformers.utils.chat_template_utils import render_jinja_template

TEMPLATES = {
    "plain": """{{ bos_token }}{% for m in messages %}{{ '<' + m['role'] + '>' + m['content'] | trim + eos_token + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}""",
    "lines": """{# A comment #}
{%- if messages[0].role == 'system' -%}
    {%- set first = messages[0]['content'] %}
    {%- set rest = messages[1:] %}
{%- else %}
    {%- set first, rest = none, messages %}
{%- endif %}
  {% for m in rest %}
    {% if loop.first and first is not none %}
System: {{ first }}
    {% endif %}
[{{ loop.index }}/{{ loop.length }}] {{ m.role | upper }}{{ ":" if not loop.last else "!" }}
    {{- " " ~ m.content }}
    {%+ if m.role not in ['user', 'assistant'] %} other {% elif false %}never{% else %}{% endif +%}

  {% endfor %}
{% raw %}{{ not read }} {% %}{% endraw %}

end
""",
    "roles": """{% for m in messages if m.role != 'system' %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate.') }}{% endif %}{{ m.content[:4] }}|{% endfor %}""",
    "tools": """{%- set ns = namespace(found=false, count=0) %}
{%- for m in messages[::-1] %}{% if m.role == 'user' and not ns.found %}{% set ns.found = true %}{% set ns.count = loop.index %}{% endif %}{% endfor %}
{{- 'last ' ~ ns.count ~ '\n' }}
{%- if tools is defined and tools %}
    {%- for t in tools %}
{{ t | tojson }}
{{ t.function.parameters | tojson(indent=2) }}
        {%- for key, value in t['function'].items() if value is string %}

{{ key }}={{ value }}{{ ';' if not loop.last }}
        {%- endfor %}
    {%- endfor %}
{%- endif %}
{%- for m in messages %}
    {%- if m.tool_calls is defined and m.tool_calls is not none %}
        {%- for call in m.tool_calls %}
            {%- set call = call.function if 'function' in call else call %}
{{ call.name }}({% for k, v in call.arguments.items() %}{{ k }}={{ v }}{% if not loop.last %}, {% endif %}{% endfor %})
        {%- endfor %}
    {%- elif m.content is string %}
{{ m.role }}: {{ m.content.split('</think>')[-1].lstrip('\n') }}
    {%- endif %}
{%- endfor %}
{{ messages[-1].content == messages[0].content }} {{ messages | selectattr('role', 'equalto', 'user') | list | length }} {{ messages | map(attribute='role') | join(', ') }}
{{ (messages | rejectattr('role', 'eq', 'user') | map(attribute='content') | list)[-1:] }}
""",
    "values": """{%- macro tag(name, text='none', times=2) -%}
<{{ name }}>{{ text * times }}</{{ name }}>
{%- endmacro %}
{{ tag('a') }}{{ tag('b', text=7 | string, times=1) }}
{% for x in [1, 2.0, -3 // 2, -3 % 5, 7 / 2, 2 ** 3, 1e20, 'it\\'s', "é\\n", true, none, [1, 'a'], {'k': 'v', 'n': [none]}] %}{{ x }};{{ x is number }};{{ x is string }};{{ x is mapping }};{{ x is iterable }}
{% if loop.index > 11 %}{% break %}{% endif %}{% endfor %}
{{ 'a b c'.split() | last }} {{ 'x'.join(['1', '2']) }} {{ 'abc'[1] }} {{ 'abc'[-1] }} {{ 'Hello World'.title() }} {{ 'hello wOrld' | capitalize }} {{ '  a ' | trim }}.
{{ missing is defined }} {{ missing | default('d') }} {{ '' | default('e', true) }} {{ none | default('f') }} {{ 1 < 2 < 3 }} {{ not 1 == 2 }} {{ 'a' in 'cat' }} {{ 3 not in [1, 2] }}
{{ [3, 1, 2] | sort | join('-') }} {{ ['b', 'A'] | sort }} {{ [1, 2, 3][::-1] }} {{ range(3) | list }} {{ range(5, 0, -2) | list }} {{ [1, 1, 2] | unique | list }} {{ [1, 2] | sum }}
{{ {'b': 1, 'a': [2.5, 1e-7, 100000.0]} | tojson }} {{ {'b': 1, 'a': 2} | dictsort }} {{ "<&'\\"" | e }} {{ 'a\nb' | indent(2) }} {{ '%s has %d' | format('x', 3) }} {{ 'a-b'.replace('-', '+') }}
{% set x %}block {{ 1 + 1 }}{% endset %}{{ x }} {% filter upper %}loud{% endfilter %} {% generation %}gen{% endgeneration %}
{% for x in [] %}no{% else %}empty{% endfor %} {% set y = 1 %}{% for i in [1, 2] %}{% set y = i %}{% endfor %}{{ y }} {{ loop is defined }}
{{ strftime_now is defined }} {{ add_generation_prompt and 'yes' or 'no' }} {{ 'a' if false }}|
""",
}

SYSTEM = {"role": "system", "content": " Be brief. "}
USER = {"role": "user", "content": "Hello <b> \"you\" & 'me' é中 "}
ANSWER = {"role": "assistant", "content": "<think>\nhmm\n</think>\n\n Hi!"}
CALL = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {"x": 1, "a": ["b", None, 2.5, True]}}}],
}
TOOL = {"role": "tool", "content": "42"}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "f",
            "description": "d <x>",
            "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": []},
        },
    }
]
CHATS = [
    [USER],
    [SYSTEM, USER],
    [USER, ANSWER, USER],
    [SYSTEM, USER, ANSWER, USER, ANSWER],
    [SYSTEM, USER, CALL, TOOL, ANSWER, USER],
    [ANSWER],
]


def main():
    cases = []
    for name, template in TEMPLATES.items():
        for i, chat in enumerate(CHATS):
            for tools in [None, TOOLS]:
                generate, variables = i % 2 == 0, {"bos_token": "<s>", "eos_token": "</s>"}
                try:
                    want = render_jinja_template(
                        conversations=[chat],
                        tools=tools,
                        chat_template=template,
                        add_generation_prompt=generate,
                        **variables,
                    )[0][0]
                except Exception as error:
                    if "alternate" not in str(error):
                        raise
                    want = None
                cases.append(
                    {
                        "name": name,
                        "template": template,
                        "messages": chat,
                        "tools": tools,
                        "generate": generate,
                        "vars": variables,
                        "want": want,
                    }
                )
    with open(sys.argv[1], "w") as f:
        json.dump(cases, f, indent=1, ensure_ascii=False)
        f.write("\n")


main()
