package graph

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// StandardVersion is the version of the standard operators that a Builder uses.
const StandardVersion = 23

// Builder makes a graph node by node, and names nodes and values. Methods that add a node return
// the names of its outputs. Names that start with an underscore and end with a number are reserved
// for the Builder.
type Builder struct {
	graph  *Graph
	shared *building
	nodes  map[string]*Node // by output
	consts map[string]string
	added  map[*Initializer]bool // by Weight
}

// building is shared by the builders of a graph and of its subgraphs.
type building struct {
	last   map[string]int // by operator, the number of its last name
	opsets map[string]int
	states []State
	limits []Limit
	count  func(bytes int) error // nil for none
	err    error                 // of count
}

// NewBuilder returns a builder of an empty graph.
func NewBuilder(name string) *Builder {
	return newBuilder(name, &building{last: map[string]int{}, opsets: map[string]int{"": StandardVersion}})
}

func newBuilder(name string, shared *building) *Builder {
	return &Builder{graph: &Graph{Name: name}, shared: shared, nodes: map[string]*Node{}, consts: map[string]string{},
		added: map[*Initializer]bool{}}
}

// Body returns a builder of a graph for an attribute of a node, such as the body of a
// Loop. It may use the values of b.
func (b *Builder) Body(name string) *Builder { return newBuilder(name, b.shared) }

// The memory of a node with one output, of an input or output of a graph, of an attribute without
// its tensor, and of a declared extent, in bytes.
const (
	nodeBytes   = 768
	valueBytes  = 512
	attrBytes   = 256
	extentBytes = 256
)

// Count has the builder call count with the bytes of every node and value before it adds it, but
// not of tensors. After an error of count the builder adds nothing more, and Err returns the error.
func (b *Builder) Count(count func(bytes int) error) { b.shared.count = count }

// Err returns the error of the function given to Count.
func (b *Builder) Err() error { return b.shared.err }

// Take counts the bytes of something that is about to be made for the graph, such as a tensor. If
// it returns false, Err returns an error.
func (b *Builder) Take(bytes int) bool {
	if b.shared.count != nil && b.shared.err == nil {
		b.shared.err = b.shared.count(bytes)
	}
	return b.shared.err == nil
}

// takesValue reports whether a value may be added.
func (b *Builder) takesValue(t Type) bool { return b.Take(valueBytes + extentBytes*len(t.Dims)) }

// Opset sets the version of a domain's operators. It is 1 by default.
func (b *Builder) Opset(domain string, version int) { b.shared.opsets[domain] = version }

// fresh returns an unused name.
func (b *Builder) fresh(op string) string {
	op = strings.ToLower(op) // operators of two domains may differ only in case
	b.shared.last[op]++
	return fmt.Sprintf("_%s_%d", op, b.shared.last[op])
}

// Fresh returns an unused name that starts with an underscore and the word.
func (b *Builder) Fresh(word string) string { return b.fresh(word) }

// Input adds an input of the graph and returns its name.
func (b *Builder) Input(name string, t Type) string {
	if b.takesValue(t) {
		b.graph.Inputs = append(b.graph.Inputs, &Value{Name: name, Type: t})
	}
	return name
}

// Output makes a value an output of the graph, under a name. The output of a node is renamed if
// possible; other values get the name by an Identity.
func (b *Builder) Output(value, name string, t Type) {
	if value != name && !b.rename(value, name) {
		b.add(&Node{Op: "Identity", Inputs: []string{value}, Outputs: []string{name}})
	}
	if b.takesValue(t) {
		b.graph.Outputs = append(b.graph.Outputs, &Value{Name: name, Type: t})
	}
}

// State adds an input and an output that are a state of the model; see type State. It returns the
// name of the input. Output gives the output its value.
func (b *Builder) State(input, output string, axis int, t Type) string {
	b.shared.states = append(b.shared.states, State{Input: input, Output: output, Axis: axis})
	return b.Input(input, t)
}

// Limit adds a limit on the inputs of a run of the model.
func (b *Builder) Limit(l Limit) { b.shared.limits = append(b.shared.limits, l) }

// Weight adds a named constant of a file and returns its name. Repeated calls add it once.
func (b *Builder) Weight(init *Initializer) string {
	if !b.added[init] {
		b.added[init] = true
		b.graph.Initializers = append(b.graph.Initializers, init)
	}
	return init.Name
}

