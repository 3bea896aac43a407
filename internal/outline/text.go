package outline

import (
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TypeText returns a type as text, empty if it is not known.
func TypeText(t graph.Type) string {
	if t.Kind == graph.NoType {
		return ""
	}
	return Shown(t.String(), 100)
}

// AttrText returns the value of an attribute, cut where it is long.
func AttrText(a *graph.Attr) string {
	if a.Ref != "" {
		return "attribute " + Shown(a.Ref, 80) + " of the function"
	}
	switch a.Kind {
	case graph.AttrFloat:
		return strconv.FormatFloat(float64(a.Float), 'g', -1, 32)
	case graph.AttrInt:
		return strconv.FormatInt(a.Int, 10)
	case graph.AttrString:
		return Shown(string(a.Str), 200)
	case graph.AttrTensor:
		return TypeText(op.Known(a.Tensor).Type) + " " + Beginning(a.Tensor)
	case graph.AttrFloats:
		return list(len(a.Floats), func(i int) string { return strconv.FormatFloat(float64(a.Floats[i]), 'g', -1, 32) })
	case graph.AttrInts:
		return list(len(a.Ints), func(i int) string { return strconv.FormatInt(a.Ints[i], 10) })
	case graph.AttrStrings:
		return list(len(a.Strs), func(i int) string { return Shown(string(a.Strs[i]), 40) })
	case graph.AttrType:
		return TypeText(*a.Type)
	}
	return a.Kind.String()
}

// MostShown is the number of elements of a list or a constant that are shown.
const MostShown = 12

func list(n int, text func(i int) string) string {
	parts := make([]string, min(n, MostShown))
	for i := range parts {
		parts[i] = text(i)
	}
	if n > MostShown {
		parts = append(parts, "… ("+strconv.Itoa(n)+")")
	}
	return strings.Join(parts, ", ")
}

// Beginning returns the first elements of a constant.
func Beginning(t *tensor.Tensor) string {
	return list(t.Len(), func(i int) string { return Shown(t.Text(i), 40) })
}

// Shown returns text of a file without control characters, of at most n characters.
func Shown(s string, n int) string {
	return printable.Text(printable.Cut(strings.Join(strings.Fields(s), " "), n))
}
