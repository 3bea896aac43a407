package nacre

import (
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func TestInfo(t *testing.T) {
	dims := graph.Dims{graph.Symbol("n"), graph.Known(3), graph.Unknown()}
	numbers := graph.TensorOf(tensor.F32, dims)
	list := graph.Type{Kind: graph.SequenceType, Elem: &numbers}
	for _, c := range []struct {
		typ  graph.Type
		kind Kind
		want string
	}{
		{numbers, TensorKind, "float32[n,3,?]"},
		{graph.TensorOf(tensor.I64, graph.Dims{}), TensorKind, "int64[]"},
		{graph.TensorOf(tensor.I64, nil), TensorKind, "int64[...]"},
		{list, SequenceKind, "sequence(float32[n,3,?])"},
		{graph.Type{Kind: graph.OptionalType, Elem: &list}, OptionalKind, "optional(sequence(float32[n,3,?]))"},
		{graph.Type{Kind: graph.SequenceType}, SequenceKind, "sequence(unknown)"},
		{graph.Type{Kind: graph.MapType, Key: tensor.String, Elem: &numbers}, MapKind, "map(string,float32[n,3,?])"},
		{graph.Type{Kind: graph.SparseType, DType: tensor.F32, Dims: dims}, SparseKind, "sparse(float32[n,3,?])"},
		{graph.Type{Kind: graph.OpaqueType}, OpaqueKind, "opaque"},
		{graph.Type{}, UnknownKind, "unknown"},
	} {
		in := infoOf(&graph.Value{Name: "x", Type: c.typ, Doc: "about x"}, true)
		if in.Kind != c.kind || in.Type() != c.want || in.String() != "x "+c.want || in.Doc != "about x" || !in.Required {
			t.Errorf("%v became %+v", c.typ, in)
		}
	}
	shape := infoOf(&graph.Value{Type: numbers}, false).Shape
	want := []Dim{{Size: -1, Symbol: "n"}, {Size: 3}, {Size: -1}}
	for i, d := range shape {
		if d != want[i] || d.Open() != (i != 1) {
			t.Errorf("axis %d is %+v", i, d)
		}
	}
	for kind := UnknownKind; kind <= OpaqueKind+1; kind++ {
		if kind.String() == "" {
			t.Errorf("kind %d has no name", uint8(kind))
		}
	}
}
