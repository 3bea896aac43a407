package jinja

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/budget"
)

// cost returns the steps that a template takes. If it fails for another reason than steps, ok is
// false.
func cost(t *testing.T, source string, vars map[string]any) (steps int64, ok bool) {
	t.Helper()
	tpl, err := Parse(source)
	if err != nil {
		return 0, false
	}
	low, high := int64(0), int64(1<<19) // too few, and enough
	for low+1 < high {
		middle := (low + high) / 2
		_, err := tpl.Render(budget.New(context.Background(), budget.Limits{Steps: middle}), vars)
		switch {
		case errors.Is(err, budget.ErrSteps):
			low = middle
		case err != nil:
			return 0, false
		default:
			high = middle
		}
	}
	return high, true
}

// sized returns values of n parts by the name of their kind.
func sized(n int) map[string]any {
	list, fields := make([]any, n), NewDict()
	for i := range list {
		list[i] = fmt.Sprint("a", i)
		fields.Set(fmt.Sprint("a", i), i)
	}
	return map[string]any{"text": strings.Repeat("aB c", n/4), "digits": " " + strings.Repeat("7", n), "blanks": strings.Repeat(" ", n), "list": NewList(list), "numbers": NewList(slices.Repeat([]any{1}, n)), "fields": fields}
}

// grows reports whether the steps of a construct with a value x grow with the value, for at least
// one kind of value, and whether it runs at all.
func grows(t *testing.T, source string) (costs, runs bool) {
	t.Helper()
	const n = 1 << 7
	small, large := sized(n), sized(4*n)
	for kind := range small {
		a, ok1 := cost(t, source, map[string]any{"x": small[kind]})
		b, ok2 := cost(t, source, map[string]any{"x": large[kind]})
		runs = runs || ok1 && ok2
		costs = costs || ok1 && ok2 && b >= 2*a && b-a >= n/16
	}
	return costs, runs
}

// constantWork names the constructs that look at a bounded part of a value, whatever its size.
var constantWork = map[string]string{
	"tests":   "defined undefined none string boolean integer float number mapping callable true false iterable sequence odd even divisibleby",
	"filters": "safe default d abs round attr",
	"text":    "startswith endswith removeprefix removesuffix",
	"fields":  "get",
}

// TestCost runs each test, filter, method, operator and statement on values of a size and of four
// times the size. The steps grow with the work.
func TestCost(t *testing.T) {
	templates := map[string]map[string]string{"tests": {}, "filters": {}, "text": {}, "list": {}, "fields": {}, "operators": {}, "statements": {}, "functions": {}}
	add := func(table, name, source string) { templates[table][name] = source }
	for name := range tests {
		args := ""
		switch {
		case name == "divisibleby":
			args = "(1)"
		case name == "odd" || name == "even" || comparisons[name] == nil && !strings.Contains(" equalto eq sameas ne lt lessthan le gt greaterthan ge in ", " "+name+" "):
		default:
			args = "(x)"
		}
		source := fmt.Sprintf("{%% if x is %s%s %%}{%% endif %%}", name, args)
		if strings.Trim(name, "=!<>") == "" {
			source = fmt.Sprintf("{%% if [x] | select('%s', x) %%}{%% endif %%}", name)
		}
		add("tests", name, source)
	}
	arguments := map[string]string{"replace": "('a', 'bb')", "map": "('string')", "selectattr": "('x')", "rejectattr": "('x')", "attr": "('x')",
		"startswith": "('a')", "endswith": "('a')", "removeprefix": "('a')", "removesuffix": "('a')", "split": "('a')", "rsplit": "('a')",
		"find": "('q')", "count": "('a')", "index": "(x[-1])", "get": "('a9')", "join": "(x)", "format": "()"}
	for name := range filters {
		args := arguments[name]
		if name == "join" || name == "count" {
			args = "('-')"
		}
		add("filters", name, fmt.Sprintf("{%% set y = x | %s%s %%}", name, args))
	}
	for table, names := range map[string][]string{"text": slices.Collect(maps.Keys(textMethods)), "list": slices.Collect(maps.Keys(listMethods)), "fields": slices.Collect(maps.Keys(dictMethods))} {
		for _, name := range names {
			args := arguments[name]
			if args == "" {
				args = "()"
			}
			add(table, name, fmt.Sprintf("{%% set y = x.%s%s %%}", name, args))
		}
	}
	for name := range comparisons {
		add("operators", name, fmt.Sprintf("{%% if x[0:] %s x[0:] %%}{%% endif %%}", name))
	}
	for name, source := range map[string]string{"+": "x + x", "~": "x ~ x", "*": "x * 2", "%": "x % ()", "slice": "x[::2]", "index": "x[-1]", "list": "[x | length] + x", "and": "x and x[1:]"} {
		add("operators", name, "{% set y = "+source+" %}")
	}
	for name, source := range map[string]string{"for": "{% for c in x %}{% endfor %}", "for if": "{% for c in x if c %}{% endfor %}", "write": "{{ x }}",
		"filter": "{% filter upper %}{{ x }}{% endfilter %}", "macro": "{% macro f() %}{{ x }}{% endmacro %}{% set y = f() %}", "set": "{% set y %}{{ x }}{% endset %}",
		"with": "{% with y = x[1:] %}{% endwith %}", "if": "{% if x[1:] %}{% endif %}", "do": "{% do x[1:] %}", "generation": "{% generation %}{{ x }}{% endgeneration %}",
		"break": "{% for c in x %}{% if loop.last %}{% break %}{% endif %}{% endfor %}", "continue": "{% for c in x %}{% continue %}{% endfor %}"} {
		add("statements", name, source)
	}
	for name := range statements {
		if templates["statements"][name] == "" {
			t.Errorf("the statement %s has no case", name)
		}
	}
	for name, source := range map[string]string{"range": "{% set y = range(x | length) %}", "dict": "{% set y = dict(x) %}", "namespace": "{% set y = namespace(x) %}"} {
		add("functions", name, source)
	}
	for name := range globals() {
		if templates["functions"][name] == "" && name != "raise_exception" {
			t.Errorf("the function %s has no case", name)
		}
	}
	for table, list := range templates {
		constants := strings.Fields(constantWork[table])
		for name, source := range list {
			costs, runs := grows(t, source)
			switch {
			case !runs:
				if !slices.Contains(constants, name) {
					t.Errorf("%s: %s: %s runs on no value", table, name, source)
				}
			case costs == slices.Contains(constants, name):
				t.Errorf("%s: %s: %s: that steps follow the size is %v", table, name, source, costs)
			}
		}
	}
}

