package nacre

import (
	"io"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// ReadProto reads a value and its name from the bytes of a .pb file, the form of the inputs and
// results of ONNX's tests. A file does not tell its kind: want, such as one of Session.Inputs, has it,
// and the kinds of items; its types and shapes do not count. The zero Info reads a tensor. The value
// may share the memory of data. A budget bounds memory and time, and may be nil.
//
// The error is ErrFormat for a damaged file, ErrUnsupported for a sparse tensor or another value that
// no run takes, and ErrMemory for more than the budget.
func ReadProto(b *formats.Budget, data []byte, want Info) (_ string, _ Value, err error) {
	defer enter("").end(&err)
	t := want.below()
	if t.Kind == graph.NoType {
		t.Kind = graph.TensorType
	}
	v, err := onnx.ReadValueWithin(b, data, t)
	if err != nil {
		return "", nil, err
	}
	x, err := v.Runnable()
	if err != nil {
		return "", nil, err
	}
	value, err := fromStored(x)
	return v.Name, value, err
}

// WriteProto writes a value with a name as ReadProto reads it. The error is ErrShape for a value that
// is nil or has an item that is, and ErrUnsupported for an element type that ONNX lacks.
func WriteProto(w io.Writer, name string, v Value) (err error) {
	defer enter("").end(&err)
	p, err := protoOf(v, 0)
	if err != nil {
		return err
	}
	p.Name = name
	data, err := onnx.WriteValue(nil, p)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// fromStored returns a value of a file. Aligned elements are shared.
func fromStored(v tensor.Value) (Value, error) {
	switch v := v.(type) {
	case *tensor.Tensor:
		return tensorFromStored(v)
	case *tensor.Sequence:
		s := &Sequence{Items: make([]Value, len(v.Items))}
		for i, item := range v.Items {
			var err error
			if s.Items[i], err = fromStored(item); err != nil {
				return nil, err
			}
		}
		return s, nil
	case *tensor.Optional:
		if v.Item == nil {
			return &Optional{}, nil
		}
		item, err := fromStored(v.Item)
		return &Optional{Item: item}, err
	case *tensor.Map:
		keys, err := tensorFromStored(v.Keys)
		if err != nil {
			return nil, err
		}
		values, err := tensorFromStored(v.Values)
		return &Map{Keys: keys, Values: values}, err
	}
	return nil, markf(ErrUnsupported, "%v is no value that a run takes", v)
}

func tensorFromStored(t *tensor.Tensor) (*Tensor, error) {
	if t.DType() == tensor.String {
		return Strings(t.Strings(), t.Shape()...)
	}
	return FromBytes(DType(t.DType()), t.Bytes(), t.Shape()...)
}

// protoOf returns the message of a value.
func protoOf(v Value, depth int) (*onnx.Value, error) {
	x, err := belowAt(v, depth)
	switch {
	case err != nil:
		return nil, err
	case x == nil:
		return nil, markf(ErrShape, "there is no value to write")
	}
	switch v := v.(type) {
	case *Tensor:
		switch {
		case v.DType() == Invalid:
			return nil, markf(ErrShape, "there is no tensor to write")
		case v.t.DType().Code() == 0:
			return nil, markf(ErrUnsupported, "ONNX has no element type for %v", v.DType())
		}
		return &onnx.Value{Type: graph.TensorOf(v.t.DType(), graph.DimsOf(v.t.Shape())), Tensor: &v.t}, nil
	case *Sequence:
		return protoOfItems(graph.SequenceType, v.Items, depth)
	case *Optional:
		if v.Item == nil {
			return protoOfItems(graph.OptionalType, nil, depth)
		}
		return protoOfItems(graph.OptionalType, []Value{v.Item}, depth)
	case *Map:
		return protoOfMap(v)
	}
	return nil, markf(ErrUnsupported, "%v is no value that a file holds", v)
}

func protoOfItems(kind graph.TypeKind, items []Value, depth int) (*onnx.Value, error) {
	p := &onnx.Value{Type: graph.Type{Kind: kind}}
	for _, item := range items {
		x, err := protoOf(item, depth+1)
		if err != nil {
			return nil, err
		}
		p.List = append(p.List, x)
	}
	return p, nil
}

// protoOfMap returns the message of a map, with a scalar for each value.
func protoOfMap(m *Map) (*onnx.Value, error) {
	keys := m.Keys
	if keys.DType() != String {
		var err error
		if keys, err = keys.Convert(Int64); err != nil {
			return nil, err
		}
	}
	d := m.Values.DType()
	if d != String && d.Bits()%8 != 0 {
		return nil, markf(ErrUnsupported, "values of a map are %v, of which several are in a byte", d)
	}
	elem := graph.TensorOf(tensor.DType(d), graph.Dims{})
	p := &onnx.Value{Type: graph.Type{Kind: graph.MapType, Key: m.Keys.t.DType(), Elem: &elem}, Keys: &keys.t}
	for i := range m.Values.Len() {
		var x *tensor.Tensor
		var err error
		if d == String {
			x, err = tensor.FromStrings(m.Values.Strings()[i : i+1])
		} else {
			n := d.Bits() / 8
			x, err = tensor.FromBytes(tensor.DType(d), nil, m.Values.Bytes()[i*n:(i+1)*n])
		}
		if err != nil {
			return nil, markf(ErrShape, "%w", err)
		}
		p.List = append(p.List, &onnx.Value{Type: elem, Tensor: x})
	}
	return p, nil
}
