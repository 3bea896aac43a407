package onnx

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// attrKinds has a row for each kind of attribute: its AttributeProto.AttributeType, and the field
// that holds the value.
var attrKinds = [...]attrKind{
	{graph.AttrFloat, 1, 2},
	{graph.AttrInt, 2, 3},
	{graph.AttrString, 3, 4},
	{graph.AttrTensor, 4, 5},
	{graph.AttrGraph, 5, 6},
	{graph.AttrFloats, 6, 7},
	{graph.AttrInts, 7, 8},
	{graph.AttrStrings, 8, 9},
	{graph.AttrTensors, 9, 10},
	{graph.AttrGraphs, 10, 11},
	{graph.AttrSparse, 11, 22},
	{graph.AttrSparses, 12, 23},
	{graph.AttrType, 13, 14},
	{graph.AttrTypes, 14, 15},
}

type attrKind struct {
	kind  graph.AttrKind
	code  int64
	field protowire.Number
}

// attr reads an AttributeProto. IR version 1 has no type field; the kind is then the kind of the
// field that is present.
func (d *decoder) attr(m message, s *scope) *graph.Attr {
	a := &graph.Attr{}
	start, code := m.start, int64(0)
	var met [24]bool // value fields by number
	for m.next() {
		switch m.num {
		case 1:
			a.Name = m.name()
		case 13:
			a.Doc = m.text()
		case 20:
			code = m.int()
		case 21:
			a.Ref = m.name()
		default:
			if int(m.num) < len(met) {
				met[m.num] = true
			}
			d.attrValue(&m, a, s)
		}
	}
	if d.err == nil {
		d.attrKind(start, a, code, met[:])
	}
	return a
}

func (d *decoder) attrValue(m *message, a *graph.Attr, s *scope) {
	switch m.num {
	case 2:
		a.Float = m.float()
	case 3:
		a.Int = m.int()
	case 4:
		a.Str = bytes.Clone(m.bytes())
	case 5:
		a.Tensor = d.tensor(m.sub("TensorProto"))
	case 6:
		a.Graph = d.graph(m.sub("GraphProto"), s)
	case 7:
		a.Floats = m.floats(a.Floats)
	case 8:
		a.Ints = m.ints(a.Ints)
	case 9:
		if a.Strs == nil {
			a.Strs = make([][]byte, 0, m.alike())
		}
		a.Strs = append(a.Strs, m.word())
	case 10:
		a.Tensors = append(a.Tensors, d.tensor(m.sub("TensorProto")))
	case 11:
		a.Graphs = append(a.Graphs, d.graph(m.sub("GraphProto"), s))
	case 14:
		t := d.typeProto(m.sub("TypeProto"))
		a.Type = &t
	case 15:
		t := d.typeProto(m.sub("TypeProto"))
		a.Types = append(a.Types, &t)
	case 22:
		_, a.Sparse = d.sparse(m.sub("SparseTensorProto"))
	case 23:
		_, t := d.sparse(m.sub("SparseTensorProto"))
		a.Sparses = append(a.Sparses, t)
	}
}

// attrKind sets the kind of a from code, or from the only field in met if code is 0. It drops
// values of other kinds.
func (d *decoder) attrKind(at int, a *graph.Attr, code int64, met []bool) {
	known := code == 0
	for _, row := range attrKinds {
		if code == row.code {
			a.Kind, known = row.kind, true
		}
		if code == 0 && met[row.field] {
			if a.Kind != graph.AttrNone {
				d.bad(at, "attribute %q has values of kinds %v and %v and does not say which counts", a.Name, a.Kind, row.kind)
				return
			}
			a.Kind = row.kind
		}
	}
	if !known {
		d.fail(at, graph.ErrUnsupported, "attribute %q is of unknown kind %d", a.Name, code)
		return
	}
	v := *a
	*a = graph.Attr{Name: v.Name, Kind: v.Kind, Ref: v.Ref, Doc: v.Doc}
	if v.Ref != "" {
		return
	}
	missing := false
	switch a.Kind {
	case graph.AttrFloat:
		a.Float = v.Float
	case graph.AttrInt:
		a.Int = v.Int
	case graph.AttrString:
		a.Str = v.Str
	case graph.AttrTensor:
		a.Tensor, missing = v.Tensor, v.Tensor == nil
	case graph.AttrGraph:
		a.Graph, missing = v.Graph, v.Graph == nil
	case graph.AttrSparse:
		a.Sparse, missing = v.Sparse, v.Sparse == nil
	case graph.AttrType:
		a.Type, missing = v.Type, v.Type == nil
	case graph.AttrFloats:
		a.Floats = v.Floats
	case graph.AttrInts:
		a.Ints = v.Ints
	case graph.AttrStrings:
		a.Strs = v.Strs
	case graph.AttrTensors:
		a.Tensors = v.Tensors
	case graph.AttrGraphs:
		a.Graphs = v.Graphs
	case graph.AttrSparses:
		a.Sparses = v.Sparses
	case graph.AttrTypes:
		a.Types = v.Types
	}
	if missing {
		d.bad(at, "attribute %q is of kind %v and has no value", a.Name, a.Kind)
	}
}
