package jinja

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// at returns an argument by its place or its name, or nil.
func (a *arguments) at(i int, name string) any {
	if i < len(a.list) {
		return a.list[i]
	}
	return a.names[name]
}

// text returns an argument that is a text. If it is missing, it returns absent.
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

// A filter returns a value made from another. It counts its work.
type filter = func(r *run, v any, a *arguments) any

// filters are the known filters.
var filters map[string]filter

func init() {
	filters = map[string]filter{
		"length": func(r *run, v any, _ *arguments) any { return r.length(v) },
		"count":  func(r *run, v any, _ *arguments) any { return r.length(v) },
		"string": func(r *run, v any, _ *arguments) any { return r.text(v) },
		"safe":   func(_ *run, v any, _ *arguments) any { return v },
		"list":   func(r *run, v any, _ *arguments) any { return r.list(r.clone(v)) },
		"int":    intFilter, "float": floatFilter, "abs": absFilter, "round": roundFilter,
		"default": defaultFilter, "d": defaultFilter,
		"first": firstFilter, "last": lastFilter, "join": joinFilter, "reverse": reverseFilter,
		"sort": sortFilter, "unique": uniqueFilter, "sum": sumFilter, "min": minFilter, "max": maxFilter,
		"map": mapFilter, "select": selectFilter(true, false), "reject": selectFilter(false, false),
		"selectattr": selectFilter(true, true), "rejectattr": selectFilter(false, true),
		"items": itemsFilter, "dictsort": dictsortFilter,
		"tojson": toJSON, "indent": indentFilter, "escape": escapeFilter, "e": escapeFilter,
		"attr":   func(r *run, v any, a *arguments) any { return r.attribute(v, a.text(0, "name", ""), false) },
		"format": func(r *run, v any, a *arguments) any { return r.percent(r.text(v), r.list(a.list)) },
	}
	for _, name := range []string{"upper", "lower", "title", "capitalize", "replace"} {
		filters[name] = func(r *run, v any, a *arguments) any { return textMethods[name](r, r.text(v), a) }
	}
	filters["trim"] = func(r *run, v any, a *arguments) any { return textMethods["strip"](r, r.text(v), a) }
}

// filter applies a filter.
func (r *run) filter(f filter, v any, a *arguments) any {
	r.steps(1)
	return f(r, v, a)
}

// clone returns the parts of a value in a slice that the caller may change.
func (r *run) clone(v any) []any {
	list := r.items(v)
	r.steps(len(list))
	r.hold(itemBytes * len(list))
	return slices.Clone(list)
}

func intFilter(r *run, v any, a *arguments) any {
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
		s := r.numeral(x)
		if n, err := strconv.Atoi(s); err == nil {
			return n
		}
		if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) < 1<<53 {
			return int(f)
		}
	}
	return absent
}

// numeral returns a text without the blanks around it.
func (r *run) numeral(s string) string {
	r.reads(len(s))
	return strings.TrimSpace(s)
}

