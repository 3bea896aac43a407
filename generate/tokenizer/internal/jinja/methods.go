package jinja

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// bind returns a method of a value as a function.
func bind[T any](m func(r *run, v T, a *arguments) any, v T) call {
	return func(r *run, a *arguments) any {
		r.charge(16 * weight(v))
		return m(r, v, a)
	}
}

// dictMethods are the methods of objects. None changes them.
var dictMethods map[string]func(r *run, d *Dict, a *arguments) any

// listMethods are the methods of lists. None changes them.
var listMethods map[string]func(r *run, l *List, a *arguments) any

// textMethods are the methods of texts.
var textMethods map[string]func(r *run, s string, a *arguments) any

func init() {
	dictMethods = map[string]func(r *run, d *Dict, a *arguments) any{
		"keys":   func(_ *run, d *Dict, _ *arguments) any { return NewList(items(d)) },
		"values": func(_ *run, d *Dict, _ *arguments) any { return d.each(func(_ string, v any) any { return v }) },
		"items": func(_ *run, d *Dict, _ *arguments) any {
			return d.each(func(k string, v any) any { return newTuple(k, v) })
		},
		"get": func(_ *run, d *Dict, a *arguments) any {
			if v, has := d.fields[a.text(0, "key", "")]; has {
				return v
			}
			return a.at(1, "default")
		},
	}
	listMethods = map[string]func(r *run, l *List, a *arguments) any{
		"index": listIndex,
		"count": func(_ *run, l *List, a *arguments) any {
			n := 0
			for _, v := range l.Items {
				if equal(v, a.at(0, "value")) {
					n++
				}
			}
			return n
		},
	}
	textMethods = map[string]func(r *run, s string, a *arguments) any{
		"strip":      func(_ *run, s string, a *arguments) any { return strip(s, a, true, true) },
		"lstrip":     func(_ *run, s string, a *arguments) any { return strip(s, a, true, false) },
		"rstrip":     func(_ *run, s string, a *arguments) any { return strip(s, a, false, true) },
		"upper":      func(_ *run, s string, _ *arguments) any { return strings.ToUpper(s) },
		"lower":      func(_ *run, s string, _ *arguments) any { return strings.ToLower(s) },
		"title":      func(_ *run, s string, _ *arguments) any { return titleCase(s) },
		"capitalize": capitalize,
		"startswith": func(_ *run, s string, a *arguments) any {
			return anyOf(a, func(t string) bool { return strings.HasPrefix(s, t) })
		},
		"endswith": func(_ *run, s string, a *arguments) any {
			return anyOf(a, func(t string) bool { return strings.HasSuffix(s, t) })
		},
		"split": split, "splitlines": splitlines, "replace": replace, "join": joinMethod,
		"rsplit": rsplit, "find": find, "count": func(_ *run, s string, a *arguments) any { return strings.Count(s, a.text(0, "sub", "")) },
		"removeprefix": func(_ *run, s string, a *arguments) any { return strings.TrimPrefix(s, a.text(0, "prefix", "")) },
		"removesuffix": func(_ *run, s string, a *arguments) any { return strings.TrimSuffix(s, a.text(0, "suffix", "")) },
		"isdigit":      func(_ *run, s string, _ *arguments) any { return consists(s, unicode.IsDigit) },
		"isalpha":      func(_ *run, s string, _ *arguments) any { return consists(s, unicode.IsLetter) },
		"isspace":      func(_ *run, s string, _ *arguments) any { return consists(s, unicode.IsSpace) },
		"isupper":      func(_ *run, s string, _ *arguments) any { return strings.ToUpper(s) == s && strings.ToLower(s) != s },
		"islower":      func(_ *run, s string, _ *arguments) any { return strings.ToLower(s) == s && strings.ToUpper(s) != s },
	}
}

func (d *Dict) each(f func(key string, v any) any) *List {
	list := make([]any, len(d.keys))
	for i, key := range d.keys {
		list[i] = f(key, d.fields[key])
	}
	return NewList(list)
}

func listIndex(_ *run, l *List, a *arguments) any {
	for i, v := range l.Items {
		if equal(v, a.at(0, "value")) {
			return i
		}
	}
	fail("the value is not in the list")
	return nil
}

func strip(s string, a *arguments, left, right bool) string {
	cut := unicode.IsSpace
	if chars := a.at(0, "chars"); chars != nil {
		set := a.text(0, "chars", "")
		cut = func(c rune) bool { return strings.ContainsRune(set, c) }
	}
	if left {
		s = strings.TrimLeftFunc(s, cut)
	}
	if right {
		s = strings.TrimRightFunc(s, cut)
	}
	return s
}

func capitalize(_ *run, s string, _ *arguments) any {
	c, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	return string(unicode.ToTitle(c)) + strings.ToLower(s[size:])
}

