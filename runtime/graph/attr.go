package graph

import "github.com/nacre-ml/nacre/runtime/tensor"

// AttrKind selects the field of an Attr that holds its value.
type AttrKind uint8

// The kinds of attributes.
const (
	AttrNone AttrKind = iota
	AttrFloat
	AttrInt
	AttrString
	AttrTensor
	AttrGraph
	AttrFloats
	AttrInts
	AttrStrings
	AttrTensors
	AttrGraphs
	AttrSparse
	AttrSparses
	AttrType
	AttrTypes
)

var attrKindNames = [...]string{
	"none", "float", "int", "string", "tensor", "graph", "floats", "ints", "strings",
	"tensors", "graphs", "sparse tensor", "sparse tensors", "type", "types",
}

// String returns the name of the kind.
func (k AttrKind) String() string { return attrKindNames[k] }

// Attr is a named constant of a node. Kind selects the field with its value. Within a function, Ref
// may instead name an attribute of the function.
type Attr struct {
	Name    string
	Kind    AttrKind
	Ref     string
	Float   float32
	Int     int64
	Str     []byte
	Tensor  *tensor.Tensor
	Graph   *Graph
	Sparse  *SparseTensor
	Type    *Type
	Floats  []float32
	Ints    []int64
	Strs    [][]byte
	Tensors []*tensor.Tensor
	Graphs  []*Graph
	Sparses []*SparseTensor
	Types   []*Type
	Doc     string
}

// Subgraphs returns the graphs that the attribute holds.
func (a *Attr) Subgraphs() []*Graph {
	if a.Graph != nil {
		return []*Graph{a.Graph}
	}
	return a.Graphs
}
