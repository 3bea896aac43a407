package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/jsonobject"
	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// shownParts is the most items or keys of a value that are printed.
const shownParts = 8

// describe prints an output: the summary of a tensor, the entries of a map, a line for each item of
// a sequence, and the item of an optional value.
func describe(ctx context.Context, w io.Writer, name string, v nacre.Value) error {
	if t, ok := v.(*nacre.Tensor); ok {
		return summary(ctx, w, name, t)
	}
	switch v := v.(type) {
	case *nacre.Sequence:
		printable.Fprintf(w, "%s %s\n", name, kindAndCount(v))
		for _, item := range v.Items[:min(len(v.Items), shownParts)] {
			printable.Fprintf(w, "  %s\n", brief(item))
		}
		if more := len(v.Items) - shownParts; more > 0 {
			printable.Fprintf(w, "  and %d more\n", more)
		}
	default:
		printable.Fprintf(w, "%s %s\n", name, brief(v))
	}
	return nil
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
	keys, values := plainTensor(m.Keys), plainTensor(m.Values)
	list := make([]string, min(keys.Len(), shownParts), shownParts+1)
	at := tensor.Numbers(values)
	names, plainValues := numbers(context.Background(), keys, len(list)), numbers(context.Background(), values, len(list))
	for i := range list {
		if at != nil && values.DType().IsFloat() {
			list[i] = fmt.Sprintf("%v: %.4g", names[i], at(i))
		} else {
			list[i] = fmt.Sprintf("%v: %v", names[i], plainValues[i])
		}
	}
	if more := keys.Len() - len(list); more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return "{" + strings.Join(list, ", ") + "}"
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
