package onnx

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Value is a value of any type in a file of test data.
type Value struct {
	Name   string
	Type   graph.Type
	Tensor *tensor.Tensor      // of a tensor
	Sparse *graph.SparseTensor // of a sparse tensor
	List   []*Value            // elements of a sequence; of an optional, one or none; values of a map
	Keys   *tensor.Tensor      // of a map, one per element of List
}

// ReadTensor reads a TensorProto and returns its name and tensor. The tensor may be a view of data.
func ReadTensor(data []byte) (string, *tensor.Tensor, error) { return ReadTensorWithin(nil, data) }

// ReadTensorWithin is ReadTensor with a budget for memory. It fails if the budget's context ends.
func ReadTensorWithin(b *budget.Budget, data []byte) (_ string, _ *tensor.Tensor, err error) {
	defer guard.At("").End(&err)
	d := newDecoder(b, "", data)
	p, t := d.namedTensor(d.root("TensorProto"))
	return p.name, t, d.result()
}

// ReadValue reads the TensorProto, SequenceProto or OptionalProto that holds a value of type want.
// The message itself does not tell its type. Tensors may be views of data.
func ReadValue(data []byte, want graph.Type) (*Value, error) { return ReadValueWithin(nil, data, want) }

// ReadValueWithin is ReadValue with a budget for memory. It fails if the budget's context ends.
func ReadValueWithin(b *budget.Budget, data []byte, want graph.Type) (_ *Value, err error) {
	defer guard.At("").End(&err)
	d := newDecoder(b, "", data)
	v := d.valueOf(d.root("value"), want)
	if err := d.result(); err != nil {
		return nil, err
	}
	return v, nil
}

// WriteTensor appends a TensorProto to dst.
func WriteTensor(dst []byte, name string, t *tensor.Tensor) (_ []byte, err error) {
	defer guard.At(name).End(&err)
	var w writer
	var e encoder
	w.plain(&e, name, t)
	return e.appendTo(dst), w.err
}

// WriteValue appends the message that ReadValue reads to dst.
func WriteValue(dst []byte, v *Value) (_ []byte, err error) {
	defer guard.At("").End(&err)
	var w writer
	var e encoder
	w.value(&e, v)
	return e.appendTo(dst), w.err
}

func (d *decoder) valueOf(m message, want graph.Type) *Value {
	defer d.leave()
	if !d.enter(m.start, "values") {
		return nil
	}
	switch want.Kind {
	case graph.TensorType:
		p, t := d.namedTensor(m)
		v := &Value{Name: p.name, Tensor: t}
		if t != nil {
			v.Type = graph.TensorOf(t.DType(), graph.DimsOf(t.Shape()))
		}
		return v
	case graph.SparseType:
		name, s := d.sparse(m)
		v := &Value{Name: name, Sparse: s}
		if s != nil && s.Values != nil {
			v.Type = graph.Type{Kind: graph.SparseType, DType: s.Values.DType(), Dims: graph.DimsOf(s.Shape)}
		}
		return v
	case graph.SequenceType:
		return d.sequence(m, want)
	case graph.OptionalType:
		return d.optional(m, want)
	case graph.MapType:
		return d.mapOf(m, want)
	}
	d.fail(m.start, graph.ErrUnsupported, "values of type %v have no message", want)
	return nil
}

// elemKinds has a row for each kind of element of a sequence or an optional. The index is the code
// in elem_type. SequenceProto and OptionalProto hold elements of kind k in field firstElem + k - 1.
var elemKinds = [...]graph.TypeKind{
	1: graph.TensorType,
	2: graph.SparseType,
	3: graph.SequenceType,
	4: graph.MapType,
	5: graph.OptionalType,
}

const firstElem = 3 // field of the first kind of element

// elementsOf reads SequenceProto and OptionalProto, which are alike.
func (d *decoder) elementsOf(m message, want graph.Type) *Value {
	v := &Value{Type: want}
	code, start := int64(0), m.start
	for m.next() {
		switch m.num {
		case 1:
			v.Name = m.name()
		case 2:
			code = m.int()
		case 3, 4, 5, 6, 7:
			elem := graph.Type{Kind: elemKinds[m.num-firstElem+1]}
			if want.Elem != nil && want.Elem.Kind == elem.Kind {
				elem = *want.Elem
			}
			v.List = append(v.List, d.valueOf(m.sub("element"), elem))
		}
	}
	if d.err != nil {
		return v
	}
	if code < 0 || code >= int64(len(elemKinds)) {
		d.fail(start, graph.ErrUnsupported, "%v of unknown element kind %d", want, code)
		return v
	}
	kind := elemKinds[code]
	for _, e := range v.List {
		if kind != graph.NoType && e.Type.Kind != kind {
			d.bad(start, "%v has an element of type %v", want, e.Type)
		}
	}
	if want.Elem == nil && kind != graph.NoType {
		v.Type.Elem = &graph.Type{Kind: kind}
	}
	return v
}

func (d *decoder) sequence(m message, want graph.Type) *Value { return d.elementsOf(m, want) }

func (d *decoder) optional(m message, want graph.Type) *Value {
	v := d.elementsOf(m, want)
	if len(v.List) > 1 {
		d.bad(m.start, "optional has %d values", len(v.List))
	}
	return v
}

