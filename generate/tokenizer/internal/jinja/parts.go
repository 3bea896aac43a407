package jinja

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// equal compares two values. It counts the smaller one.
func (r *run) equal(a, b any) bool { return r.equalAt(a, b, 0) }

func (r *run) equalAt(a, b any, depth int) bool {
	if depth > MaxDepth {
		fail("values stand more than %d deep in one another", MaxDepth)
	}
	r.steps(1)
	if x, ok := number(a); ok {
		y, ok := number(b)
		return ok && x == y
	}
	switch x := a.(type) {
	case nil:
		return b == nil
	case string:
		y, ok := b.(string)
		if !ok || len(x) != len(y) {
			return false
		}
		r.reads(len(x))
		return x == y
	case undefined:
		_, ok := b.(undefined)
		return ok
	case *List:
		y, ok := b.(*List)
		if !ok || len(x.Items) != len(y.Items) {
			return false
		}
		for i := range x.Items {
			if !r.equalAt(x.Items[i], y.Items[i], depth+1) {
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
			r.reads(len(key))
			other, has := y.fields[key]
			if !has || !r.equalAt(value, other, depth+1) {
				return false
			}
		}
		return true
	}
	return false
}

// less orders two numbers or texts. It counts the smaller text.
func (r *run) less(a, b any) bool {
	r.steps(1)
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
	r.reads(min(len(s), len(t)))
	return s < t
}

// contains reports whether a value is in another.
func (r *run) contains(in, v any) bool {
	r.steps(1)
	switch x := in.(type) {
	case string:
		s, ok := v.(string)
		if !ok {
			fail("in a text only texts are found, not %s", kindOf(v))
		}
		r.reads(len(x))
		return strings.Contains(x, s)
	case *List:
		for _, item := range x.Items {
			if r.equal(item, v) {
				return true
			}
		}
		return false
	case *Dict:
		s, ok := v.(string)
		r.reads(len(s))
		_, has := x.fields[s]
		return ok && has
	case namespace:
		return r.contains(x.Dict, v)
	case undefined:
		return false
	}
	fail("nothing is in %s", kindOf(in))
	return false
}

// items returns the parts of a value that loops go through. Callers must not change them.
func (r *run) items(v any) []any {
	r.steps(1)
	switch x := v.(type) {
	case *List:
		return x.Items
	case *Dict:
		r.steps(len(x.keys))
		r.hold(itemBytes * len(x.keys))
		list := make([]any, len(x.keys))
		for i, key := range x.keys {
			list[i] = key
		}
		return list
	case string:
		n := r.length(x)
		r.steps(n)
		r.hold(itemBytes * n)
		list := make([]any, 0, n)
		for _, c := range x {
			list = append(list, string(c))
		}
		return list
	case undefined:
		return nil
	}
	fail("%s is not a list", kindOf(v))
	return nil
}

// length returns the number of parts of a value.
func (r *run) length(v any) int {
	r.steps(1)
	switch x := v.(type) {
	case string:
		r.reads(len(x))
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
func (r *run) index(v, at any) any {
	r.steps(1)
	if key, ok := at.(string); ok {
		return r.attribute(v, key, true)
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
		if c, ok := r.character(x, i); ok {
			return c
		}
	case undefined:
		fail("%q is not defined", x.name)
	case nil:
		fail("none has no parts")
	}
	return undefined{fmt.Sprint(i)}
}

// character returns a character of a text. An index below 0 counts from the end.
func (r *run) character(s string, i int) (string, bool) {
	if i < 0 {
		i += r.length(s)
	}
	r.reads(len(s))
	for _, c := range s {
		if i == 0 {
			return string(c), true
		}
		i--
	}
	return "", false
}

// attribute returns a field or a method of a value. Item means that the name was written in
// brackets, so that fields come first.
func (r *run) attribute(v any, name string, item bool) any {
	r.reads(len(name))
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
func (r *run) slice(v any, from, to, step any) any {
	switch x := v.(type) {
	case string:
		n := r.length(x)
		r.hold(8 * n) // the characters, and the chosen ones
		all := []rune(x)
		var out []rune
		r.between(n, from, to, step, func(i int) { out = append(out, all[i]) })
		r.makes(utf8.UTFMax * len(out))
		return string(out)
	case *List:
		out := []any{}
		r.between(len(x.Items), from, to, step, func(i int) {
			r.hold(itemBytes)
			out = append(out, x.Items[i])
		})
		return r.list(out)
	}
	fail("%s has no slices", kindOf(v))
	return nil
}

// between calls take for the indices of a slice of n parts.
func (r *run) between(n int, from, to, step any, take func(i int)) {
	by := whole(step, 1)
	if by == 0 {
		fail("the step of a slice is 0")
	}
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
	for i := start; by > 0 && i < end || by < 0 && i > end; i += by {
		r.steps(1)
		take(i)
	}
}

// maxWhole bounds the integers that count something.
const maxWhole = 1 << 22

// whole returns an integer. If v is nil, it returns absent.
func whole(v any, absent int) int {
	switch x := v.(type) {
	case nil:
		return absent
	case int:
		return min(max(x, -maxWhole), maxWhole)
	case bool:
		n, _ := number(x)
		return int(n)
	}
	fail("%s is not an integer", kindOf(v))
	return 0
}