// Constant returns a value that is a tensor, as a node of the operator Constant. Equal small
// constants share a node.
func (b *Builder) Constant(t *tensor.Tensor) string {
	key := ""
	if t.Size() <= 64 && t.DType() != tensor.String {
		key = fmt.Sprint(t.DType(), []int(t.Shape()), t.Bytes())
		if name, ok := b.consts[key]; ok {
			return name
		}
	}
	name := b.Op("Constant", nil, TensorAttr("value", t))
	if key != "" {
		b.consts[key] = name
	}
	return name
}

// Ints returns a constant that is a vector of int64.
func (b *Builder) Ints(v ...int64) string {
	t := tensor.New(tensor.I64, len(v))
	copy(tensor.View[int64](t), v)
	return b.Constant(t)
}

// Int returns a constant that is a scalar of int64.
func (b *Builder) Int(v int64) string {
	t := tensor.New(tensor.I64)
	tensor.View[int64](t)[0] = v
	return b.Constant(t)
}

// Float returns a constant that is a scalar of float32.
func (b *Builder) Float(v float32) string {
	t := tensor.New(tensor.F32)
	tensor.View[float32](t)[0] = v
	return b.Constant(t)
}

// Op adds a node of a standard operator with one output.
func (b *Builder) Op(op string, inputs []string, attrs ...*Attr) string {
	return b.Node("", op, inputs, 1, attrs...)[0]
}

// Node adds a node of an operator of a domain. An empty name among the inputs is an input left out.
func (b *Builder) Node(domain, op string, inputs []string, outputs int, attrs ...*Attr) []string {
	n := &Node{Domain: domain, Op: op, Inputs: inputs, Attrs: attrs}
	name := b.fresh(op)
	for i := range outputs {
		if i > 0 {
			name = b.fresh(op)
		}
		n.Outputs = append(n.Outputs, name)
	}
	b.add(n)
	return n.Outputs
}

func (b *Builder) add(n *Node) {
	bytes := nodeBytes * max(len(n.Outputs), 1)
	for _, a := range n.Attrs {
		bytes += attrBytes + 8*(len(a.Ints)+len(a.Floats))
	}
	if !b.Take(bytes) {
		return
	}
	n.Name = b.fresh("node")
	if len(n.Outputs) > 0 {
		n.Name = n.Outputs[0]
	}
	if n.Version = b.shared.opsets[n.Domain]; n.Version == 0 {
		n.Version = 1
		b.shared.opsets[n.Domain] = 1
	}
	b.graph.Nodes = append(b.graph.Nodes, n)
	for _, o := range n.Outputs {
		b.nodes[o] = n
	}
}

// Name gives a value a name and returns the name. It must be called before the value is used. If
// the value has a name already or is not the output of a node, an Identity gives it another one.
func (b *Builder) Name(value, name string) string {
	if !b.rename(value, name) {
		b.add(&Node{Op: "Identity", Inputs: []string{value}, Outputs: []string{name}})
	}
	return name
}

// rename renames the output of a node, if its name is a fresh one that nothing uses.
func (b *Builder) rename(value, name string) bool {
	n := b.nodes[value]
	if n == nil || !strings.HasPrefix(value, "_") || slices.Contains(slices.Collect(maps.Values(b.consts)), value) ||
		b.uses(value) {
		return false
	}
	n.Outputs[slices.Index(n.Outputs, value)] = name
	n.Name = n.Outputs[0]
	delete(b.nodes, value)
	b.nodes[name] = n
	return true
}

// uses reports whether a node or an output of the graph uses a value.
func (b *Builder) uses(value string) bool {
	for _, n := range slices.Backward(b.graph.Nodes) {
		if slices.Contains(n.Outputs, value) {
			break // earlier nodes cannot
		}
		if slices.Contains(n.Inputs, value) || slices.Contains(n.Captured(), value) {
			return true
		}
	}
	return slices.ContainsFunc(b.graph.Outputs, func(v *Value) bool { return v.Name == value })
}

// Declare declares the type of a value.
func (b *Builder) Declare(value string, t Type) {
	if b.takesValue(t) {
		b.graph.Values = append(b.graph.Values, &Value{Name: value, Type: t})
	}
}

// Graph returns the graph. Further calls change it.
func (b *Builder) Graph() *Graph { return b.graph }

// Model returns a copy of a model with the builder's graph, operator versions, states and limits.
// Closing the copy does nothing.
func (b *Builder) Model(m *Model) *Model {
	c := *m
	c.Graph, c.Functions, c.Closer, c.States = b.graph, nil, nil, slices.Clone(b.shared.states)
	c.Limits = slices.Clone(b.shared.limits)
	c.Opsets = nil
	for _, domain := range slices.Sorted(maps.Keys(b.shared.opsets)) {
		c.Opsets = append(c.Opsets, Opset{domain, b.shared.opsets[domain]})
	}
	return &c
}
