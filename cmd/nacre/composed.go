package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/jsonobject"
	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// shownParts is the most items or keys of a value that are printed.
const shownParts = 8

// describe prints an output: the summary of a tensor, the entries of a map as a table, a row or a line for
// each item of a sequence, and the item of an optional value.
func describe(ctx context.Context, w io.Writer, name string, v nacre.Value) error {
	if o, ok := v.(*nacre.Optional); ok && o != nil && o.Item != nil {
		v = o.Item
	}
	switch v := v.(type) {
	case *nacre.Tensor:
		return summary(ctx, w, name, v)
	case *nacre.Map:
		if v == nil || v.Keys.Len() == 0 {
			break
		}
		printable.Fprintf(w, "%s %s\n", name, v)
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		keys, values := entries(v)
		for i, k := range keys {
			printable.Fprintf(tw, "  %s\t%s\n", k, values[i])
		}
		return errors.Join(tw.Flush(), sayMore(w, v.Keys.Len()-len(keys)))
	case *nacre.Sequence:
		printable.Fprintf(w, "%s %s\n", name, kindAndCount(v))
		shown := v.Items[:min(len(v.Items), shownParts)]
		if keys := sharedKeys(v.Items); keys != nil {
			if err := rows(w, keys, shown); err != nil {
				return err
			}
		} else {
			for _, item := range shown {
				printable.Fprintf(w, "  %s\n", brief(item))
			}
		}
		return sayMore(w, len(v.Items)-len(shown))
	}
	_, err := printable.Fprintf(w, "%s %s\n", name, brief(v))
	return err
}

// sayMore prints how many parts are not shown.
func sayMore(w io.Writer, n int) (err error) {
	if n > 0 {
		_, err = printable.Fprintf(w, "  and %d more\n", n)
	}
	return err
}

// sharedKeys returns the keys of maps; nil unless all items are maps with the same keys, in one order, and
// as few as are printed.
func sharedKeys(items []nacre.Value) []string {
	var keys []string
	for _, item := range items {
		m, ok := item.(*nacre.Map)
		if !ok || m == nil || m.Keys.Len() == 0 || m.Keys.Len() > shownParts {
			return nil
		}
		names, _ := entries(m)
		if keys != nil && !slices.Equal(names, keys) {
			return nil
		}
		keys = names
	}
	return keys
}

// rows prints maps with these keys as a table with a column for each key.
func rows(w io.Writer, keys []string, items []nacre.Value) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, k := range keys {
		printable.Fprintf(tw, "\t%s", k)
	}
	printable.Fprintf(tw, "\n")
	for i, item := range items {
		printable.Fprintf(tw, "  %d", i)
		_, values := entries(item.(*nacre.Map))
		for _, v := range values {
			printable.Fprintf(tw, "\t%s", v)
		}
		printable.Fprintf(tw, "\n")
	}
	return tw.Flush()
}

// kindAndCount returns the type of a value, for a sequence only the number of its items.
func kindAndCount(v nacre.Value) string {
	if s, ok := v.(*nacre.Sequence); ok {
		return "sequence of " + plural(len(s.Items), "value")
	}
	return fmt.Sprint(v)
}

// brief returns a value in one line: the entries of a map, the type of any other.
func brief(v nacre.Value) string {
	if o, ok := v.(*nacre.Optional); ok && o != nil && o.Item != nil {
		return brief(o.Item)
	}
	m, ok := v.(*nacre.Map)
	if !ok || m == nil {
		return fmt.Sprint(v)
	}
	keys, values := entries(m)
	for i := range keys {
		keys[i] += ": " + values[i]
	}
	if more := m.Keys.Len() - len(keys); more > 0 {
		keys = append(keys, fmt.Sprintf("and %d more", more))
	}
	return "{" + strings.Join(keys, ", ") + "}"
}

// entries returns the first keys and values of a map as text, floats with 4 digits.
func entries(m *nacre.Map) (names, texts []string) {
	keys, values := plainTensor(m.Keys), plainTensor(m.Values)
	n, at := min(keys.Len(), shownParts), tensor.Numbers(values)
	plain := numbers(context.Background(), values, n)
	for i, name := range numbers(context.Background(), keys, n) {
		text := fmt.Sprint(plain[i])
		if at != nil && values.DType().IsFloat() {
			text = fmt.Sprintf("%.4g", at(i))
		}
		names, texts = append(names, fmt.Sprint(name)), append(texts, text)
	}
	return names, texts
}

// jsonTensor is a tensor in JSON. Values are in row-major order.
type jsonTensor struct {
	DType  string       `json:"dtype"`
	Shape  tensor.Shape `json:"shape"`
	Values []any        `json:"values"`
}

// jsonObject is a JSON object that keeps the order of its members.
type jsonObject []jsonMember

type jsonMember struct {
	key   string
	value any
}

// MarshalJSON writes the members in order.
func (o jsonObject) MarshalJSON() ([]byte, error) {
	return jsonobject.Marshal(len(o), func(i int) (string, any) { return o[i].key, o[i].value })
}

// asJSON returns a value in its JSON form: a tensor with its type and shape, a sequence as a list,
// a map as an object with its keys as text, and null for an optional value without item. If ctx is
// done, the result is incomplete.
func asJSON(ctx context.Context, v nacre.Value) any {
	switch v := v.(type) {
	case *nacre.Tensor:
		t := plainTensor(v)
		list := numbers(ctx, t, t.Len())
		if list == nil {
			list = []any{}
		}
		return jsonTensor{t.DType().String(), append(tensor.Shape{}, t.Shape()...), list}
	case *nacre.Sequence:
		list := make([]any, len(v.Items))
		for i, item := range v.Items {
			list[i] = asJSON(ctx, item)
		}
		return list
	case *nacre.Map:
		keys, values := plainTensor(v.Keys), plainTensor(v.Values)
		o, names := make(jsonObject, keys.Len()), numbers(ctx, keys, keys.Len())
		for i, value := range numbers(ctx, values, values.Len()) {
			o[i] = jsonMember{fmt.Sprint(names[i]), value}
		}
		return o
	case *nacre.Optional:
		if v.Item != nil {
			return asJSON(ctx, v.Item)
		}
	}
	return json.RawMessage("null")
}

// outputsJSON returns the outputs as one object, in the order of values.
func outputsJSON(ctx context.Context, values []nacre.Info, out map[string]nacre.Value) jsonObject {
	o := make(jsonObject, len(values))
	for i, v := range values {
		o[i] = jsonMember{v.Name, asJSON(ctx, out[v.Name])}
	}
	return o
}