// mapOf reads a MapProto.
func (d *decoder) mapOf(m message, want graph.Type) *Value {
	v := &Value{Type: want}
	start := m.start
	code := int64(0)
	var keys []int64
	var texts []string
	for m.next() {
		switch m.num {
		case 1:
			v.Name = m.name()
		case 2:
			code = m.int()
		case 3:
			keys = m.ints(keys)
		case 4:
			texts = append(texts, m.text())
		case 5:
			s := d.sequence(m.sub("SequenceProto"), graph.Type{Kind: graph.SequenceType, Elem: want.Elem})
			v.List = s.List
		}
	}
	if d.err != nil {
		return v
	}
	v.Type.Key = d.dtype(start, code)
	err := fmt.Errorf("%d keys and %d values differ in number", len(keys)+len(texts), len(v.List))
	if len(keys)+len(texts) == len(v.List) {
		v.Keys, err = mapKeys(v.Type.Key, keys, texts)
	}
	if err != nil {
		d.bad(start, "map: %w", err)
	}
	return v
}

// mapKeys returns the tensor of a map's keys. Integers of every type become int64.
func mapKeys(t tensor.DType, keys []int64, texts []string) (*tensor.Tensor, error) {
	switch {
	case t == tensor.String && len(keys) == 0:
		return tensor.FromStrings(texts, len(texts))
	case t.IsInteger() && len(texts) == 0:
		return tensor.From(keys, len(keys))
	}
	return nil, fmt.Errorf("%d integers and %d strings are keys, and the key type is %v", len(keys), len(texts), t)
}

func (w *writer) value(e *encoder, v *Value) {
	switch v.Type.Kind {
	case graph.TensorType:
		w.plain(e, v.Name, v.Tensor)
	case graph.SparseType:
		w.sparse(e, v.Name, v.Sparse)
	case graph.SequenceType, graph.OptionalType:
		e.text(1, v.Name)
		w.list(e, v)
	case graph.MapType:
		w.mapOf(e, v)
	default:
		w.fail("value %q of type %v has no message", v.Name, v.Type)
	}
}

// list writes the fields of SequenceProto and OptionalProto that follow the name.
func (w *writer) list(e *encoder, v *Value) {
	kind := graph.NoType
	if v.Type.Elem != nil {
		kind = v.Type.Elem.Kind
	}
	if len(v.List) > 0 {
		kind = v.List[0].Type.Kind
	}
	code := max(slices.Index(elemKinds[:], kind), 0)
	e.int(2, int64(code))
	for _, x := range v.List {
		if x.Type.Kind != kind || code == 0 {
			w.fail("value %q of type %v has an element of type %v", v.Name, v.Type, x.Type)
			return
		}
		e.message(protowire.Number(firstElem+code-1), func(e *encoder) { w.value(e, x) })
	}
}

func (w *writer) mapOf(e *encoder, v *Value) {
	e.text(1, v.Name)
	e.int(2, int64(codeOf(v.Type.Key)))
	if v.Keys != nil && v.Keys.DType() == tensor.I64 {
		e.ints(3, tensor.View[int64](v.Keys.Aligned()))
	} else if v.Keys != nil {
		e.entries(4, v.Keys.Strings())
	}
	e.message(5, func(e *encoder) {
		w.list(e, &Value{Type: graph.Type{Kind: graph.SequenceType, Elem: v.Type.Elem}, List: v.List})
	})
}

// Runnable returns the value in the form that operators compute on. No operator computes on sparse
// tensors, so a sparse tensor is an error.
func (v *Value) Runnable() (_ tensor.Value, err error) {
	defer guard.At("").End(&err)
	switch v.Type.Kind {
	case graph.SequenceType:
		items, err := v.items()
		return &tensor.Sequence{Items: items}, err
	case graph.OptionalType:
		items, err := v.items()
		if len(items) == 0 {
			return &tensor.Optional{}, err
		}
		return &tensor.Optional{Item: items[0]}, err
	case graph.MapType:
		return v.runnableMap()
	case graph.TensorType:
		return v.Tensor, nil
	}
	return nil, graph.Errorf(graph.ErrUnsupported, "no operator computes on %v", v.Type)
}

// runnableMap is Runnable for a map. Its values must be single elements of one type.
func (v *Value) runnableMap() (tensor.Value, error) {
	d := tensor.Invalid
	if v.Type.Elem != nil {
		d = v.Type.Elem.DType
	}
	if len(v.List) > 0 && v.List[0].Tensor != nil {
		d = v.List[0].Tensor.DType()
	}
	if !d.Valid() || d.Bits()%8 != 0 || v.Keys == nil || len(v.List) != v.Keys.Len() {
		return nil, graph.Errorf(graph.ErrUnsupported, "no operator computes on %v", v.Type)
	}
	values := tensor.New(d, len(v.List))
	for i, e := range v.List {
		t := e.Tensor
		if t == nil || t.DType() != d || t.Len() != 1 {
			return nil, graph.Errorf(graph.ErrUnsupported, "no operator computes on %v with %v among its values", v.Type, t)
		}
		copy(values.Bytes()[d.Bytes(i):], t.Bytes())
		copy(values.Strings()[min(i, len(values.Strings())):], t.Strings())
	}
	return &tensor.Map{Keys: v.Keys, Values: values}, nil
}

func (v *Value) items() ([]tensor.Value, error) {
	list := make([]tensor.Value, len(v.List))
	for i, e := range v.List {
		var err error
		if list[i], err = e.Runnable(); err != nil {
			return nil, err
		}
	}
	return list, nil
}
