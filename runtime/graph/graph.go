// Package graph holds a model as read from any format: generic nodes with operators by name, values
// by name, and typed attributes. It does not depend on operators or files: runtime/op gives nodes a
// meaning, and formats fill models. The package is for programs that build, read or change models,
// and for operators that programs bring, which read attributes.
package graph

import (
	"fmt"
	"io"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Model is the contents of a model file: a graph, functions and metadata.
type Model struct {
	Format      string // of the file, such as onnx; empty for a model that a program makes
	File        string
	Producer    string
	ProducerVer string
	Domain      string // of the model, in reverse-DNS form
	Version     int64  // of the model, set by its author
	IR          int64  // of the ONNX intermediate representation
	Doc         string
	Opsets      []Opset
	Graph       *Graph
	Functions   []*Function
	Meta        []Pair
	States      []State // states named by the file or one beside it; nil for none
	Sizes       []Size  // named extents in a file of format oinf
	Limits      []Limit // limits on the inputs of a run
	// Streaming is how the file asks to keep its constants in memory; nil for all at once.
	Streaming *Streaming

	// Warnings lists violations of the format that the reader accepted; nil for none.
	Warnings []error

	// Container is the version of the file format, if it has a version of its own.
	Container int
	// Source is the contents of the file besides its tensors, in a type of the format's own
	// package; nil for none. The format's writer writes it, and its Lower makes a network from it
	// and the tensors. Both must check the tensors, which may have changed.
	Source any

	// Raw is the bytes of the model's file, until Close; nil if there is none.
	Raw []byte
	// Closer releases the memory under the tensors; nil if no file is mapped.
	Closer io.Closer
}

// Close releases the mapped files. No tensor of the model may be used afterwards.
func (m *Model) Close() error {
	if m.Closer == nil {
		return nil
	}
	c := m.Closer
	m.Closer, m.Raw = nil, nil
	return c.Close()
}

// Opset is the version of one domain's operators. The domain of the standard operators is "".
type Opset struct {
	Domain  string
	Version int
}

// Pair is one metadata entry: text or, in some formats, numbers.
type Pair struct {
	Key, Value string
	Kind       string         // of the value, in the format's terms; empty for plain text
	Data       *tensor.Tensor // the numbers; nil for text
}

// Size is a named extent.
type Size struct {
	Name  string
	Value uint64
}

// Graph is nodes over named values. A name is defined once: as an input, an initializer or a node's
// output. An input may also be an initializer, which is then its default.
type Graph struct {
	Name         string
	Doc          string
	Inputs       []*Value
	Outputs      []*Value
	Values       []*Value // the file's declarations of other values
	Initializers []*Initializer
	Sparse       []*SparseInitializer
	Nodes        []*Node
	Quant        []*QuantAnnotation
	Meta         []Pair
}

// Value is a name with a type.
type Value struct {
	Name string
	Type Type
	Doc  string
	Meta []Pair
	// Unrun is, of an output of a graph that a node has, the type that results of the graph
	// have for a node that never runs it. NoType says that nobody has found out.
	Unrun Type
}

// Initializer is a named constant.
type Initializer struct {
	Name   string
	Tensor *tensor.Tensor
	Doc    string
	Meta   []Pair
	Stored *Stored // nil if it is not known how a file stores it
}

// Stored describes how a file stores a constant.
type Stored struct {
	Name   string // in the file; empty if it is the constant's
	DType  string // the element type in the format's terms
	Offset int64  // of Bytes in the file; negative if they are not contiguous there
	Bytes  []byte // as stored in the file; nil if equal to the tensor's
}

// SparseInitializer is a named constant in coordinate form.
type SparseInitializer struct {
	Name   string
	Tensor *SparseTensor
}

// SparseTensor holds the nonzero elements. Indices is int64 of shape [N] (into the flattened
// tensor) or [N,rank]. Values has shape [N].
type SparseTensor struct {
	Values, Indices *tensor.Tensor
	Shape           tensor.Shape
}

// QuantAnnotation relates a value to its quantisation parameters by name.
type QuantAnnotation struct {
	Tensor string
	Params []Pair
}

// Node applies an operator. An empty name among its inputs or outputs is an operand left out.
type Node struct {
	Name     string
	Domain   string // "" for the standard operators, even if a file says ai.onnx
	Op       string
	Overload string
	Version  int // of the domain's operator set that applies to the node
	Inputs   []string
	Outputs  []string
	Attrs    []*Attr
	Doc      string
	Meta     []Pair
}

// Attr returns the attribute of that name, or nil.
func (n *Node) Attr(name string) *Attr {
	for _, a := range n.Attrs {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// OpName returns the operator with its domain and operator-set version, such as
// Conv-17 or com.microsoft.Gelu-1.
func (n *Node) OpName() string {
	s := n.Op
	if n.Domain != "" {
		s = n.Domain + "." + s
	}
	return fmt.Sprintf("%s-%d", s, n.Version)
}

// Label returns the node's name, or its first output if it has no name.
func (n *Node) Label() string {
	if n.Name != "" {
		return n.Name
	}
	for _, o := range n.Outputs {
		if o != "" {
			return o
		}
	}
	return "(unnamed)"
}

// Function is an operator defined by nodes.
type Function struct {
	Domain   string
	Name     string
	Overload string
	Inputs   []string
	Outputs  []string
	Attrs    []string // attributes without a default
	Defaults []*Attr  // attributes with a default
	Opsets   []Opset
	Nodes    []*Node
	Values   []*Value
	Doc      string
	Meta     []Pair
}
