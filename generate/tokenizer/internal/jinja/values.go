package jinja

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxWeight bounds the values within a value; a text counts one for each 16 bytes.
const maxWeight = maxText / 16

// A List is a list of values.
type List struct {
	Items  []any
	weight int
	tuple  bool // shown in round brackets
}

// NewList returns a list. Its values must not change afterwards.
func NewList(items []any) *List {
	l := &List{Items: items, weight: 1}
	for _, v := range items {
		l.weight += weight(v)
	}
	bounded(l.weight)
	return l
}

// newTuple returns a list that is shown as one that does not change.
func newTuple(items ...any) *List {
	l := NewList(items)
	l.tuple = true
	return l
}

// weight returns how many values a value holds, itself included.
func weight(v any) int {
	switch x := v.(type) {
	case string:
		return 1 + len(x)/16
	case *List:
		return x.weight
	case *Dict:
		return 1 + x.weight
	}
	return 1
}

func bounded(weight int) {
	if weight > maxWeight {
		fail("a value holds more than %d values", maxWeight)
	}
}

// A Dict is an object whose fields have an order.
type Dict struct {
	keys   []string
	fields map[string]any
	weight int
}

// NewDict returns an object without fields.
func NewDict() *Dict { return &Dict{fields: map[string]any{}} }

// Set sets a field.
func (d *Dict) Set(key string, value any) {
	if _, has := d.fields[key]; !has {
		d.keys = append(d.keys, key)
	}
	d.weight += weight(key) + weight(value)
	bounded(d.weight)
	d.fields[key] = value
}

// A Function is a value that templates call.
type Function func(args []any) (any, error)

// A call is a function that takes arguments with names and the run.
type call func(r *run, a *arguments) any

// namespace is an object whose attributes templates may set.
type namespace struct{ *Dict }

// undefined is the value of a variable that is not there.
type undefined struct{ name string }

// truth reports whether a value counts as true.
func truth(v any) bool {
	switch x := v.(type) {
	case nil, undefined:
		return false
	case bool:
		return x
	case int:
		return x != 0
	case float64:
		return x != 0
	case string:
		return x != ""
	case *List:
		return len(x.Items) > 0
	case *Dict:
		return len(x.keys) > 0
	}
	return true
}

// text returns a value as a template writes it.
func text(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case undefined:
		return ""
	}
	return repr(v, 0)
}

