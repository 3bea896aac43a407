package nacre

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Kind is the kind of a value.
type Kind uint8

// The kinds of values. Inputs and results of runs are of the first four.
const (
	UnknownKind  Kind = iota // the model does not say
	TensorKind               // a *Tensor
	SequenceKind             // a *Sequence
	OptionalKind             // an *Optional
	MapKind                  // a *Map
	SparseKind               // a sparse tensor, which no run takes
	OpaqueKind               // a type that only the model's author knows, which no run takes
)

var kindNames = [...]string{"unknown", "tensor", "sequence", "optional", "map", "sparse", "opaque"}

// String returns the name of the kind, such as tensor.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return "kind(" + strconv.Itoa(int(k)) + ")"
	}
	return kindNames[k]
}

// Dim is the extent of an axis. An extent that the model leaves open has size -1 and
// may have a symbol: a name, such as batch, or an expression over names, such as
// (height+1)/2. In one run, all axes of one symbol are equally long.
type Dim struct {
	Size   int    // -1 for an open extent
	Symbol string // of an open extent; empty for none
}

// Open reports whether the model leaves the extent open.
func (d Dim) Open() bool { return d.Size < 0 }

// String returns the size, the symbol, or "?" for an open extent without one.
func (d Dim) String() string {
	switch {
	case !d.Open():
		return strconv.Itoa(d.Size)
	case d.Symbol != "":
		return d.Symbol
	}
	return "?"
}

// Info describes an input, an output or a weight of a model.
type Info struct {
	Name string
	Kind Kind
	// DType is the element type of a tensor, and Shape the extents of its axes: nil
	// if the model leaves the number of axes open, empty for a scalar.
	DType DType
	Shape []Dim
	// Elem describes, without a name, the items of a sequence, the item of an optional
	// or the values of a map. Key is the type of a map's keys.
	Elem *Info
	Key  DType
	// Required reports whether a run needs the input. It is false for a constant input
	// (Session.Overridable), for a dynamic variable of a program of OpenInfer, for an input
	// that no chosen output needs (Options.Outputs), and for outputs and weights.
	Required bool
	// Doc is the model's documentation of the value.
	Doc string
}

// Type returns the type of the value, such as float32[batch,3,224,224] or
// sequence(int64[n]).
func (i Info) Type() string {
	switch i.Kind {
	case TensorKind:
		return i.DType.String() + shapeText(i.Shape)
	case SparseKind:
		return "sparse(" + i.DType.String() + shapeText(i.Shape) + ")"
	case SequenceKind, OptionalKind:
		return fmt.Sprintf("%v(%s)", i.Kind, i.elem())
	case MapKind:
		return fmt.Sprintf("map(%v,%s)", i.Key, i.elem())
	}
	return i.Kind.String()
}

// String returns name and type, such as image float32[batch,3,224,224].
func (i Info) String() string { return i.Name + " " + i.Type() }

func (i Info) elem() string {
	if i.Elem == nil {
		return UnknownKind.String()
	}
	return i.Elem.Type()
}

func shapeText(shape []Dim) string {
	if shape == nil {
		return "[...]"
	}
	return printable.List(len(shape), func(i int) string { return shape[i].String() })
}

func infoOf(v *graph.Value, required bool) Info {
	i := typeInfo(v.Type)
	i.Name, i.Doc, i.Required = v.Name, v.Doc, required
	return i
}

// kindOf maps the engine's kinds of types.
var kindOf = map[graph.TypeKind]Kind{
	graph.TensorType: TensorKind, graph.SequenceType: SequenceKind, graph.OptionalType: OptionalKind,
	graph.MapType: MapKind, graph.SparseType: SparseKind, graph.OpaqueType: OpaqueKind,
}

// below returns the engine's type of the value.
func (i Info) below() graph.Type {
	t := graph.Type{DType: tensor.DType(i.DType), Key: tensor.DType(i.Key)}
	for kind, k := range kindOf {
		if k == i.Kind {
			t.Kind = kind
		}
	}
	if i.Shape != nil {
		t.Dims = make(graph.Dims, len(i.Shape))
	}
	for k, d := range i.Shape {
		if t.Dims[k] = graph.Unknown(); d.Size >= 0 {
			t.Dims[k] = graph.Known(d.Size)
		}
	}
	if i.Elem != nil {
		elem := i.Elem.below()
		t.Elem = &elem
	}
	return t
}

func typeInfo(t graph.Type) Info {
	i := Info{Kind: kindOf[t.Kind], DType: DType(t.DType), Key: DType(t.Key), Shape: dimsOf(t.Dims)}
	if t.Elem != nil {
		elem := typeInfo(*t.Elem)
		i.Elem = &elem
	}
	return i
}

func dimsOf(dims graph.Dims) []Dim {
	if dims == nil {
		return nil
	}
	list := make([]Dim, len(dims))
	for k, d := range dims {
		n, known := d.Value()
		switch {
		case known:
			list[k] = Dim{Size: n}
		case d.IsUnknown():
			list[k] = Dim{Size: -1}
		default:
			list[k] = Dim{Size: -1, Symbol: d.String()}
		}
	}
	return list
}

// infos describes values, in a new slice.
func infos(list []*graph.Value, required func(name string) bool) []Info {
	out := make([]Info, len(list))
	for i, v := range list {
		out[i] = infoOf(v, required(v.Name))
	}
	return out
}

func never(string) bool { return false }

// names lists values for messages.
func names(list []Info) string {
	if len(list) == 0 {
		return "none"
	}
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = fmt.Sprintf("%q %s", v.Name, v.Type())
	}
	return strings.Join(parts, ", ")
}
