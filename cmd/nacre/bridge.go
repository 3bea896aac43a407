package main

import (
	"github.com/nacre-ml/nacre"
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

// plain is plainTensor for any value. It returns nil for a value that is not there.
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