// repr returns a value as Python shows it.
func repr(v any, depth int) string {
	if depth > maxDepth {
		fail("values stand more than %d deep in one another", maxDepth)
	}
	switch x := v.(type) {
	case nil:
		return "None"
	case bool:
		if x {
			return "True"
		}
		return "False"
	case int:
		return strconv.Itoa(x)
	case float64:
		return floatText(x)
	case string:
		return quoted(x)
	case undefined:
		return "Undefined"
	case *List:
		parts := make([]string, len(x.Items))
		for i, item := range x.Items {
			parts[i] = repr(item, depth+1)
		}
		inner := strings.Join(parts, ", ")
		switch {
		case x.tuple && len(parts) == 1:
			return "(" + inner + ",)"
		case x.tuple:
			return "(" + inner + ")"
		}
		return "[" + inner + "]"
	case *Dict:
		parts := make([]string, len(x.keys))
		for i, key := range x.keys {
			parts[i] = quoted(key) + ": " + repr(x.fields[key], depth+1)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprintf("<%s>", kindOf(v))
}

// quoted returns a text in quotes as Python shows it.
func quoted(s string) string {
	quote := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = `"`
	}
	r := strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`, quote, `\`+quote)
	return quote + r.Replace(s) + quote
}

// floatText returns a number as Python writes it.
func floatText(x float64) string {
	switch {
	case math.IsNaN(x):
		return "nan"
	case math.IsInf(x, 1):
		return "inf"
	case math.IsInf(x, -1):
		return "-inf"
	case x != 0 && (math.Abs(x) >= 1e16 || math.Abs(x) < 1e-4):
		return strconv.FormatFloat(x, 'e', -1, 64)
	}
	s := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// kindOf returns the name of a value's kind, for errors and tests.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "none"
	case undefined:
		return "undefined"
	case bool:
		return "boolean"
	case int:
		return "integer"
	case float64:
		return "float"
	case string:
		return "string"
	case *List:
		return "list"
	case *Dict:
		return "mapping"
	case Function, call:
		return "function"
	}
	return "object"
}

// number returns a number as a float.
func number(v any) (float64, bool) {
	switch x := v.(type) {
	case bool:
		if x {
			return 1, true
		}
		return 0, true
	case int:
		return float64(x), true
	case float64:
		return x, true
	}
	return 0, false
}

// equal compares two values.
func equal(a, b any) bool { return equalAt(a, b, 0) }

func equalAt(a, b any, depth int) bool {
	if depth > maxDepth {
		fail("values stand more than %d deep in one another", maxDepth)
	}
	if x, ok := number(a); ok {
		y, ok := number(b)
		return ok && x == y
	}
	switch x := a.(type) {
	case nil:
		return b == nil
	case string:
		y, ok := b.(string)
		return ok && x == y
	case undefined:
		_, ok := b.(undefined)
		return ok
	case *List:
		y, ok := b.(*List)
		if !ok || len(x.Items) != len(y.Items) {
			return false
		}
		for i := range x.Items {
			if !equalAt(x.Items[i], y.Items[i], depth+1) {
				return false
			}
		}
		return true
	case *Dict:
		y, ok := b.(*Dict)
		if !ok || len(x.keys) != len(y.keys) {
			return false
		}
		for key, value := range x.fields {
			other, has := y.fields[key]
			if !has || !equalAt(value, other, depth+1) {
				return false
			}
		}
		return true
	}
	return false
}

// less orders two numbers, texts or lists.
func less(a, b any) bool {
	x, ok1 := number(a)
	y, ok2 := number(b)
	if ok1 && ok2 {
		return x < y
	}
	s, ok1 := a.(string)
	t, ok2 := b.(string)
	if !ok1 || !ok2 {
		fail("%s and %s have no order", kindOf(a), kindOf(b))
	}
	return s < t
}

// contains reports whether a value is in another.
func contains(in, v any) bool {
	switch x := in.(type) {
	case string:
		s, ok := v.(string)
		if !ok {
			fail("in a text only texts are found, not %s", kindOf(v))
		}
		return strings.Contains(x, s)
	case *List:
		for _, item := range x.Items {
			if equal(item, v) {
				return true
			}
		}
		return false
	case *Dict:
		s, ok := v.(string)
		_, has := x.fields[s]
		return ok && has
	case namespace:
		return contains(x.Dict, v)
	case undefined:
		return false
	}
	fail("nothing is in %s", kindOf(in))
	return false
}

// items returns the parts of a value that loops go through.
func items(v any) []any {
	switch x := v.(type) {
	case *List:
		return x.Items
	case *Dict:
		list := make([]any, len(x.keys))
		for i, key := range x.keys {
			list[i] = key
		}
		return list
	case string:
		list := make([]any, 0, len(x))
		for _, r := range x {
			list = append(list, string(r))
		}
		return list
	case undefined:
		return nil
	}
	fail("%s is not a list", kindOf(v))
	return nil
}

// length returns the count of parts of a value.
func length(v any) int {
	switch x := v.(type) {
	case string:
		return utf8.RuneCountInString(x)
	case *List:
		return len(x.Items)
	case *Dict:
		return len(x.keys)
	case undefined:
		return 0
	}
	fail("%s has no length", kindOf(v))
	return 0
}

// index returns the part of a value at an index or a key.
func index(v, at any) any {
	if key, ok := at.(string); ok {
		return attribute(v, key, true)
	}
	i, ok := at.(int)
	if !ok {
		fail("%s is not an index", kindOf(at))
	}
	switch x := v.(type) {
	case *List:
		if i < 0 {
			i += len(x.Items)
		}
		if i >= 0 && i < len(x.Items) {
			return x.Items[i]
		}
	case string:
		list := []rune(x)
		if i < 0 {
			i += len(list)
		}
		if i >= 0 && i < len(list) {
			return string(list[i])
		}
	case undefined:
		fail("%q is not defined", x.name)
	case nil:
		fail("none has no parts")
	}
	return undefined{fmt.Sprint(i)}
}

// attribute returns a field or a method of a value. Item says that it was written in
// brackets, so that fields come first.
func attribute(v any, name string, item bool) any {
	switch x := v.(type) {
	case *Dict:
		if value, has := x.fields[name]; has && (item || dictMethods[name] == nil) {
			return value
		}
		if m := dictMethods[name]; m != nil {
			return bind(m, x)
		}
	case namespace:
		if value, has := x.fields[name]; has {
			return value
		}
	case string:
		if m := textMethods[name]; m != nil {
			return bind(m, x)
		}
	case *List:
		if m := listMethods[name]; m != nil {
			return bind(m, x)
		}
	case *loop:
		return x.attribute(name)
	case undefined:
		fail("%q is not defined", x.name)
	case nil:
		fail("none has no attribute %q", name)
	}
	return undefined{name}
}

// slice returns the parts of a value from one index to another in steps.
func slice(v any, from, to, step any) any {
	var list []any
	if x, ok := v.(string); ok {
		list = items(x)
	} else if x, ok := v.(*List); ok {
		list = x.Items
	} else {
		fail("%s has no slices", kindOf(v))
	}
	by := whole(step, 1)
	if by == 0 {
		fail("the step of a slice is 0")
	}
	n := len(list)
	low, high := 0, n
	if by < 0 {
		low, high = -1, n-1
	}
	bound := func(v any, absent int) int {
		i := whole(v, absent)
		if i < 0 && v != nil {
			i += n
		}
		return min(max(i, low), high)
	}
	start, end := bound(from, low), bound(to, high)
	if by < 0 {
		start, end = bound(from, high), bound(to, low)
	}
	out := []any{}
	for i := start; by > 0 && i < end || by < 0 && i > end; i += by {
		out = append(out, list[i])
	}
	if _, ok := v.(string); ok {
		return joinTexts(out)
	}
	return NewList(out)
}

func joinTexts(list []any) string {
	var b strings.Builder
	for _, v := range list {
		b.WriteString(text(v))
	}
	return b.String()
}

// whole returns an integer, or what stands for none.
func whole(v any, absent int) int {
	switch x := v.(type) {
	case nil:
		return absent
	case int:
		return min(max(x, -maxBudget), maxBudget)
	case bool:
		n, _ := number(x)
		return int(n)
	}
	fail("%s is not an integer", kindOf(v))
	return 0
}
