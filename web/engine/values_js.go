package main

import (
	"fmt"
	"strings"
	"syscall/js"

	"github.com/nacre-ml/nacre"
)

// arrays lists the typed arrays that hold elements. Other types are arrays of bytes.
var arrays = map[nacre.DType]string{
	nacre.Float32: "Float32Array", nacre.Float64: "Float64Array", nacre.Int8: "Int8Array", nacre.Int16: "Int16Array",
	nacre.Int32: "Int32Array", nacre.Int64: "BigInt64Array", nacre.Uint8: "Uint8Array", nacre.Uint16: "Uint16Array",
	nacre.Uint32: "Uint32Array", nacre.Uint64: "BigUint64Array", nacre.Bool: "Uint8Array", nacre.Float16: "Uint16Array",
	nacre.BFloat16: "Uint16Array",
}

// valueOf returns a value of JavaScript, with the buffers that move with it: a tensor is
// {type, dims, data}, a sequence {type, items}, a map {type, keys, values}, an absent optional null.
func valueOf(v nacre.Value) (value any, moved []any) {
	switch v := v.(type) {
	case *nacre.Tensor:
		return tensorValue(v)
	case *nacre.Sequence:
		items := make([]any, len(v.Items))
		for i, item := range v.Items {
			var m []any
			items[i], m = valueOf(item)
			moved = append(moved, m...)
		}
		return map[string]any{"type": "sequence", "items": items}, moved
	case *nacre.Map:
		keys, k := tensorValue(v.Keys)
		values, m := valueOf(v.Values)
		return map[string]any{"type": "map", "keys": keys, "values": values}, append(k, m...)
	case *nacre.Optional:
		if v.Item != nil {
			return valueOf(v.Item)
		}
	}
	return nil, nil
}

func tensorValue(t *nacre.Tensor) (any, []any) {
	dims := make([]any, len(t.Shape()))
	for i, n := range t.Shape() {
		dims[i] = n
	}
	v := map[string]any{"type": t.DType().String(), "dims": dims}
	if t.DType() == nacre.String {
		list := make([]any, t.Len())
		for i, s := range t.Strings() {
			list[i] = s
		}
		v["data"] = list
		return v, nil
	}
	bytes := js.Global().Get("Uint8Array").New(len(t.Bytes()))
	js.CopyBytesToJS(bytes, t.Bytes())
	buffer := bytes.Get("buffer")
	array := arrays[t.DType()]
	if array == "" {
		array = "Uint8Array"
	}
	v["data"] = js.Global().Get(array).New(buffer)
	return v, []any{buffer}
}

// fromValue returns the tensor of a value of JavaScript, for the input in.
func fromValue(v js.Value, in nacre.Info) (*nacre.Tensor, error) {
	if v.Type() != js.TypeObject || v.Get("data").IsUndefined() {
		return nil, fmt.Errorf("input %q: a tensor is an object {type, dims, data}", in.Name)
	}
	name := text(v.Get("type"), in.DType.String())
	d, err := nacre.ParseDType(name)
	if err != nil {
		return nil, fmt.Errorf("input %q: %w", in.Name, err)
	}
	data := v.Get("data")
	dims := []int{data.Length()}
	if list := v.Get("dims"); list.Truthy() {
		dims = make([]int, list.Length())
		for i := range dims {
			dims[i] = number(list.Index(i), -1)
		}
	}
	if d == nacre.String {
		list := make([]string, data.Length())
		for i := range list {
			list[i] = data.Index(i).String()
		}
		return nacre.Strings(list, dims...)
	}
	if buffer := data.Get("buffer"); !buffer.Truthy() {
		array := arrays[d]
		if array == "" || array == "Uint16Array" && d != nacre.Uint16 {
			return nil, fmt.Errorf("input %q: elements of type %v are bytes in a typed array", in.Name, d)
		}
		each := js.Undefined()
		if strings.HasPrefix(array, "Big") {
			each = js.Global().Get("BigInt")
		}
		data = js.Global().Get(array).Call("from", data, each)
	} else if name := data.Get("constructor").Get("name").String(); !fits(name, arrays[d]) {
		return nil, fmt.Errorf("input %q: elements of type %v come in a %s, not a %s", in.Name, d, arrays[d], name)
	}
	bytes, err := allocate(in.Name, data.Get("byteLength").Int())
	if err != nil {
		return nil, err
	}
	js.CopyBytesToGo(bytes, js.Global().Get("Uint8Array").New(data.Get("buffer"), data.Get("byteOffset"), len(bytes)))
	return nacre.FromBytes(d, bytes, dims...)
}

// fits reports whether a typed array may hold elements that belong into another. Bytes hold any.
func fits(array, wanted string) bool {
	return wanted == "" || array == wanted || array == "Uint8Array" || array == "Uint8ClampedArray" && wanted == "Uint8Array" ||
		array == "Float16Array" && wanted == "Uint16Array"
}

// described returns an input or an output for the page.
func described(i nacre.Info) any {
	dims := []any{}
	for _, d := range i.Shape {
		if d.Open() {
			dims = append(dims, d.String())
		} else {
			dims = append(dims, d.Size)
		}
	}
	return map[string]any{
		"name": i.Name, "kind": i.Kind.String(), "type": i.DType.String(), "text": i.Type(), "dims": dims,
		"ranked": i.Shape != nil, "required": i.Required, "doc": i.Doc,
	}
}

func describedAll(list []nacre.Info) []any {
	all := make([]any, len(list))
	for i, v := range list {
		all[i] = described(v)
	}
	return all
}

// oneOf lists names for messages.
func oneOf(list []nacre.Info) string {
	names := make([]string, len(list))
	for i, v := range list {
		names[i] = v.String()
	}
	return strings.Join(names, ", ")
}
