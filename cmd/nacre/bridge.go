package main

import (
	"fmt"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// tensorOf returns t, a tensor of files and comparisons, in the type that sessions take. Aligned
// elements are shared, not copied.
func tensorOf(t *tensor.Tensor) (*nacre.Tensor, error) {
	if t.DType() == tensor.String {
		return nacre.Strings(t.Strings(), t.Shape()...)
	}
	return nacre.FromBytes(nacre.DType(t.DType()), t.Bytes(), t.Shape()...)
}

// plainTensor is the inverse of tensorOf.
func plainTensor(t *nacre.Tensor) *tensor.Tensor {
	var p *tensor.Tensor
	var err error
	if t.DType() == nacre.String {
		p, err = tensor.FromStrings(t.Strings(), t.Shape()...)
	} else {
		p, err = tensor.FromBytes(tensor.DType(t.DType()), t.Shape(), t.Bytes())
	}
	if err != nil {
		panic(err) // a tensor fits its own type and shape
	}
	return p
}

// valueOf is tensorOf for any value.
func valueOf(v tensor.Value) (nacre.Value, error) {
	switch v := v.(type) {
	case *tensor.Tensor:
		return tensorOf(v)
	case *tensor.Sequence:
		s := &nacre.Sequence{}
		for _, item := range v.Items {
			x, err := valueOf(item)
			if err != nil {
				return nil, err
			}
			s.Items = append(s.Items, x)
		}
		return s, nil
	case *tensor.Optional:
		if v.Item == nil {
			return &nacre.Optional{}, nil
		}
		x, err := valueOf(v.Item)
		return &nacre.Optional{Item: x}, err
	case *tensor.Map:
		keys, err := tensorOf(v.Keys)
		if err != nil {
			return nil, err
		}
		values, err := tensorOf(v.Values)
		return &nacre.Map{Keys: keys, Values: values}, err
	}
	return nil, fmt.Errorf("%v is no value that a model takes", v)
}

// plain is the inverse of valueOf. It returns nil for a value that is not there.
func plain(v nacre.Value) tensor.Value {
	switch v := v.(type) {
	case *nacre.Tensor:
		return plainTensor(v)
	case *nacre.Sequence:
		s := &tensor.Sequence{}
		for _, item := range v.Items {
			s.Items = append(s.Items, plain(item))
		}
		return s
	case *nacre.Optional:
		return &tensor.Optional{Item: plain(v.Item)}
	case *nacre.Map:
		return &tensor.Map{Keys: plainTensor(v.Keys), Values: plainTensor(v.Values)}
	}
	return nil
}

// kindOf maps a kind to the engine's kind.
var kindOf = map[nacre.Kind]graph.TypeKind{
	nacre.TensorKind: graph.TensorType, nacre.SequenceKind: graph.SequenceType, nacre.OptionalKind: graph.OptionalType,
	nacre.MapKind: graph.MapType, nacre.SparseKind: graph.SparseType, nacre.OpaqueKind: graph.OpaqueType,
}

// typeOf returns the type by which stored values of the input or output in are read.
func typeOf(in nacre.Info) graph.Type {
	t := graph.Type{Kind: kindOf[in.Kind], DType: tensor.DType(in.DType), Key: tensor.DType(in.Key)}
	if in.Elem != nil {
		elem := typeOf(*in.Elem)
		t.Elem = &elem
	}
	return t
}
