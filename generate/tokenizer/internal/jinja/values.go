package jinja

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxWeight bounds the values within a value that a template makes. A text counts one for each 16
// bytes.
const maxWeight = MaxText / 16

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
		l.weight = min(l.weight+weight(v), maxWeight+1)
	}
	return l
}

func (l *List) check() { checkWeight(l.weight) }

// tuple returns a list that is shown as a tuple.
func (r *run) tuple(items ...any) *List {
	l := r.list(items)
	l.tuple = true
	return l
}

// weight returns the number of values in a value, itself included.
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

func checkWeight(weight int) {
	if weight > maxWeight {
		fail("a value holds more than %d values", maxWeight)
	}
}

// A Dict is an object with ordered fields.
type Dict struct {
	keys   []string
	fields map[string]any
	weight int
}

// NewDict returns an object without fields.
func NewDict() *Dict { return &Dict{fields: map[string]any{}} }

// Set sets a field.
func (d *Dict) Set(key string, value any) {
	old, has := d.fields[key]
	if has {
		d.weight -= weight(old)
	} else {
		d.keys = append(d.keys, key)
		d.weight += weight(key)
	}
	d.weight = min(d.weight+weight(value), maxWeight+1)
	d.fields[key] = value
}

func (d *Dict) check() { checkWeight(d.weight) }

// Texts returns a value of FromJSON with each text in it replaced by f. Keys stay.
func Texts(v any, f func(string) string) any {
	switch v := v.(type) {
	case string:
		return f(v)
	case *List:
		items := make([]any, len(v.Items))
		for i, item := range v.Items {
			items[i] = Texts(item, f)
		}
		return NewList(items)
	case *Dict:
		d := NewDict()
		for _, key := range v.keys {
			d.Set(key, Texts(v.fields[key], f))
		}
		return d
	}
	return v
}

// A Function is a value that templates call.
type Function func(args []any) (any, error)

// A call is a function that takes named arguments and the run.
type call func(r *run, a *arguments) any

// namespace is an object with attributes that templates may set.
type namespace struct{ *Dict }

// undefined is the value of a missing variable.
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
func (r *run) text(v any) string {
	r.steps(1)
	switch x := v.(type) {
	case string:
		return x
	case undefined:
		return ""
	}
	b := r.builder()
	b.repr(v, 0)
	return b.text()
}

// repr appends a value as Python shows it.
func (b *builder) repr(v any, depth int) {
	if depth > MaxDepth {
		fail("values stand more than %d deep in one another", MaxDepth)
	}
	b.run.steps(1)
	switch x := v.(type) {
	case nil:
		b.WriteString("None")
	case bool:
		if x {
			b.WriteString("True")
		} else {
			b.WriteString("False")
		}
	case int:
		b.WriteString(strconv.Itoa(x))
	case float64:
		b.WriteString(floatText(x))
	case string:
		b.quoted(x)
	case undefined:
		b.WriteString("Undefined")
	case *List:
		open, end := "[", "]"
		switch {
		case x.tuple && len(x.Items) == 1:
			open, end = "(", ",)"
		case x.tuple:
			open, end = "(", ")"
		}
		b.WriteString(open)
		for i, item := range x.Items {
			if i > 0 {
				b.WriteString(", ")
			}
			b.repr(item, depth+1)
		}
		b.WriteString(end)
	case *Dict:
		b.WriteByte('{')
		for i, key := range x.keys {
			if i > 0 {
				b.WriteString(", ")
			}
			b.quoted(key)
			b.WriteString(": ")
			b.repr(x.fields[key], depth+1)
		}
		b.WriteByte('}')
	default:
		fmt.Fprintf(b, "<%s>", kindOf(v))
	}
}

// quotes escape the inside of a text, by the quotes around it.
var quotes = map[string]*strings.Replacer{
	"'": strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`, "'", `\'`),
	`"`: strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`, `"`, `\"`),
}

// quoted appends a text in quotes as Python shows it.
func (b *builder) quoted(s string) {
	b.run.reads(len(s))
	quote := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = `"`
	}
	b.WriteString(quote)
	quotes[quote].WriteString(b, s)
	b.WriteString(quote)
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
