package optimize

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// builder collects the nodes that replace a pattern.
type builder struct {
	*matcher
	nodes []*graph.Node
}

// apply appends a node with one output and returns the name of the output.
func (b *builder) apply(op string, version int, inputs []string, attrs ...*graph.Attr) string {
	name := b.fresh(op)
	b.nodes = append(b.nodes, &graph.Node{Name: name, Op: op, Version: version, Inputs: inputs, Outputs: []string{name},
		Attrs: attrs})
	return name
}

// cast appends a conversion to another element type and returns the name of its output.
func (b *builder) cast(x string, to tensor.DType) string {
	return b.apply("Cast", 13, []string{x}, typeAttr("to", to))
}

// replaceRoot appends a node that computes the first output of root.
func (b *builder) replaceRoot(root *graph.Node, domain, op string, version int, inputs []string, attrs ...*graph.Attr) {
	b.nodes = append(b.nodes, instead(root, domain, op, version, inputs, attrs...))
}

// instead returns a node that computes the first output of root.
func instead(root *graph.Node, domain, op string, version int, inputs []string, attrs ...*graph.Attr) *graph.Node {
	return &graph.Node{Name: root.Name, Domain: domain, Op: op, Version: version, Inputs: inputs,
		Outputs: root.Outputs[:1:1], Attrs: attrs, Doc: root.Doc, Meta: root.Meta}
}

// learn records the facts about a value that the edit adds.
func (m *matcher) learn(name string, v *op.Value) {
	if m.known == nil {
		m.infer()
	}
	m.known[name] = v
}

// add adds a constant with a new name like the given one and returns its name.
func (m *matcher) add(like string, t *tensor.Tensor) string {
	name := m.fresh(like)
	m.learn(name, op.Known(t))
	return m.edit.add(name, t)
}

// vector adds a vector of integers and returns its name. It adds equal vectors once.
func (m *matcher) vector(list ...int) string {
	key := fmt.Sprint(list)
	if m.vectors[key] == "" {
		t := tensor.New(tensor.I64, len(list))
		for i, v := range list {
			tensor.View[int64](t)[i] = int64(v)
		}
		m.vectors[key] = m.add("ints", t)
	}
	return m.vectors[key]
}

func intAttr(name string, v int64) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrInt, Int: v}
}

func typeAttr(name string, d tensor.DType) *graph.Attr { return intAttr(name, int64(d.Code())) }

func intsAttr(name string, v ...int64) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrInts, Ints: v}
}

func floatAttr(name string, v float64) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrFloat, Float: float32(v)}
}

func stringAttr(name, v string) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrString, Str: []byte(v)}
}
