package diagram

import (
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// summary is a constant in a box: its value if it is a scalar, or its shape.
func (p Port) summary() string {
	if !strings.Contains(p.Value, ",") && len(p.Value) < 16 && p.Value != "" {
		return p.Value
	}
	return p.Type
}

func typeText(t graph.Type) string {
	if t.Kind == graph.NoType {
		return ""
	}
	return shown(t.String(), 100)
}

// attrText returns the value of an attribute, cut where it is long.
func attrText(a *graph.Attr) string {
	if a.Ref != "" {
		return "attribute " + shown(a.Ref, 80) + " of the function"
	}
	switch a.Kind {
	case graph.AttrFloat:
		return strconv.FormatFloat(float64(a.Float), 'g', -1, 32)
	case graph.AttrInt:
		return strconv.FormatInt(a.Int, 10)
	case graph.AttrString:
		return shown(string(a.Str), 200)
	case graph.AttrTensor:
		return typeText(op.Known(a.Tensor).Type) + " " + beginning(a.Tensor)
	case graph.AttrFloats:
		return list(len(a.Floats), func(i int) string { return strconv.FormatFloat(float64(a.Floats[i]), 'g', -1, 32) })
	case graph.AttrInts:
		return list(len(a.Ints), func(i int) string { return strconv.FormatInt(a.Ints[i], 10) })
	case graph.AttrStrings:
		return list(len(a.Strs), func(i int) string { return shown(string(a.Strs[i]), 40) })
	case graph.AttrType:
		return typeText(*a.Type)
	}
	return a.Kind.String()
}

// mostShown is the number of elements of a list or a constant that are shown.
const mostShown = 12

func list(n int, text func(i int) string) string {
	parts := make([]string, min(n, mostShown))
	for i := range parts {
		parts[i] = text(i)
	}
	if n > mostShown {
		parts = append(parts, "… ("+strconv.Itoa(n)+")")
	}
	return strings.Join(parts, ", ")
}

// beginning returns the first elements of a constant.
func beginning(t *tensor.Tensor) string {
	return list(t.Len(), func(i int) string { return shown(t.Text(i), 40) })
}

// shown returns text of a file without control characters, of at most n characters.
func shown(s string, n int) string {
	return printable.Text(printable.Cut(strings.Join(strings.Fields(s), " "), n))
}