// anyOf reports whether a test holds for a text, or for one of a list.
func anyOf(a *arguments, is func(string) bool) bool {
	if l, ok := a.at(0, "prefix").(*List); ok {
		for _, v := range l.Items {
			if s, ok := v.(string); ok && is(s) {
				return true
			}
		}
		return false
	}
	if len(a.list) != 1 {
		fail("one text is needed")
	}
	return is(a.text(0, "prefix", ""))
}

func split(r *run, s string, a *arguments) any {
	n := whole(a.at(1, "maxsplit"), -1)
	var parts []string
	if sep := a.at(0, "sep"); sep != nil {
		by := a.text(0, "sep", "")
		if by == "" {
			fail("a text is split by another that is not empty")
		}
		parts = strings.SplitN(s, by, max(n, -2)+1)
		if n < 0 {
			parts = strings.Split(s, by)
		}
	} else {
		if n >= 0 {
			fail("split without a separator takes no maxsplit")
		}
		parts = strings.Fields(s)
	}
	return texts(r, parts)
}

func rsplit(r *run, s string, a *arguments) any {
	by, n := a.text(0, "sep", ""), whole(a.at(1, "maxsplit"), -1)
	if by == "" {
		fail("rsplit needs a separator")
	}
	parts := strings.Split(s, by)
	if n >= 0 && len(parts) > n+1 {
		first := strings.Join(parts[:len(parts)-n], by)
		parts = append([]string{first}, parts[len(parts)-n:]...)
	}
	return texts(r, parts)
}

func splitlines(r *run, s string, _ *arguments) any {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	if s == "" {
		return NewList(nil)
	}
	return texts(r, strings.Split(strings.TrimSuffix(s, "\n"), "\n"))
}

func texts(r *run, parts []string) *List {
	r.charge(16 * len(parts))
	list := make([]any, len(parts))
	for i, s := range parts {
		list[i] = s
	}
	return NewList(list)
}

func replace(r *run, s string, a *arguments) any {
	from, to := a.text(0, "old", ""), a.text(1, "new", "")
	n := whole(a.at(2, "count"), -1)
	if a.at(0, "s") == nil || a.at(1, "s") == nil {
		fail("replace takes two texts")
	}
	size := len(s) + strings.Count(s, from)*max(0, len(to)-len(from))
	if strings.Count(s, from) > 0 && size/strings.Count(s, from) > maxText {
		fail("a text of more than %d bytes", maxText)
	}
	r.charge(size)
	return strings.Replace(s, from, to, n)
}

func joinMethod(r *run, s string, a *arguments) any {
	return joinFilter(r, a.at(0, "iterable"), &arguments{list: []any{s}})
}

func find(_ *run, s string, a *arguments) any {
	i := strings.Index(s, a.text(0, "sub", ""))
	if i < 0 {
		return i
	}
	return utf8.RuneCountInString(s[:i])
}

func consists(s string, of func(rune) bool) bool {
	return s != "" && strings.IndexFunc(s, func(c rune) bool { return !of(c) }) < 0
}

// globals are the functions that every template has.
func globals() map[string]any {
	return map[string]any{
		"range": call(rangeOf),
		"dict":  call(func(_ *run, a *arguments) any { return dictOf(a) }),
		"namespace": call(func(_ *run, a *arguments) any {
			return namespace{dictOf(a)}
		}),
		"raise_exception": Function(func(args []any) (any, error) {
			if len(args) != 1 {
				return nil, fmt.Errorf("raise_exception takes a text")
			}
			return nil, fmt.Errorf("%s", text(args[0]))
		}),
	}
}

func dictOf(a *arguments) *Dict {
	d := NewDict()
	for _, v := range a.list {
		from, ok := v.(*Dict)
		if !ok {
			fail("%s is not an object", kindOf(v))
		}
		for _, key := range from.keys {
			d.Set(key, from.fields[key])
		}
	}
	for _, key := range sortedKeys(a.names) {
		d.Set(key, a.names[key])
	}
	return d
}

// rangeOf is the function range.
func rangeOf(r *run, a *arguments) any {
	from, to, step := 0, 0, 1
	switch len(a.list) {
	case 1:
		to = whole(a.list[0], 0)
	case 2, 3:
		from, to = whole(a.list[0], 0), whole(a.list[1], 0)
		if len(a.list) == 3 {
			step = whole(a.list[2], 0)
		}
	}
	if len(a.list) < 1 || len(a.list) > 3 || step == 0 {
		fail("range takes one to three integers, of which the third is not 0")
	}
	var list []any
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		r.charge(16)
		if len(list) == maxWeight {
			fail("a range of more than %d numbers", maxWeight)
		}
		list = append(list, i)
	}
	return NewList(list)
}
