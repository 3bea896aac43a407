package graph

import "github.com/nacre-ml/nacre/runtime/tensor"

// IntAttr returns an attribute that is an integer.
func IntAttr(name string, v int64) *Attr { return &Attr{Name: name, Kind: AttrInt, Int: v} }

// FloatAttr returns an attribute that is a number.
func FloatAttr(name string, v float32) *Attr { return &Attr{Name: name, Kind: AttrFloat, Float: v} }

// StringAttr returns an attribute that is a text.
func StringAttr(name, v string) *Attr { return &Attr{Name: name, Kind: AttrString, Str: []byte(v)} }

// IntsAttr returns an attribute that is a list of integers.
func IntsAttr(name string, v ...int64) *Attr { return &Attr{Name: name, Kind: AttrInts, Ints: v} }

// FloatsAttr returns an attribute that is a list of numbers.
func FloatsAttr(name string, v ...float32) *Attr {
	return &Attr{Name: name, Kind: AttrFloats, Floats: v}
}

// StringsAttr returns an attribute that is a list of texts.
func StringsAttr(name string, v ...string) *Attr {
	a := &Attr{Name: name, Kind: AttrStrings}
	for _, s := range v {
		a.Strs = append(a.Strs, []byte(s))
	}
	return a
}

// TensorAttr returns an attribute that is a tensor.
func TensorAttr(name string, t *tensor.Tensor) *Attr {
	return &Attr{Name: name, Kind: AttrTensor, Tensor: t}
}

// GraphAttr returns an attribute that is a graph.
func GraphAttr(name string, g *Graph) *Attr { return &Attr{Name: name, Kind: AttrGraph, Graph: g} }
