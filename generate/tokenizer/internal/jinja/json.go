package jinja

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// FromJSON reads a JSON text as a value. Objects keep the order of their fields.
func FromJSON(data []byte) (v any, err error) {
	defer catch(&err)
	if !json.Valid(data) {
		return nil, fmt.Errorf("%.60q is not JSON", data)
	}
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	return readJSON(d, 0)
}

func readJSON(d *json.Decoder, depth int) (any, error) {
	if depth > MaxDepth {
		return nil, fmt.Errorf("values stand more than %d deep in one another", MaxDepth)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Number:
		if n, err := strconv.Atoi(t.String()); err == nil {
			return n, nil
		}
		return t.Float64()
	case json.Delim:
		if t == '[' {
			var list []any
			for d.More() {
				v, err := readJSON(d, depth+1)
				if err != nil {
					return nil, err
				}
				list = append(list, v)
			}
			_, err := d.Token()
			return NewList(list), err
		}
		object := NewDict()
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := readJSON(d, depth+1)
			if err != nil {
				return nil, err
			}
			object.Set(fmt.Sprint(key), v)
		}
		_, err := d.Token()
		return object, err
	}
	return t, nil
}

// toJSON is the filter tojson. It writes as json.dumps of Python does: blanks after commas and
// colons, characters beyond ASCII as they are.
func toJSON(r *run, v any, a *arguments) any {
	w := jsonWriter{out: r.builder(), indent: whole(a.at(1, "indent"), -1), comma: ", ", colon: ": "}
	if len(a.list) > 2 {
		fail("tojson takes its further arguments by name")
	}
	if w.indent > MaxDepth {
		fail("an indent of %d is not supported", w.indent)
	}
	if w.indent >= 0 {
		w.comma = ","
	}
	for name, value := range a.names {
		switch name {
		case "indent":
		case "ensure_ascii":
			w.ascii = truth(value)
		case "sort_keys":
			w.sorted = truth(value)
		case "separators":
			list, ok := value.(*List)
			if !ok || len(list.Items) != 2 {
				fail("the separators of tojson are two texts")
			}
			w.comma, w.colon = r.text(list.Items[0]), r.text(list.Items[1])
		default:
			fail("the argument %s of tojson is not supported", name)
		}
	}
	w.write(v, 0)
	return w.out.text()
}

// A jsonWriter writes values. With an indent below 0 it writes one line.
type jsonWriter struct {
	out           *builder
	indent        int
	comma, colon  string
	ascii, sorted bool
}

func (w *jsonWriter) write(v any, depth int) {
	if depth > MaxDepth {
		fail("values stand more than %d deep in one another", MaxDepth)
	}
	w.out.run.steps(1)
	switch x := v.(type) {
	case nil:
		w.out.WriteString("null")
	case bool:
		w.out.WriteString(strconv.FormatBool(x))
	case int:
		w.out.WriteString(strconv.Itoa(x))
	case float64:
		w.out.WriteString(jsonFloat(x))
	case string:
		w.text(x)
	case *List:
		w.sequence('[', ']', len(x.Items), depth, func(i int) { w.write(x.Items[i], depth+1) })
	case *Dict:
		keys := x.keys
		if w.sorted {
			w.out.run.hold(itemBytes * len(keys))
			for _, key := range keys {
				w.out.run.reads(len(key) * bits.Len(uint(len(keys))))
			}
			keys = sortedKeys(x.fields)
		}
		w.sequence('{', '}', len(keys), depth, func(i int) {
			w.text(keys[i])
			w.out.WriteString(w.colon)
			w.write(x.fields[keys[i]], depth+1)
		})
	default:
		fail("tojson of %s is not supported", kindOf(v))
	}
}

// sequence writes n parts between brackets.
func (w *jsonWriter) sequence(open, end byte, n, depth int, part func(i int)) {
	w.out.WriteByte(open)
	for i := range n {
		if i > 0 {
			w.out.WriteString(w.comma)
		}
		w.newLine(depth + 1)
		part(i)
	}
	if n > 0 {
		w.newLine(depth)
	}
	w.out.WriteByte(end)
}

func (w *jsonWriter) newLine(depth int) {
	if w.indent >= 0 {
		w.out.WriteByte('\n')
		w.out.WriteString(strings.Repeat(" ", w.indent*depth))
	}
}

var jsonEscapes = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}

func (w *jsonWriter) text(s string) {
	w.out.run.reads(len(s))
	w.out.WriteByte('"')
	for _, c := range s {
		escape, ok := jsonEscapes[c]
		switch {
		case ok:
			w.out.WriteString(escape)
		case c < ' ', w.ascii && c > '~' && c < 0x10000:
			fmt.Fprintf(w.out, `\u%04x`, c)
		case w.ascii && c >= 0x10000:
			c -= 0x10000
			fmt.Fprintf(w.out, `\u%04x\u%04x`, 0xD800+c>>10, 0xDC00+c&0x3FF)
		default:
			w.out.WriteRune(c)
		}
	}
	w.out.WriteByte('"')
}

func jsonFloat(x float64) string {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "Infinity"
	case math.IsInf(x, -1):
		return "-Infinity"
	}
	return floatText(x)
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
