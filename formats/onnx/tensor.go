package onnx

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// tensorProto is a TensorProto with its elements still in the file.
type tensorProto struct {
	msg      message // at its start, for another walk
	name     string
	doc      string
	meta     []graph.Pair
	dtype    tensor.DType
	shape    tensor.Shape
	dims     int              // offset of the extents
	field    protowire.Number // that holds elements; 0 for none
	count    int              // entries in the field; bytes of raw_data
	chunks   int              // pieces of the field
	chunk    []byte           // the last piece
	at       int              // offset of the last piece
	external bool
	entries  []graph.Pair // of external_data
}

// namedTensor reads a TensorProto. If it fails, the tensor is nil.
func (d *decoder) namedTensor(m message) (*tensorProto, *tensor.Tensor) {
	p := &tensorProto{msg: m, dims: m.start}
	p.header()
	if d.err != nil {
		return p, nil
	}
	t, err := p.elements()
	if err != nil {
		switch {
		case d.budget.Err() != nil:
			d.goes(m.start)
		case errors.Is(err, budget.ErrBytes):
			d.spends(m.start, err)
		case errors.Is(err, graph.ErrUnsupported):
			d.fail(m.start, nil, "tensor %q: %w", p.name, err)
		default:
			d.bad(m.start, "tensor %q: %w", p.name, err)
		}
		return p, nil
	}
	return p, t
}

func (d *decoder) tensor(m message) *tensor.Tensor {
	_, t := d.namedTensor(m)
	return t
}

// header reads all fields except the elements. It counts the elements.
func (p *tensorProto) header() {
	m := p.msg
	d := m.d
	var dims []int64
	code := int64(0)
	for m.next() {
		switch m.num {
		case 1:
			p.dims = m.at
			dims = m.ints(dims)
			if len(dims) > d.limits.rank {
				d.bad(m.at, "tensor %q has more than %d axes", p.name, d.limits.rank)
			}
		case 2:
			code = m.int()
		case 3:
			d.fail(m.at, graph.ErrUnsupported, "tensor %q is a segment of a larger tensor; save the model with whole tensors", p.name)
		case floatData, int32Data, stringData, int64Data, rawData, doubleData, uint64Data:
			p.storage(&m)
		case 8:
			p.name = m.name()
		case 12:
			p.doc = m.text()
		case 13:
			p.entries = append(p.entries, d.pair(m.sub("StringStringEntryProto")))
		case 14:
			p.external = m.int() == 1
			if m.val > 1 {
				d.bad(m.at, "tensor %q: data_location %d is neither inline nor external", p.name, m.val)
			}
		case 16:
			p.meta = append(p.meta, d.pair(m.sub("StringStringEntryProto")))
		}
	}
	var err error
	if p.shape, err = shapeOf(dims); err != nil {
		d.bad(p.dims, "tensor %q: %w", p.name, err)
	}
	if p.dtype = d.dtype(p.msg.start, code); p.dtype == tensor.Invalid {
		d.bad(p.msg.start, "tensor %q has no element type", p.name)
	}
}

// shapeOf returns the shape with the extents dims.
func shapeOf(dims []int64) (tensor.Shape, error) {
	s := make(tensor.Shape, len(dims))
	for i, n := range dims {
		s[i] = int(n)
		if int64(s[i]) != n {
			return s, fmt.Errorf("extent %d does not fit this system", n)
		}
	}
	return s, s.Check()
}

// dtype returns the element type of a code. Unknown codes other than 0 fail.
func (d *decoder) dtype(at int, code int64) tensor.DType {
	t := dtypeOf(code)
	if t == tensor.Invalid && code != 0 {
		d.fail(at, graph.ErrUnsupported, "element type %d is not one of the %d that are known", code, len(dtypes)-1)
	}
	return t
}

// storage records one piece of a field that holds elements.
func (p *tensorProto) storage(m *message) {
	n := 1
	switch {
	case m.typ != protowire.BytesType || m.num == stringData:
		if !m.is(wireType(m.num)) {
			return
		}
	default:
		n = entries(m.num, m.body)
		if n < 0 {
			m.d.bad(m.at, "tensor %q: %s of %d bytes ends within an element", p.name, storageNames[m.num], len(m.body))
			return
		}
		if n == 0 {
			return
		}
	}
	if p.field != 0 && p.field != m.num {
		m.d.bad(m.at, "tensor %q has elements in %s and in %s", p.name, storageNames[p.field], storageNames[m.num])
		return
	}
	p.field, p.chunk, p.at = m.num, m.body, m.at
	p.count += n
	p.chunks++
}

// wireType returns the wire type of a single entry.
func wireType(field protowire.Number) protowire.Type {
	switch field {
	case floatData:
		return protowire.Fixed32Type
	case doubleData:
		return protowire.Fixed64Type
	case rawData, stringData:
		return protowire.BytesType
	}
	return protowire.VarintType
}

// entries returns the number of entries of a packed field, or -1 if the last one is cut off.
func entries(field protowire.Number, b []byte) int {
	width := 1
	switch field {
	case rawData:
		return len(b)
	case floatData:
		width = 4
	case doubleData:
		width = 8
	default:
		if len(b) > 0 && b[len(b)-1] >= 0x80 {
			return -1
		}
		return varints(b)
	}
	if len(b)%width != 0 {
		return -1
	}
	return len(b) / width
}

// pair reads a StringStringEntryProto.
func (d *decoder) pair(m message) graph.Pair {
	var p graph.Pair
	for m.next() {
		switch m.num {
		case 1:
			p.Key = m.name()
		case 2:
			p.Value = m.text()
		}
	}
	return p
}

// sparse reads a SparseTensorProto, and returns the name of its values.
func (d *decoder) sparse(m message) (string, *graph.SparseTensor) {
	s := &graph.SparseTensor{}
	start, name := m.start, ""
	var dims []int64
	for m.next() {
		switch m.num {
		case 1:
			var p *tensorProto
			p, s.Values = d.namedTensor(m.sub("TensorProto"))
			name = p.name
		case 2:
			s.Indices = d.tensor(m.sub("TensorProto"))
		case 3:
			dims = m.ints(dims)
			if len(dims) > d.limits.rank {
				d.bad(m.at, "sparse tensor %q has more than %d axes", name, d.limits.rank)
			}
		}
	}
	var err error
	if s.Shape, err = shapeOf(dims); err == nil && d.err == nil {
		err = checkSparse(d.budget, s)
	}
	if err != nil && d.goes(start) {
		d.bad(start, "sparse tensor %q: %w", name, err)
	}
	return name, s
}
