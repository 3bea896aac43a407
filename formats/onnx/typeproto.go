package onnx

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// typeProto reads a TypeProto.
func (d *decoder) typeProto(m message) graph.Type {
	var t graph.Type
	defer d.leave()
	if !d.enter(m.start, "types") {
		return t
	}
	for m.next() {
		switch m.num {
		case 1:
			t = d.tensorType(m.sub("TypeProto.Tensor"), graph.TensorType)
		case 4:
			t = d.containerType(m.sub("TypeProto.Sequence"), graph.SequenceType)
		case 5:
			t = d.containerType(m.sub("TypeProto.Map"), graph.MapType)
		case 7:
			t = d.opaqueType(m.sub("TypeProto.Opaque"))
		case 8:
			t = d.tensorType(m.sub("TypeProto.SparseTensor"), graph.SparseType)
		case 9:
			t = d.containerType(m.sub("TypeProto.Optional"), graph.OptionalType)
		}
	}
	return t
}

// tensorType reads TypeProto.Tensor and TypeProto.SparseTensor, which are alike.
func (d *decoder) tensorType(m message, kind graph.TypeKind) graph.Type {
	t := graph.Type{Kind: kind}
	for m.next() {
		switch m.num {
		case 1:
			t.DType = d.dtype(m.at, m.int())
		case 2:
			t.Dims = d.dims(m.sub("TensorShapeProto"))
		}
	}
	return t
}

func (d *decoder) dims(m message) graph.Dims {
	dims := graph.Dims{}
	for m.next() {
		if m.num != 1 {
			continue
		}
		if len(dims) == d.limits.rank {
			d.bad(m.at, "more than %d axes", d.limits.rank)
			break
		}
		dims = append(dims, d.dim(m.sub("TensorShapeProto.Dimension")))
	}
	return dims
}

// dim reads an extent. Exporters write negative numbers for unknown extents.
func (d *decoder) dim(m message) graph.Dim {
	dim := graph.Unknown()
	for m.next() {
		switch m.num {
		case 1:
			dim = graph.Unknown()
			if v := m.int(); v >= 0 && int64(int(v)) == v {
				dim = graph.Known(int(v))
			}
		case 2:
			dim = namedDim(m.name())
		}
	}
	return dim
}

// namedDim returns the extent for a name. If the name is an expression over symbols, it is parsed.
// A name that is a number stays a symbol, because a known extent would not be written as a name
// again.
func namedDim(name string) graph.Dim {
	if d := graph.ParseDim(name); !d.IsKnown() {
		return d
	}
	return graph.Symbol(name)
}

// containerType reads TypeProto.Sequence, Optional and Map. Field 1 is the element's type. In a
// map, field 1 is the key's type and field 2 the value's.
func (d *decoder) containerType(m message, kind graph.TypeKind) graph.Type {
	t := graph.Type{Kind: kind}
	elem := 1
	if kind == graph.MapType {
		elem = 2
	}
	at := m.start
	for m.next() {
		switch {
		case int(m.num) == elem:
			e := d.typeProto(m.sub("TypeProto"))
			t.Elem = &e
		case m.num == 1:
			t.Key = d.dtype(m.at, m.int())
		}
	}
	if kind == graph.MapType && !t.Key.IsInteger() && t.Key != tensor.String {
		d.bad(at, "map with keys of type %v", t.Key)
	}
	return t
}

func (d *decoder) opaqueType(m message) graph.Type {
	t := graph.Type{Kind: graph.OpaqueType}
	for m.next() {
		switch m.num {
		case 1:
			t.Domain = m.name()
		case 2:
			t.Name = m.name()
		}
	}
	return t
}