func floatFilter(r *run, v any, a *arguments) any {
	if x, ok := number(v); ok {
		return x
	}
	if s, ok := v.(string); ok {
		if x, err := strconv.ParseFloat(r.numeral(s), 64); err == nil {
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

func firstFilter(r *run, v any, _ *arguments) any {
	if s, ok := v.(string); ok {
		if c, size := utf8.DecodeRuneInString(s); size > 0 {
			return string(c)
		}
		return undefined{"first"}
	}
	if list := r.items(v); len(list) > 0 {
		return list[0]
	}
	return undefined{"first"}
}

func lastFilter(r *run, v any, _ *arguments) any {
	if s, ok := v.(string); ok {
		if c, size := utf8.DecodeLastRuneInString(s); size > 0 {
			return string(c)
		}
		return undefined{"last"}
	}
	if list := r.items(v); len(list) > 0 {
		return list[len(list)-1]
	}
	return undefined{"last"}
}

func joinFilter(r *run, v any, a *arguments) any {
	list, between := r.items(v), a.text(0, "d", "")
	name := a.text(1, "attribute", "")
	b := r.builder()
	for i, item := range list {
		if i > 0 {
			b.WriteString(between)
		}
		b.WriteString(r.text(r.part(item, name)))
	}
	return b.text()
}

// part returns a field of a value. Without a name it returns the value.
func (r *run) part(v any, name string) any {
	if name == "" {
		return v
	}
	return r.attribute(v, name, true)
}

func reverseFilter(r *run, v any, _ *arguments) any {
	list := r.clone(v)
	slices.Reverse(list)
	if _, ok := v.(string); !ok {
		return r.list(list)
	}
	b := r.builder()
	for _, c := range list {
		b.WriteString(c.(string))
	}
	return b.text()
}

func sortFilter(r *run, v any, a *arguments) any {
	name, exact := a.text(2, "attribute", ""), truth(a.at(1, "case_sensitive"))
	return r.list(r.sorted(r.items(v), truth(a.at(0, "reverse")), func(v any) any {
		v = r.part(v, name)
		if s, ok := v.(string); ok && !exact {
			return r.lower(s)
		}
		return v
	}))
}

// sorted returns values in the order of their keys.
func (r *run) sorted(list []any, reverse bool, key func(v any) any) []any {
	type entry struct{ key, value any }
	r.hold(3 * itemBytes * len(list))
	entries := make([]entry, len(list))
	for i, v := range list {
		entries[i] = entry{key(v), v}
	}
	order := func(x, y entry) int {
		switch {
		case r.less(x.key, y.key):
			return -1
		case r.less(y.key, x.key):
			return 1
		}
		return 0
	}
	if reverse {
		slices.SortStableFunc(entries, func(x, y entry) int { return order(y, x) })
	} else {
		slices.SortStableFunc(entries, order)
	}
	out := make([]any, len(list))
	for i, e := range entries {
		out[i] = e.value
	}
	return out
}

func uniqueFilter(r *run, v any, _ *arguments) any {
	var list []any
	for _, item := range r.items(v) {
		if !slices.ContainsFunc(list, func(x any) bool { return r.equal(x, item) }) {
			r.hold(itemBytes)
			list = append(list, item)
		}
	}
	return r.list(list)
}

func sumFilter(r *run, v any, a *arguments) any {
	var total any = 0
	name := a.text(0, "attribute", "")
	for _, item := range r.items(v) {
		total = r.compute("+", total, r.part(item, name))
	}
	return total
}

func minFilter(r *run, v any, _ *arguments) any { return r.extreme(v, r.less) }

func maxFilter(r *run, v any, _ *arguments) any {
	return r.extreme(v, func(a, b any) bool { return r.less(b, a) })
}

func (r *run) extreme(v any, before func(a, b any) bool) any {
	list := r.items(v)
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
	f, ok := filters[a.text(0, "filter", "")]
	for _, item := range r.items(v) {
		r.hold(itemBytes)
		if attr {
			part := r.attribute(item, name, true)
			if _, missing := part.(undefined); missing && a.names["default"] != nil {
				part = a.names["default"]
			}
			list = append(list, part)
			continue
		}
		if !ok {
			fail("map needs the name of a filter that is known, or an attribute")
		}
		list = append(list, r.filter(f, item, &arguments{a.list[min(1, len(a.list)):], a.names}))
	}
	return r.list(list)
}

// selectFilter returns the filter that keeps or drops the items that pass a test. With attr, the
// test is of an attribute of the item.
func selectFilter(keep, attr bool) filter {
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
				fail("the test %.60q is not supported", which)
			}
			test, args = known, args[1:]
		}
		list := []any{}
		for _, item := range r.items(v) {
			x := item
			if attr {
				x = r.attribute(item, name, true)
			}
			if r.test(test, x, &arguments{list: args}) == keep {
				r.hold(itemBytes)
				list = append(list, item)
			}
		}
		return r.list(list)
	}
}

func itemsFilter(r *run, v any, _ *arguments) any {
	d, ok := v.(*Dict)
	if !ok {
		return r.list(nil)
	}
	return dictMethods["items"](r, d, &arguments{})
}

func dictsortFilter(r *run, v any, a *arguments) any {
	d, ok := v.(*Dict)
	if !ok || len(a.list) > 0 || len(a.names) > 0 {
		fail("dictsort takes an object and no arguments")
	}
	pairs := dictMethods["items"](r, d, &arguments{}).(*List).Items
	return r.list(r.sorted(pairs, false, func(v any) any { return r.lower(v.(*List).Items[0].(string)) }))
}

func indentFilter(r *run, v any, a *arguments) any {
	by := a.at(0, "width")
	with, ok := by.(string)
	if !ok {
		with = strings.Repeat(" ", min(max(whole(by, 4), 0), MaxDepth))
	}
	first, blank := truth(a.at(1, "first")), truth(a.at(2, "blank"))
	b, i := r.builder(), 0
	for line := range strings.SplitSeq(r.text(v), "\n") {
		r.steps(1)
		if i > 0 {
			b.WriteByte('\n')
		}
		if (i > 0 || first) && (line != "" || blank) {
			b.WriteString(with)
		}
		b.WriteString(line)
		i++
	}
	return b.text()
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&#39;", `"`, "&#34;")

func escapeFilter(r *run, v any, _ *arguments) any {
	s, b := r.text(v), r.builder()
	r.reads(len(s))
	escaper.WriteString(b, s)
	return b.text()
}

// percent puts values in the places of a text that %s and %d mark.
func (r *run) percent(format string, v any) string {
	list := []any{v}
	if l, ok := v.(*List); ok {
		list = l.Items
	}
	b := r.builder()
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
			b.WriteString(r.text(list[0]))
			list = list[1:]
		default:
			fail("the format %.60q is not supported, or has too few values", format)
		}
	}
	return b.text()
}
