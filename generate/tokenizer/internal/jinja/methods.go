package jinja

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A method returns a value made from its receiver, without changing it. It counts its work.
type method[T any] = func(r *run, v T, a *arguments) any

// bind returns a method of a value as a function.
func bind[T any](m method[T], v T) call {
	return func(r *run, a *arguments) any { return m(r, v, a) }
}

var (
	dictMethods map[string]method[*Dict]
	listMethods map[string]method[*List]
	textMethods map[string]method[string]
)

func init() {
	dictMethods = map[string]method[*Dict]{
		"keys":   func(r *run, d *Dict, _ *arguments) any { return r.list(r.items(d)) },
		"values": func(r *run, d *Dict, _ *arguments) any { return r.each(d, func(_ string, v any) any { return v }) },
		"items": func(r *run, d *Dict, _ *arguments) any {
			return r.each(d, func(k string, v any) any { return r.tuple(k, v) })
		},
		"get": func(r *run, d *Dict, a *arguments) any {
			key := a.text(0, "key", "")
			r.reads(len(key))
			if v, has := d.fields[key]; has {
				return v
			}
			return a.at(1, "default")
		},
	}
	listMethods = map[string]method[*List]{
		"index": listIndex,
		"count": func(r *run, l *List, a *arguments) any {
			n := 0
			for _, v := range l.Items {
				if r.equal(v, a.at(0, "value")) {
					n++
				}
			}
			return n
		},
	}
	textMethods = map[string]method[string]{
		"strip":      func(r *run, s string, a *arguments) any { return r.strip(s, a, true, true) },
		"lstrip":     func(r *run, s string, a *arguments) any { return r.strip(s, a, true, false) },
		"rstrip":     func(r *run, s string, a *arguments) any { return r.strip(s, a, false, true) },
		"upper":      func(r *run, s string, _ *arguments) any { return r.upper(s) },
		"lower":      func(r *run, s string, _ *arguments) any { return r.lower(s) },
		"title":      func(r *run, s string, _ *arguments) any { return r.title(s) },
		"capitalize": capitalize,
		"startswith": func(r *run, s string, a *arguments) any { return r.anyOf(a, s, strings.HasPrefix) },
		"endswith":   func(r *run, s string, a *arguments) any { return r.anyOf(a, s, strings.HasSuffix) },
		"split":      split,
		"rsplit":     rsplit,
		"splitlines": splitlines,
		"replace":    replace,
		"join": func(r *run, s string, a *arguments) any {
			return joinFilter(r, a.at(0, "iterable"), &arguments{list: []any{s}})
		},
		"find": find,
		"count": func(r *run, s string, a *arguments) any {
			r.reads(len(s))
			return strings.Count(s, a.text(0, "sub", ""))
		},
		"removeprefix": func(r *run, s string, a *arguments) any { return strings.TrimPrefix(s, r.affix(a, "prefix")) },
		"removesuffix": func(r *run, s string, a *arguments) any { return strings.TrimSuffix(s, r.affix(a, "suffix")) },
		"isdigit":      func(r *run, s string, _ *arguments) any { return r.consists(s, unicode.IsDigit) },
		"isalpha":      func(r *run, s string, _ *arguments) any { return r.consists(s, unicode.IsLetter) },
		"isspace":      func(r *run, s string, _ *arguments) any { return r.consists(s, unicode.IsSpace) },
		"isupper":      func(r *run, s string, _ *arguments) any { return r.upper(s) == s && r.lower(s) != s },
		"islower":      func(r *run, s string, _ *arguments) any { return r.lower(s) == s && r.upper(s) != s },
	}
}

// each returns the list of f's results for the fields of an object.
func (r *run) each(d *Dict, f func(key string, v any) any) *List {
	r.hold(itemBytes * len(d.keys))
	list := make([]any, len(d.keys))
	for i, key := range d.keys {
		list[i] = f(key, d.fields[key])
	}
	return r.list(list)
}

func listIndex(r *run, l *List, a *arguments) any {
	for i, v := range l.Items {
		if r.equal(v, a.at(0, "value")) {
			return i
		}
	}
	fail("the value is not in the list")
	return nil
}

// caseGrowth is how many times longer a text may become if its letters change case.
const caseGrowth = 2

func (r *run) upper(s string) string {
	r.makes(caseGrowth * len(s))
	return strings.ToUpper(s)
}

func (r *run) lower(s string) string {
	r.makes(caseGrowth * len(s))
	return strings.ToLower(s)
}

