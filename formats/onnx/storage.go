package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// elements returns the tensor. It is a view if the file holds the elements as bytes, and a copy if
// not.
func (p *tensorProto) elements() (*tensor.Tensor, error) {
	switch {
	case p.external && p.field != 0:
		return nil, fmt.Errorf("elements are in %s and in an external file", storageNames[p.field])
	case p.external && p.dtype == tensor.String:
		return nil, errors.New("strings cannot be in an external file")
	case p.external:
		return p.msg.d.externalTensor(p)
	case len(p.entries) > 0 && p.field == 0 && p.shape.Len() > 0:
		return nil, errors.New("external_data is given but data_location is not external")
	}
	if err := p.checkCount(); err != nil {
		return nil, err
	}
	switch {
	case p.dtype == tensor.String:
		return tensor.FromStrings(p.stringElements(), p.shape...)
	case p.count == 0:
		return tensor.New(p.dtype, p.shape...), nil
	case p.isBytes():
		return p.msg.d.view(p.dtype, p.shape, p.chunk)
	}
	return p.decode()
}

// isBytes reports whether the file holds the elements as the tensor does.
func (p *tensorProto) isBytes() bool {
	switch p.field {
	case rawData:
		return true
	case floatData, doubleData:
		return p.chunks == 1 && p.chunk != nil
	}
	return false
}

// checkCount compares the number of entries in the field with the number that type and shape need.
func (p *tensorProto) checkCount() error {
	n := p.shape.Len()
	field := dtypes[codeOf(p.dtype)].field
	want := n
	switch {
	case p.field == rawData && p.dtype == tensor.String:
		return errors.New("strings cannot be in raw_data")
	case p.field == rawData:
		if p.chunks > 1 {
			return errors.New("raw_data is given more than once")
		}
		want = p.dtype.Bytes(n)
	case p.field != 0 && p.field != field:
		return fmt.Errorf("%v elements belong in %s or raw_data, not in %s", p.dtype, storageNames[field], storageNames[p.field])
	case p.dtype.Kind() == tensor.Complex:
		want = 2 * n
	case p.dtype.Layout() != nil:
		want = p.dtype.Bytes(n)
	}
	if p.count != want {
		name := storageNames[field]
		if p.field != 0 {
			name = storageNames[p.field]
		}
		return fmt.Errorf("%v%v needs %d entries in %s, which has %d", p.dtype, p.shape, want, name, p.count)
	}
	return nil
}

// view returns a tensor over data. Booleans other than 0 and 1 become 1, in a copy.
func (d *decoder) view(dtype tensor.DType, shape tensor.Shape, data []byte) (*tensor.Tensor, error) {
	t, err := tensor.FromBytes(dtype, shape, data)
	if err != nil || dtype != tensor.Bool {
		return t, err
	}
	if container.Index(d.budget, data, func(c byte) bool { return c > 1 }) < 0 {
		return t, d.budget.Err()
	}
	if err := container.Take(d.budget, len(data)); err != nil {
		return nil, err
	}
	t = t.Clone()
	clean := t.Bytes()
	return t, pieces.Each(d.budget, len(clean), pieces.Bytes, func(from, to int) {
		for i := from; i < to; i++ {
			clean[i] = min(clean[i], 1)
		}
	})
}

func (p *tensorProto) stringElements() []string {
	m := p.msg
	if !m.d.take(m.start, 2*stringBytes*p.count) {
		return nil
	}
	list := make([]string, 0, p.count)
	for m.next() {
		if m.num == stringData {
			list = append(list, m.text())
		}
	}
	return list
}

// decode converts the entries of a typed field. Their number has been checked.
func (p *tensorProto) decode() (*tensor.Tensor, error) {
	if err := container.Take(p.msg.d.budget, p.dtype.Bytes(p.shape.Len())); err != nil {
		return nil, err
	}
	t := tensor.New(p.dtype, p.shape...)
	w := words{budget: p.msg.d.budget, dst: t.Bytes(), width: max(p.dtype.Bits()/8, 1), dtype: p.dtype}
	switch p.dtype {
	case tensor.C64:
		w.width = 4
	case tensor.C128:
		w.width = 8
	}
	m := p.msg
	for m.next() {
		if m.num != p.field {
			continue
		}
		if m.typ != protowire.BytesType {
			if err := w.put(m.val); err != nil {
				return nil, err
			}
			continue
		}
		if err := w.packed(p.field, m.body); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// words writes entries to dst one after another, little-endian.
type words struct {
	budget *budget.Budget
	dst    []byte
	width  int
	dtype  tensor.DType
}

func (w *words) packed(field protowire.Number, b []byte) error {
	if field == floatData || field == doubleData {
		w.dst = w.dst[copy(w.dst, b):]
		return nil
	}
	for i := 0; len(b) > 0; i++ {
		if i%lookEvery == 0 && w.budget.Err() != nil {
			return w.budget.Err()
		}
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return fmt.Errorf("%s: %w", storageNames[field], protowire.ParseError(n))
		}
		if err := w.put(v); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// put stores the low bits of v. It fails if the bits above are not all zero or copies of the sign.
func (w *words) put(v uint64) error {
	if bits := 8 * w.width; bits < 64 {
		if top := int64(v) >> (bits - 1); top != 0 && top != -1 && v>>bits != 0 {
			return fmt.Errorf("entry %d does not fit %v", int64(v), w.dtype)
		}
	}
	if w.dtype == tensor.Bool && v != 0 {
		v = 1
	}
	switch w.width {
	case 1:
		w.dst[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(w.dst, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(w.dst, uint32(v))
	case 8:
		binary.LittleEndian.PutUint64(w.dst, v)
	}
	w.dst = w.dst[w.width:]
	return nil
}

// checkSparse checks that values, indices and shape of a sparse tensor fit each other.
func checkSparse(b *budget.Budget, s *graph.SparseTensor) error {
	if s.Values == nil {
		return errors.New("no values")
	}
	n := s.Values.Len()
	if len(s.Values.Shape()) != 1 {
		return fmt.Errorf("values of shape %v where one axis belongs", s.Values.Shape())
	}
	if s.Indices == nil {
		if n > 0 {
			return errors.New("no indices")
		}
		s.Indices = tensor.New(tensor.I64, 0)
	}
	sh := s.Indices.Shape()
	flat := len(sh) == 1 && sh[0] == n
	rows := len(sh) == 2 && sh[0] == n && sh[1] == len(s.Shape)
	if s.Indices.DType() != tensor.I64 || !flat && !rows {
		return fmt.Errorf("indices are %v where int64[%d] or int64[%d,%d] belongs", s.Indices, n, n, len(s.Shape))
	}
	return checkIndices(b, tensor.View[int64](s.Indices.Aligned()), s.Shape, flat)
}

// checkIndices checks that indices are within the shape and ascend strictly.
func checkIndices(b *budget.Budget, idx []int64, shape tensor.Shape, flat bool) error {
	step, extents := len(shape), shape
	if flat {
		step, extents = 1, tensor.Shape{shape.Len()}
	}
	last := int64(-1)
	for i := 0; i+step <= len(idx) && step > 0; i += step {
		if i%lookEvery < step && b.Err() != nil {
			return b.Err()
		}
		at := int64(0)
		for k, n := range extents {
			v := idx[i+k]
			if v < 0 || v >= int64(n) || at > (math.MaxInt64-v)/int64(n) {
				return fmt.Errorf("index %d outside shape %v", v, shape)
			}
			at = at*int64(n) + v
		}
		if at <= last {
			return fmt.Errorf("indices do not ascend at element %d", i/step)
		}
		last = at
	}
	return nil
}
