package jinja

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// at returns an argument by its place or its name, or nil.
func (a *arguments) at(i int, name string) any {
	if i < len(a.list) {
		return a.list[i]
	}
	return a.names[name]
}

// text returns an argument that is a text, or what stands for none.
func (a *arguments) text(i int, name, absent string) string {
	v := a.at(i, name)
	if v == nil {
		return absent
	}
	s, ok := v.(string)
	if !ok {
		fail("the argument %s is %s, not a text", name, kindOf(v))
	}
	return s
}

// filters are the ones that are known.
var filters map[string]func(r *run, v any, a *arguments) any

func init() {
	filters = map[string]func(r *run, v any, a *arguments) any{
		"length": func(_ *run, v any, _ *arguments) any { return length(v) },
		"count":  func(_ *run, v any, _ *arguments) any { return length(v) },
		"string": func(_ *run, v any, _ *arguments) any { return text(v) },
		"safe":   func(_ *run, v any, _ *arguments) any { return v },
		"list":   func(_ *run, v any, _ *arguments) any { return NewList(slices.Clone(items(v))) },
		"int":    intFilter, "float": floatFilter, "abs": absFilter, "round": roundFilter,
		"default": defaultFilter, "d": defaultFilter,
		"first": firstFilter, "last": lastFilter, "join": joinFilter, "reverse": reverseFilter,
		"sort": sortFilter, "unique": uniqueFilter, "sum": sumFilter, "min": minFilter, "max": maxFilter,
		"map": mapFilter, "select": selectFilter(true, false), "reject": selectFilter(false, false),
		"selectattr": selectFilter(true, true), "rejectattr": selectFilter(false, true),
		"items": itemsFilter, "dictsort": dictsortFilter,
		"tojson": toJSON, "indent": indentFilter, "escape": escapeFilter, "e": escapeFilter,
		"attr":   func(_ *run, v any, a *arguments) any { return attribute(v, a.text(0, "name", ""), false) },
		"format": func(r *run, v any, a *arguments) any { return r.percent(text(v), NewList(a.list)) },
	}
	for _, name := range []string{"upper", "lower", "title", "capitalize", "replace"} {
		filters[name] = func(r *run, v any, a *arguments) any { return textMethods[name](r, text(v), a) }
	}
	filters["trim"] = func(r *run, v any, a *arguments) any { return textMethods["strip"](r, text(v), a) }
}

func intFilter(_ *run, v any, a *arguments) any {
	absent := a.at(0, "default")
	if absent == nil {
		absent = 0
	}
	switch x := v.(type) {
	case int:
		return x
	case bool:
		n, _ := number(x)
		return int(n)
	case float64:
		if math.Abs(x) < 1<<53 {
			return int(x)
		}
	case string:
		s := strings.TrimSpace(x)
		if n, err := strconv.Atoi(s); err == nil {
			return n
		}
		if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) < 1<<53 {
			return int(f)
		}
	}
	return absent
}

func floatFilter(_ *run, v any, a *arguments) any {
	if x, ok := number(v); ok {
		return x
	}
	if s, ok := v.(string); ok {
		if x, err := strconv.ParseFloat(strings.TrimSpace(s), 64); err == nil {
			return x
		}
	}
	if absent := a.at(0, "default"); absent != nil {
		return absent
	}
	return 0.0
}

func absFilter(_ *run, v any, _ *arguments) any {
	if n, ok := v.(int); ok {
		return max(n, -n)
	}
	x, ok := number(v)
	if !ok {
		fail("abs of %s", kindOf(v))
	}
	return math.Abs(x)
}

func roundFilter(_ *run, v any, a *arguments) any {
	x, ok := number(v)
	if !ok || len(a.names) > 0 {
		fail("round of %s is not supported", kindOf(v))
	}
	scale := math.Pow10(whole(a.at(0, "precision"), 0))
	return math.RoundToEven(x*scale) / scale
}

func defaultFilter(_ *run, v any, a *arguments) any {
	_, missing := v.(undefined)
	if missing || truth(a.at(1, "boolean")) && !truth(v) {
		if absent := a.at(0, "default_value"); absent != nil || len(a.list) > 0 {
			return absent
		}
		return ""
	}
	return v
}

func firstFilter(_ *run, v any, _ *arguments) any {
	if list := items(v); len(list) > 0 {
		return list[0]
	}
	return undefined{"first"}
}

func lastFilter(_ *run, v any, _ *arguments) any {
	if list := items(v); len(list) > 0 {
		return list[len(list)-1]
	}
	return undefined{"last"}
}

func joinFilter(r *run, v any, a *arguments) any {
	list, between := items(v), a.text(0, "d", "")
	name := a.text(1, "attribute", "")
	parts := make([]string, len(list))
	size := 0
	for i, item := range list {
		if name != "" {
			item = attribute(item, name, true)
		}
		parts[i] = r.text(item)
		size += len(parts[i]) + len(between)
	}
	r.charge(size)
	return strings.Join(parts, between)
}

func reverseFilter(_ *run, v any, _ *arguments) any {
	list := slices.Clone(items(v))
	slices.Reverse(list)
	if _, ok := v.(string); ok {
		return joinTexts(list)
	}
	return NewList(list)
}

