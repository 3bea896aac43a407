package onnx

import (
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// writer builds messages, with fields in the order of their numbers. It keeps the first failure.
type writer struct {
	side *sideFile // nil if all constants are in the model
	err  error
}

func (w *writer) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

func (w *writer) opsets(e *encoder, num protowire.Number, list []graph.Opset) {
	for _, o := range list {
		e.message(num, func(e *encoder) {
			e.entry(1, o.Domain)
			e.int(2, int64(o.Version))
		})
	}
}

func (w *writer) graph(e *encoder, g *graph.Graph) {
	for _, n := range g.Nodes {
		e.message(1, func(e *encoder) { w.node(e, n) })
	}
	e.text(2, g.Name)
	for _, t := range g.Initializers {
		e.message(5, func(e *encoder) { w.tensor(e, t, w.side) })
	}
	e.text(10, g.Doc)
	w.values(e, 11, g.Inputs)
	w.values(e, 12, g.Outputs)
	w.values(e, 13, g.Values)
	for _, q := range g.Quant {
		e.message(14, func(e *encoder) {
			e.entry(1, q.Tensor)
			e.pairs(2, q.Params)
		})
	}
	for _, t := range g.Sparse {
		e.message(15, func(e *encoder) { w.sparse(e, t.Name, t.Tensor) })
	}
	e.pairs(16, g.Meta)
}

func (w *writer) function(e *encoder, f *graph.Function, opsets []graph.Opset) {
	e.entry(1, f.Name)
	e.entries(4, f.Inputs)
	e.entries(5, f.Outputs)
	e.entries(6, f.Attrs)
	for _, n := range f.Nodes {
		e.message(7, func(e *encoder) { w.node(e, n) })
	}
	e.text(8, f.Doc)
	w.opsets(e, 9, opsets)
	e.text(10, f.Domain)
	for _, a := range f.Defaults {
		e.message(11, func(e *encoder) { w.attr(e, a) })
	}
	w.values(e, 12, f.Values)
	e.text(13, f.Overload)
	e.pairs(14, f.Meta)
}

func (w *writer) node(e *encoder, n *graph.Node) {
	e.entries(1, n.Inputs)
	e.entries(2, n.Outputs)
	e.text(3, n.Name)
	e.entry(4, n.Op)
	for _, a := range n.Attrs {
		e.message(5, func(e *encoder) { w.attr(e, a) })
	}
	e.text(6, n.Doc)
	e.text(7, n.Domain)
	e.text(8, n.Overload)
	e.pairs(9, n.Meta)
}

func (w *writer) values(e *encoder, num protowire.Number, list []*graph.Value) {
	for _, v := range list {
		e.message(num, func(e *encoder) {
			e.entry(1, v.Name)
			if v.Type.Kind != graph.NoType {
				e.message(2, func(e *encoder) { w.typeProto(e, v.Type) })
			}
			e.text(3, v.Doc)
			e.pairs(4, v.Meta)
		})
	}
}

// typeFields has the field of TypeProto for every kind.
var typeFields = map[graph.TypeKind]protowire.Number{
	graph.TensorType: 1, graph.SequenceType: 4, graph.MapType: 5,
	graph.OpaqueType: 7, graph.SparseType: 8, graph.OptionalType: 9,
}

func (w *writer) typeProto(e *encoder, t graph.Type) {
	if t.Kind == graph.NoType {
		return
	}
	e.message(typeFields[t.Kind], func(e *encoder) {
		switch t.Kind {
		case graph.TensorType, graph.SparseType:
			e.int(1, int64(codeOf(t.DType)))
			if t.Dims != nil {
				e.message(2, func(e *encoder) { w.dims(e, t.Dims) })
			}
		case graph.OpaqueType:
			e.text(1, t.Domain)
			e.text(2, t.Name)
		case graph.MapType:
			e.int(1, int64(codeOf(t.Key)))
			w.elem(e, 2, t.Elem)
		default:
			w.elem(e, 1, t.Elem)
		}
	})
}

func (w *writer) elem(e *encoder, num protowire.Number, t *graph.Type) {
	if t != nil {
		e.message(num, func(e *encoder) { w.typeProto(e, *t) })
	}
}

func (w *writer) dims(e *encoder, dims graph.Dims) {
	for _, d := range dims {
		e.message(1, func(e *encoder) {
			if n, ok := d.Value(); ok {
				e.int(1, int64(n))
			} else if !d.IsUnknown() {
				e.entry(2, d.Text())
			}
		})
	}
}

// tensor writes a TensorProto. If side is not nil, it takes long elements.
func (w *writer) tensor(e *encoder, c *graph.Initializer, side *sideFile) {
	t := c.Tensor
	if t == nil {
		w.fail("constant %q has no tensor", c.Name)
		return
	}
	for _, n := range t.Shape() {
		e.int(1, int64(n))
	}
	e.int(2, int64(codeOf(t.DType())))
	if t.DType() == tensor.String {
		e.entries(stringData, t.Strings())
		side = nil
	}
	e.text(8, c.Name)
	data := t.Bytes()
	outside := side != nil && len(data) >= side.from
	if !outside && t.DType() != tensor.String {
		e.bytes(rawData, data)
	}
	e.text(12, c.Doc)
	if outside {
		e.pairs(13, []graph.Pair{
			{Key: "location", Value: side.location},
			{Key: "offset", Value: strconv.FormatInt(side.add(data), 10)},
			{Key: "length", Value: strconv.Itoa(len(data))},
		})
		e.int(14, 1)
	}
	e.pairs(16, c.Meta)
}

func (w *writer) plain(e *encoder, name string, t *tensor.Tensor) {
	w.tensor(e, &graph.Initializer{Name: name, Tensor: t}, nil)
}

func (w *writer) sparse(e *encoder, name string, t *graph.SparseTensor) {
	if t == nil {
		w.fail("sparse constant %q has no tensor", name)
		return
	}
	e.message(1, func(e *encoder) { w.plain(e, name, t.Values) })
	e.message(2, func(e *encoder) { w.plain(e, "", t.Indices) })
	for _, n := range t.Shape {
		e.int(3, int64(n))
	}
}

func (w *writer) attr(e *encoder, a *graph.Attr) {
	e.entry(1, a.Name)
	i := slices.IndexFunc(attrKinds[:], func(r attrKind) bool { return r.kind == a.Kind })
	field, code := protowire.Number(0), int64(0)
	if i >= 0 {
		field, code = attrKinds[i].field, attrKinds[i].code
	}
	if a.Ref == "" && field < 20 {
		w.attrValue(e, field, a)
	}
	if a.Doc != "" {
		e.entry(13, a.Doc)
	}
	if code != 0 {
		e.int(20, code)
	}
	e.text(21, a.Ref)
	if a.Ref == "" && field > 20 {
		w.attrValue(e, field, a)
	}
}

func (w *writer) attrValue(e *encoder, field protowire.Number, a *graph.Attr) {
	switch a.Kind {
	case graph.AttrFloat:
		e.float(field, a.Float)
	case graph.AttrInt:
		e.int(field, a.Int)
	case graph.AttrString:
		e.bytes(field, a.Str)
	case graph.AttrTensor:
		e.message(field, func(e *encoder) { w.plain(e, "", a.Tensor) })
	case graph.AttrGraph:
		if a.Graph == nil {
			w.fail("attribute %q has no graph", a.Name)
			return
		}
		e.message(field, func(e *encoder) { w.graph(e, a.Graph) })
	case graph.AttrSparse:
		e.message(field, func(e *encoder) { w.sparse(e, "", a.Sparse) })
	case graph.AttrType:
		if a.Type == nil {
			w.fail("attribute %q has no type", a.Name)
			return
		}
		e.message(field, func(e *encoder) { w.typeProto(e, *a.Type) })
	default:
		w.attrList(e, field, a)
	}
}

func (w *writer) attrList(e *encoder, field protowire.Number, a *graph.Attr) {
	switch a.Kind {
	case graph.AttrFloats:
		for _, v := range a.Floats {
			e.float(field, v)
		}
	case graph.AttrInts:
		e.ints(field, a.Ints)
	case graph.AttrStrings:
		for _, s := range a.Strs {
			e.bytes(field, s)
		}
	case graph.AttrTensors:
		for _, t := range a.Tensors {
			e.message(field, func(e *encoder) { w.plain(e, "", t) })
		}
	case graph.AttrGraphs:
		for _, g := range a.Graphs {
			e.message(field, func(e *encoder) { w.graph(e, g) })
		}
	case graph.AttrSparses:
		for _, t := range a.Sparses {
			e.message(field, func(e *encoder) { w.sparse(e, "", t) })
		}
	case graph.AttrTypes:
		for _, t := range a.Types {
			e.message(field, func(e *encoder) { w.typeProto(e, *t) })
		}
	}
}