// TestMemory runs templates that ask for more memory than the budget has. They end before they have
// allocated much of it.
func TestMemory(t *testing.T) {
	big := "{% set s = 'a' * 8000000 %}"
	for _, source := range []string{
		big + "{% for i in range(100) %}{% for c in s %}{% break %}{% endfor %}{% endfor %}",
		big + "{{ s | list | length }}", big + "{{ s[::1] ~ s[::1] ~ s[::-1] }}", big + "{{ s.split('a') | length }}", big + "{{ s.rsplit('a') | length }}",
		big + "{{ [s, s, s] | string | length }}", big + "{{ s | escape ~ s | tojson }}", big + "{{ ('<' * 8000000) | e }}", big + "{{ s | indent(s) }}",
		"{% set s = '\\n' * 1000000 %}{{ s | indent('x' * 1000, true, true) }}", "{{ ('%s' * 100000) % ((['x' * 1000] * 1)) }}",
		"{% set s = '\\n' * 8000000 %}{{ s.splitlines() | length }}", "{% set d = dict() %}{% for i in range(900000) %}{% set d = dict(d, a=i) %}{% endfor %}",
		big + "{{ s | map('string') | list | length }}", big + "{{ s | sort | length }}", big + "{{ s | unique | length }}", big + "{{ s | reverse | length }}",
		"{{ range(1000000) | map('string') | list | tojson | length }}", "{% set n = namespace(l=[]) %}{% for i in range(100000) %}{% set n.l = n.l + [i] %}{% endfor %}",
		"{% macro f(n) %}{{ 'a' * 100000 }}{{ f(n) }}{% endmacro %}{{ f(1) }}", "{% set a = 'a' * 10000000 %}{% set b %}{{ a }}{{ a }}{% endset %}",
		"{% for i in range(1000000) %}{% set x = 'a' * 1000 %}{% endfor %}", "{{ [range(10000)] | tojson(indent=99) }}", "{{ range(500000) | tojson(separators=['x' * 10000, ':']) }}",
		"{% for i in range(400000) %}{% macro f() %}{% endmacro %}{% endfor %}", "{% set x = [1] %}{% for i in range(90) %}{% set x = x + x %}{% endfor %}",
		"{{ ('x' * 4000000).join(('y,' * 1000).split(',')) }}", "{{ ('ab' * 4000000).title() ~ ('ab' * 4000000).upper() ~ ('ab' * 4000000).capitalize() }}",
	} {
		tpl, err := Parse(source)
		if err != nil {
			t.Errorf("%.80q: %v", source, err)
			continue
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = tpl.Render(limited(), nil)
		runtime.ReadMemStats(&after)
		if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 256 {
			t.Errorf("%.80q makes %d MiB: %v", source, made, err)
		}
	}
}