func sortFilter(r *run, v any, a *arguments) any {
	list := slices.Clone(items(v))
	name := a.text(2, "attribute", "")
	exact := truth(a.at(1, "case_sensitive"))
	key := func(v any) any {
		if name != "" {
			v = attribute(v, name, true)
		}
		if s, ok := v.(string); ok && !exact {
			return strings.ToLower(s)
		}
		return v
	}
	order := func(x, y any) int {
		r.charge(0)
		switch x, y := key(x), key(y); {
		case less(x, y):
			return -1
		case less(y, x):
			return 1
		}
		return 0
	}
	if truth(a.at(0, "reverse")) {
		slices.SortStableFunc(list, func(x, y any) int { return order(y, x) })
	} else {
		slices.SortStableFunc(list, order)
	}
	return NewList(list)
}

func uniqueFilter(r *run, v any, _ *arguments) any {
	var list []any
	for _, item := range items(v) {
		r.charge(16 * len(list))
		if !slices.ContainsFunc(list, func(x any) bool { return equal(x, item) }) {
			list = append(list, item)
		}
	}
	return NewList(list)
}

func sumFilter(r *run, v any, a *arguments) any {
	var total any = 0
	name := a.text(0, "attribute", "")
	for _, item := range items(v) {
		if name != "" {
			item = attribute(item, name, true)
		}
		total = r.compute("+", total, item)
	}
	return total
}

func minFilter(_ *run, v any, _ *arguments) any { return extreme(v, less) }

func maxFilter(_ *run, v any, _ *arguments) any {
	return extreme(v, func(a, b any) bool { return less(b, a) })
}

func extreme(v any, before func(a, b any) bool) any {
	list := items(v)
	if len(list) == 0 {
		return undefined{"min"}
	}
	best := list[0]
	for _, item := range list[1:] {
		if before(item, best) {
			best = item
		}
	}
	return best
}

func mapFilter(r *run, v any, a *arguments) any {
	var list []any
	name, attr := a.names["attribute"].(string)
	for _, item := range items(v) {
		r.charge(16)
		if attr {
			part := attribute(item, name, true)
			if _, missing := part.(undefined); missing && a.names["default"] != nil {
				part = a.names["default"]
			}
			list = append(list, part)
			continue
		}
		f, ok := filters[a.text(0, "filter", "")]
		if !ok {
			fail("map needs the name of a filter that is known, or an attribute")
		}
		list = append(list, f(r, item, &arguments{a.list[1:], a.names}))
	}
	return NewList(list)
}

// selectFilter returns the filter that keeps the items, or those of whose attribute, a
// test holds.
func selectFilter(keep, attr bool) func(r *run, v any, a *arguments) any {
	return func(r *run, v any, a *arguments) any {
		args, name := a.list, ""
		if attr {
			if name = a.text(0, "attribute", ""); len(args) > 0 {
				args = args[1:]
			}
		}
		test := func(_ *run, v any, _ *arguments) bool { return truth(v) }
		if len(args) > 0 {
			which, _ := args[0].(string)
			known, ok := tests[which]
			if !ok {
				fail("the test %q is not supported", which)
			}
			test, args = known, args[1:]
		}
		list := []any{}
		for _, item := range items(v) {
			r.charge(16)
			x := item
			if attr {
				x = attribute(item, name, true)
			}
			if test(r, x, &arguments{list: args}) == keep {
				list = append(list, item)
			}
		}
		return NewList(list)
	}
}

func itemsFilter(r *run, v any, _ *arguments) any {
	d, ok := v.(*Dict)
	if !ok {
		return NewList(nil)
	}
	return dictMethods["items"](r, d, &arguments{})
}

func dictsortFilter(r *run, v any, a *arguments) any {
	d, ok := v.(*Dict)
	if !ok || len(a.list) > 0 || len(a.names) > 0 {
		fail("dictsort takes an object and no arguments")
	}
	pairs := dictMethods["items"](r, d, &arguments{}).(*List).Items
	slices.SortStableFunc(pairs, func(x, y any) int {
		return strings.Compare(strings.ToLower(text(x.(*List).Items[0])), strings.ToLower(text(y.(*List).Items[0])))
	})
	return NewList(pairs)
}

func indentFilter(r *run, v any, a *arguments) any {
	by := a.at(0, "width")
	with, ok := by.(string)
	if !ok {
		with = strings.Repeat(" ", min(max(whole(by, 4), 0), maxDepth))
	}
	lines := strings.Split(text(v), "\n")
	for i, line := range lines {
		if (i > 0 || truth(a.at(1, "first"))) && (line != "" || truth(a.at(2, "blank"))) {
			lines[i] = with + line
		}
		r.charge(len(lines[i]))
	}
	return strings.Join(lines, "\n")
}

func escapeFilter(_ *run, v any, _ *arguments) any {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&#39;", `"`, "&#34;").Replace(text(v))
}

// percent puts values in the places of a text that %s and %d mark.
func (r *run) percent(format string, v any) string {
	list := []any{v}
	if l, ok := v.(*List); ok {
		list = l.Items
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		switch c := format[i]; {
		case c == '%':
			b.WriteByte('%')
		case (c == 's' || c == 'd') && len(list) > 0:
			s := r.text(list[0])
			r.charge(len(s))
			b.WriteString(s)
			list = list[1:]
		default:
			fail("the format %.60q is not supported, or has too few values", format)
		}
		r.charge(b.Len() / 16)
	}
	return b.String()
}

// titleCase makes the first letter of each word a capital and the others small.
func titleCase(s string) string {
	before := false
	return strings.Map(func(c rune) rune {
		defer func() { before = unicode.IsLetter(c) }()
		if before {
			return unicode.ToLower(c)
		}
		return unicode.ToTitle(c)
	}, s)
}
