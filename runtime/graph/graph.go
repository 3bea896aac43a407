// Package graph holds a model as every format reads it: generic nodes that
// store operators by name, values by name, typed attributes. It knows no
// operator and no file; runtime/op gives nodes a meaning, formats fill models.
package graph

import (
	"fmt"
	"io"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Model is the contents of a model file: a graph, functions and metadata.
type Model struct {
	Format      string // of the file it came from, such as onnx
	File        string
	Producer    string
	ProducerVer string
	Domain      string // of the model, in reverse-DNS form
	Version     int64  // of the model, as its author counts
	IR          int64  // of the ONNX intermediate representation
	Doc         string
	Opsets      []Opset
	Graph       *Graph
	Functions   []*Function
	Meta        []Pair
	States      []State // that the file, or one beside it, names; nil for none
	Sizes       []Size  // named extents that a file of the format oinf brings
	Limits      []Limit // of what a run may be given
	// Streaming is how the file wants its constants in memory; nil for all at once.
	Streaming *Streaming

	// Warnings says what the format forbids and the reader took all the same; nil for nothing.
	Warnings []error

	// Container is the version of the file format, where that counts its own.
	Container int
	// Source is what the file says beside its tensors, in a type of the format's own
	// package; nil for none. The format's writer writes it back, and its Lower makes a
	// network of it and the tensors. Neither may rely on the tensors being as they were.
	Source any

	// Raw is the bytes of the file that the model came from, until Close; nil where
	// there is none.
	Raw []byte
	// Closer releases what tensors are views of; nil when nothing is mapped.
	Closer io.Closer
}

// Close releases the mapped files. No tensor of the model may be used after.
func (m *Model) Close() error {
	if m.Closer == nil {
		return nil
	}
	c := m.Closer
	m.Closer, m.Raw = nil, nil
	return c.Close()
}

// Opset is the version of one domain's operators; the domain of the standard
// operators is the empty string.
type Opset struct {
	Domain  string
	Version int
}

// Pair is one metadata entry: text, or, in formats that have such, numbers.
type Pair struct {
	Key, Value string
	Kind       string         // of the value, in the format's own word; empty for plain text
	Data       *tensor.Tensor // the numbers; nil for text
}

// Size is a named extent.
type Size struct {
	Name  string
	Value uint64
}

// Graph is nodes over named values. A name is defined once: as an input, an
// initializer or a node's output. An input may also be an initializer, which
// then is its default.
type Graph struct {
	Name         string
	Doc          string
	Inputs       []*Value
	Outputs      []*Value
	Values       []*Value // what the file says of other values
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
}

// Initializer is a named constant.
type Initializer struct {
	Name   string
	Tensor *tensor.Tensor
	Doc    string
	Meta   []Pair
	Stored *Stored // nil where nothing is known of a file
}

// Stored says how a file holds a constant.
type Stored struct {
	DType  string // the format's own word for the element type
	Offset int64  // of Bytes in the file; negative when they are not in one piece there
	Bytes  []byte // as the file has them; nil where those of the tensor are
}

// SparseInitializer is a named constant in coordinate form.
type SparseInitializer struct {
	Name   string
	Tensor *SparseTensor
}

// SparseTensor holds the elements that are not zero. Indices is int64 of shape
// [N] (into the flattened tensor) or [N,rank]; Values has shape [N].
type SparseTensor struct {
	Values, Indices *tensor.Tensor
	Shape           tensor.Shape
}

// QuantAnnotation relates a value to its quantisation parameters by name.
type QuantAnnotation struct {
	Tensor string
	Params []Pair
}

// Node applies an operator. An empty name among the inputs or outputs is an
// operand left out.
type Node struct {
	Name     string
	Domain   string // "" for the standard operators, also where a file says ai.onnx
	Op       string
	Overload string
	Version  int // of the domain's operator set where the node stands
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

// Label names the node for people: its name, or else its first output.
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
	Defaults []*Attr  // attributes with one
	Opsets   []Opset
	Nodes    []*Node
	Values   []*Value
	Doc      string
	Meta     []Pair
}
