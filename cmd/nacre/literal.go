package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/dustin/go-humanize"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/npy"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// isLiteral reports whether text is a value that literal reads.
func isLiteral(text string) bool { return json.Valid([]byte("[" + text + "]")) }

// literal returns a tensor for the input in from JSON: a number, true, false or a string, lists of these
// within lists, or an object in the form of run --json. Elements with commas between are a list, too. If
// there are fewer axes than in has, axes of extent 1 come first.
func literal(text []byte, in nacre.Info) (*nacre.Tensor, error) {
	var list []any
	d := json.NewDecoder(io.MultiReader(bytes.NewReader([]byte("[")), bytes.NewReader(text), bytes.NewReader([]byte("]"))))
	d.UseNumber()
	if err := d.Decode(&list); err != nil {
		return nil, err
	}
	var v any = list
	if len(list) == 1 {
		v = list[0]
	}
	if o, ok := v.(map[string]any); ok {
		return fromObject(o)
	}
	items, shape, err := flattened(v)
	if err != nil {
		return nil, err
	}
	if in.Kind != nacre.TensorKind {
		return nil, fmt.Errorf("the input is %s; literals are tensors", in.Type())
	}
	if missing := len(in.Shape) - len(shape); missing > 0 {
		shape = slices.Insert(shape, 0, slices.Repeat([]int{1}, missing)...)
	}
	return ofElements(in.DType, items, shape)
}

// fromObject returns the tensor of an object with dtype, shape and values.
func fromObject(o map[string]any) (*nacre.Tensor, error) {
	name, _ := o["dtype"].(string)
	d, err := nacre.ParseDType(name)
	if err != nil {
		return nil, fmt.Errorf("dtype: %w", err)
	}
	extents, isShape := o["shape"].([]any)
	values, isList := o["values"].([]any)
	if !isShape || !isList {
		return nil, errors.New("an object has dtype, shape, and values as a list of all elements")
	}
	shape := make([]int, len(extents))
	for i, n := range extents {
		if shape[i], err = strconv.Atoi(fmt.Sprint(n)); err != nil {
			return nil, fmt.Errorf("shape: %v is no extent", n)
		}
	}
	return ofElements(d, values, shape)
}

// flattened returns the elements of lists within lists, and the shape.
func flattened(v any) (items []any, shape []int, err error) {
	list, ok := v.([]any)
	if !ok {
		return []any{v}, nil, nil
	}
	var within []int
	for i, x := range list {
		part, of, err := flattened(x)
		if err != nil {
			return nil, nil, err
		}
		if i > 0 && !slices.Equal(of, within) {
			return nil, nil, fmt.Errorf("lists differ in shape: %v and %v", within, of)
		}
		items, within = append(items, part...), of
	}
	return items, append([]int{len(list)}, within...), nil
}

// ofElements returns a tensor of JSON values: numbers in the range of d, floats also as "NaN", "Infinity"
// and "-Infinity".
func ofElements(d nacre.DType, list []any, shape []int) (*nacre.Tensor, error) {
	if d == nacre.String {
		return ofTexts(list, shape)
	}
	x, err := nacre.Zeros(d, shape...)
	if err != nil {
		return nil, err
	}
	if x.Len() != len(list) {
		return nil, fmt.Errorf("%d values do not fill %v", len(list), x)
	}
	t, bits := plainTensor(x), d.Bits()
	switch t.DType().Kind() {
	case tensor.Signed:
		err = put(t, list, func(s string) (int64, error) { return strconv.ParseInt(s, 10, bits) })
	case tensor.Unsigned:
		err = put(t, list, func(s string) (uint64, error) { return strconv.ParseUint(s, 10, bits) })
	case tensor.Boolean:
		err = put(t, list, func(s string) (int, error) {
			v, err := strconv.ParseBool(s)
			if v {
				return 1, err
			}
			return 0, err
		})
	default:
		err = put(t, list, func(s string) (float64, error) { return strconv.ParseFloat(s, max(bits, 32)) })
	}
	return x, err
}

// put sets the elements of t to the results of parse.
func put[N elements.Number](t *tensor.Tensor, list []any, parse func(string) (N, error)) error {
	numbers := make([]N, len(list))
	for i, v := range list {
		var err error
		if numbers[i], err = parse(fmt.Sprint(v)); err != nil {
			return fmt.Errorf("%v is no %v", v, t.DType())
		}
	}
	if !elements.Put(t, 0, numbers) {
		return fmt.Errorf("elements of %v have no form in JSON; use .npy or .pb", t.DType())
	}
	return nil
}

// ofTexts returns a tensor of JSON strings.
func ofTexts(list []any, shape []int) (*nacre.Tensor, error) {
	texts := make([]string, len(list))
	for i, v := range list {
		s, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("%v is no string; strings have quotation marks", v)
		}
		texts[i] = s
	}
	return nacre.Strings(texts, shape...)
}

// piped returns the input v from standard input: .npy, JSON or a TensorProto, by the first bytes.
func (f *inputFlags) piped(ctx context.Context, v nacre.Info) (*nacre.Tensor, error) {
	if f.taken {
		return nil, errors.New("standard input is one value, and is read already")
	}
	f.taken = true
	most := anySize()
	data, err := io.ReadAll(io.LimitReader(pieces.Reader(ctx, f.stdin), most))
	switch {
	case err != nil:
		return nil, err
	case int64(len(data)) == most:
		return nil, fmt.Errorf("standard input has %s or more", humanize.IBytes(uint64(most)))
	case len(data) == 0:
		return nil, errors.New("standard input is empty")
	case bytes.HasPrefix(data, []byte("\x93NUMPY")):
		return npy.Decode(budget.New(ctx, budget.Limits{}), data)
	case json.Valid(data):
		return literal(data, v)
	}
	t, err := readTensorProto(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("standard input is neither .npy nor JSON, and as .pb: %w", err)
	}
	return t, nil
}