// title makes the first letter of each word a capital and the others small.
func (r *run) title(s string) string {
	r.steps(len(s) / 4)
	r.makes(caseGrowth * len(s))
	before := false
	return strings.Map(func(c rune) rune {
		defer func() { before = unicode.IsLetter(c) }()
		if before {
			return unicode.ToLower(c)
		}
		return unicode.ToTitle(c)
	}, s)
}

func capitalize(r *run, s string, _ *arguments) any {
	c, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	r.makes(utf8.UTFMax + len(s))
	return string(unicode.ToTitle(c)) + r.lower(s[size:])
}

// strip removes the characters of a set from the ends of a text.
func (r *run) strip(s string, a *arguments, left, right bool) string {
	cut := unicode.IsSpace
	if chars := a.at(0, "chars"); chars != nil {
		list := a.text(0, "chars", "")
		r.reads(len(list))
		set := map[rune]bool{}
		for _, c := range list {
			if !set[c] {
				r.hold(itemBytes)
				set[c] = true
			}
		}
		cut = func(c rune) bool { return set[c] }
	}
	rest := s
	if left {
		rest = strings.TrimLeftFunc(rest, cut)
	}
	if right {
		rest = strings.TrimRightFunc(rest, cut)
	}
	r.steps(1 + len(s) - len(rest))
	return rest
}

// anyOf reports whether is holds for a text and another, or for the text and one of a list.
func (r *run) anyOf(a *arguments, s string, is func(s, t string) bool) bool {
	if l, ok := a.at(0, "prefix").(*List); ok {
		for _, v := range l.Items {
			t, ok := v.(string)
			r.reads(min(len(s), len(t)))
			if ok && is(s, t) {
				return true
			}
		}
		return false
	}
	if len(a.list) != 1 {
		fail("one text is needed")
	}
	return is(s, r.affix(a, "prefix"))
}

// affix returns an argument that is compared with an end of a text.
func (r *run) affix(a *arguments, name string) string {
	s := a.text(0, name, "")
	r.reads(len(s))
	return s
}

func split(r *run, s string, a *arguments) any {
	n := whole(a.at(1, "maxsplit"), -1)
	r.reads(len(s))
	if sep := a.at(0, "sep"); sep != nil {
		by := a.text(0, "sep", "")
		if by == "" {
			fail("a text is split by another that is not empty")
		}
		if n >= 0 {
			n = min(n, strings.Count(s, by))
			r.hold(itemBytes * (n + 1))
			return r.texts(slices.Values(strings.SplitN(s, by, n+1)))
		}
		return r.texts(strings.SplitSeq(s, by))
	}
	if n >= 0 {
		fail("split without a separator takes no maxsplit")
	}
	return r.texts(strings.FieldsSeq(s))
}

func rsplit(r *run, s string, a *arguments) any {
	by, n := a.text(0, "sep", ""), whole(a.at(1, "maxsplit"), -1)
	if by == "" {
		fail("rsplit needs a separator")
	}
	r.reads(len(s))
	var parts []any // the last first
	for n != 0 {
		at := strings.LastIndex(s, by)
		if at < 0 {
			break
		}
		r.hold(itemBytes)
		r.steps(1)
		parts = append(parts, s[at+len(by):])
		s, n = s[:at], n-1
	}
	parts = append(parts, s)
	slices.Reverse(parts)
	return r.list(parts)
}

func splitlines(r *run, s string, _ *arguments) any {
	r.makes(len(s))
	r.makes(len(s))
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	if s == "" {
		return r.list(nil)
	}
	return r.texts(strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n"))
}

// texts returns a list of texts.
func (r *run) texts(parts iter.Seq[string]) *List {
	var list []any
	for s := range parts {
		r.hold(itemBytes)
		r.steps(1)
		list = append(list, s)
	}
	return r.list(list)
}

func replace(r *run, s string, a *arguments) any {
	from, to := a.text(0, "old", ""), a.text(1, "new", "")
	if a.at(0, "s") == nil || a.at(1, "s") == nil {
		fail("replace takes two texts")
	}
	r.reads(len(s))
	n := strings.Count(s, from)
	if most := whole(a.at(2, "count"), -1); most >= 0 {
		n = min(n, most)
	}
	r.makes(len(s) + n*max(0, len(to)-len(from)))
	r.steps(n)
	return strings.Replace(s, from, to, n)
}

func find(r *run, s string, a *arguments) any {
	r.reads(2 * len(s))
	i := strings.Index(s, a.text(0, "sub", ""))
	if i < 0 {
		return i
	}
	return utf8.RuneCountInString(s[:i])
}

func (r *run) consists(s string, of func(rune) bool) bool {
	r.reads(len(s))
	return s != "" && strings.IndexFunc(s, func(c rune) bool { return !of(c) }) < 0
}
