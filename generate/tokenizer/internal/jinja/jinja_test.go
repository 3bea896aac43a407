package jinja

import (
	"context"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/budget"
)

// limited returns a budget like a chat's.
func limited() *budget.Budget {
	return budget.New(context.Background(), budget.Limits{Bytes: 64 << 20, Steps: 1 << 22})
}

func TestRender(t *testing.T) {
	vars := map[string]any{"text": "héllo", "list": NewList([]any{1, "b", nil}), "n": 3}
	cases := []struct{ template, want string }{
		{"a {{ text }} b", "a héllo b"},
		{"{{ text[1] }}{{ text[-1] }}{{ list[-1] }}{{ list[9] }}", "éoNone"},
		{"{{ text[1:3] }}|{{ list[::-1] }}|{{ list[5:] }}", "él|[None, 'b', 1]|[]"},
		{"  {% if n %}\nx\n  {% endif %}\ny\n\n", "x\ny\n"},
		{"a  {%- if n -%}  b  {%- endif %}  c", "ab  c"},
		{"{%+ if n %}\n x{% endif +%}\n", " x"},
		{"{# {{ no }} #}\n{{ '}}' ~ \"{%\" }}", "}}{%"},
		{"{{ {'a': {'b': 1}}.a.b + 1 }}", "2"},
		{"{{ -n ** 2 }} {{ -n | abs }} {{ 7 % -3 }} {{ 7 // -2 }} {{ 1_000 + 1e3 }}", "9 3 -2 -4 2000.0"},
		{"{% for k, v in {'x': 1, 'y': 2}.items() %}{{ k }}{{ v }}{{ loop.cycle('-', '+') }}{% endfor %}", "x1-y2+"},
		{"{% for i in range(9) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}", "02"},
		{"{% macro f(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ f(1) }}{{ f(b=1, a=0) }}", "1201"},
		{"{% with x = 1, y = 2 %}{{ x + y }}{% endwith %}{{ x is defined }}", "3False"},
		{"{{ 'a' 'b' }} {{ (1,) }} {{ 'x' if n > 5 else 'y' if n else 'z' }}", "ab (1,) y"},
		{"{{ none is none }} {{ n is not string }} {{ 4 is divisibleby 2 and true }}", "True True True"},
		{"{{ range(3) }}{{ range(1, 8, 3) }}{{ range(1, 7, 3) }}{{ range(5, 1, -2) }}{{ range(4, 1, -2) }}{{ range(3, 1) }}{{ range(1, 3, -1) }}{{ range(2, 2) }}{{ range(-1, 0, 5) }}",
			"[0, 1, 2][1, 4, 7][1, 4][5, 3][4, 2][][][][-1]"},
		{"{% raw %}{%}{{ x }}{% - endraw + %}", "{%}{{ x }}"},
		{"{{ 'aBc' | first }}{{ 'aBc' | last }}{{ '' | first }}{{ 'a,b,,c'.rsplit(',', 2) }}{{ 'ab'.replace('', '-') }}", "ac['a,b', '', 'c']-a-b-"},
		{"{{ ['b', 'A', 'c'] | sort }}{{ ['b', 'A'] | sort(reverse=true, case_sensitive=true) }}{{ ['xax', 'a'] | map('trim', 'x') | list }}", "['A', 'b', 'c']['b', 'A']['a', 'a']"},
		{"{% set n = namespace(i=0) %}{% for i in range(1000) %}{% set n.i = n.i + 1 %}{% endfor %}{{ n.i }}", "1000"},
		{"{% macro f(x) %}{% macro g() %}{{ x }}{% endmacro %}{{ g() }}{% endmacro %}{{ f(1) }}{{ f(2) }}", "12"},
		{"{{ 'a\\u00e9\\x41\\n' | tojson(ensure_ascii=true) }} {{ [1] | tojson(indent=1) }}", "\"a\\u00e9A\\n\" [\n 1\n]"},
	}
	for _, c := range cases {
		tpl, err := Parse(c.template)
		if err != nil {
			t.Errorf("%q: %v", c.template, err)
			continue
		}
		if got, err := tpl.Render(limited(), vars); err != nil || got != c.want {
			t.Errorf("%q gives %q, not %q: %v", c.template, got, c.want, err)
		}
	}
}

// TestRefused parses and runs templates that are wrong or endless. Each ends soon, with an error.
func TestRefused(t *testing.T) {
	loops := strings.Repeat("{% for i in range(30) %}", 8) + strings.Repeat("{% endfor %}", 8)
	cases := []struct{ template, want string }{
		{"{{ 1", "no end"},
		{"{% if x %}", "endif"},
		{"{% endif %}", "endif"},
		{"{% include 'x' %}", "include"},
		{"{{ x | unknown }}", "unknown"},
		{"{{ x is odd_one }}", "odd_one"},
		{"{{ x.y }}", `"x" is not defined`},
		{"{{ 1 + 'a' }}", "integer + string"},
		{"{{ 1 // 0 }}", "division"},
		{"{{ raise_exception('stop here') }}", "stop here"},
		{"{{ [].append(1) }}", "append"},
		{"{{ [1] | map(filter='nothing') }}", "map needs"},
		{"{% raw %}{%}", "endraw"},
		{"{% set s = 'a' * 8000000 %}{{ strftime(s) }}", "not defined"},
		{"{{ 99999999999999999999 }}", "64 bits"},
		{"{{ " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000) + " }}", "deep"},
		{"{{ " + strings.Repeat("-", 5000) + "1 }}", "deep"},
		{strings.Repeat("{% if 1 %}", 5000), "deep"},
		{loops, "steps"},
		{"{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}", "deep"},
		{"{% set n = namespace(s='a') %}{% for i in range(99) %}{% set n.s = n.s + n.s %}{% endfor %}", "than"},
		{"{% set n = namespace(s=[1]) %}{% for i in range(99) %}{% set n.s = [n.s, n.s] %}{% endfor %}{{ n.s }}", "values"},
		{"{{ 'a' * 99999999999 }}", "bytes"},
		{"{{ range(99999999999) | length }}", "range"},
		{"{{ ('a' * 9999999).replace('a', 'b' * 999999) }}", "bytes"},
		{"{{ ('a' * 999999).replace('', 'b' * 999999) }}", "bytes"},
	}
	for _, c := range cases {
		tpl, err := Parse(c.template)
		if err == nil {
			_, err = tpl.Render(limited(), nil)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: the error %v does not say %q", c.template, err, c.want)
		}
	}
}

// FuzzRender parses and runs templates of any bytes.
func FuzzRender(f *testing.F) {
	f.Add("{% for m in list %}{{ m | tojson }}{{ loop.last }}{% endfor %}")
	f.Add("{%- set ns = namespace(a=1) %}{% set ns.a = ns.a + 1 -%} {{ ns.a }}")
	f.Fuzz(func(t *testing.T, source string) {
		tpl, err := Parse(source)
		if err != nil {
			return
		}
		if text, err := tpl.Render(limited(), map[string]any{"list": NewList([]any{1, "b", nil})}); err == nil && len(text) > MaxText {
			t.Fatalf("a text of %d bytes", len(text))
		}
	})
}
