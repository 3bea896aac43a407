package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sort"
	"strings"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats/gptrs"
	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// report is the output of inspect.
type report struct {
	File         string            `json:"file"`
	Format       string            `json:"format"`
	Version      int64             `json:"version"` // version of the file format; for ONNX, its IR
	Opsets       map[string]int    `json:"opsets,omitempty"`
	Producer     string            `json:"producer,omitempty"`
	Domain       string            `json:"domain,omitempty"`
	ModelVersion int64             `json:"model_version,omitempty"`
	Doc          string            `json:"doc,omitempty"`
	Meta         []reportMeta      `json:"metadata"`
	Sizes        map[string]uint64 `json:"size_variables"`
	Graph        string            `json:"graph,omitempty"`
	Inputs       []reportValue     `json:"inputs"`
	Outputs      []reportValue     `json:"outputs"`
	Tensors      []reportTensor    `json:"tensors"`
	TensorBytes  int               `json:"tensor_bytes"`
	Within       int               `json:"attribute_tensors"` // weights within attributes of nodes
	WithinBytes  int               `json:"attribute_bytes"`
	Operators    []reportOperator  `json:"operators"`
	Functions    []string          `json:"functions,omitempty"`
	Nodes        []reportNode      `json:"nodes"`
	// Notes list the settings of the file that Nacre does not follow.
	Notes []string `json:"notes,omitempty"`
}

type reportValue struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// Required is false for an input with a value in the model, and nil for outputs.
	Required *bool `json:"required,omitempty"`
}

// reportMeta is one metadata entry. Value is text or a number, or with a shape a list of numbers.
type reportMeta struct {
	Key   string `json:"key"`
	Kind  string `json:"kind,omitempty"`
	DType string `json:"dtype,omitempty"`
	Shape []int  `json:"shape,omitempty"`
	Value any    `json:"value"`
}

type reportTensor struct {
	Name   string       `json:"name"`
	DType  string       `json:"dtype"`
	Stored string       `json:"stored_dtype"` // the format's own word
	Shape  tensor.Shape `json:"shape"`
	Bytes  int          `json:"bytes"`            // as stored
	Offset *int64       `json:"offset,omitempty"` // in the file; nil if not there in one piece
	SHA256 string       `json:"sha256,omitempty"` // of the bytes as stored
	Data   bool         `json:"has_data"`
	Meta   []reportMeta `json:"metadata,omitempty"`
	Values []any        `json:"values,omitempty"`

	payload []byte
}

type reportOperator struct {
	Op          string `json:"op"`
	Domain      string `json:"domain,omitempty"`
	Count       int    `json:"count"`
	Implemented bool   `json:"implemented"`

	first *graph.Node // first node with the operator
	err   error       // the reason if it is not implemented
}

type reportNode struct {
	Name    string   `json:"name,omitempty"`
	Op      string   `json:"op"`
	Domain  string   `json:"domain,omitempty"`
	Version int      `json:"version"`
	Inputs  []string `json:"inputs"`
	Outputs []string `json:"outputs"`
}

// inspect returns the report of a model, with the first values elements of each weight. If ctx is
// done, the report is incomplete.
func inspect(ctx context.Context, model *nacre.Model, values int) *report {
	m := model.Source()
	r := &report{
		File: m.File, Format: m.Format, Version: int64(m.Container), Opsets: map[string]int{}, Domain: m.Domain,
		ModelVersion: m.Version,
		Producer:     strings.TrimSpace(m.Producer + " " + m.ProducerVer), Doc: m.Doc, Graph: m.Graph.Name,
		Inputs: reportValues(model.Inputs(), true), Outputs: reportValues(model.Outputs(), false),
		Meta: []reportMeta{}, Sizes: map[string]uint64{}, Tensors: []reportTensor{}, Nodes: []reportNode{},
	}
	if m.IR > 0 {
		r.Version = m.IR
	}
	for _, o := range m.Opsets {
		r.Opsets[domainName(o.Domain)] = o.Version
	}
	if wants, err := gptrs.RuntimeOf(m); err == nil {
		r.Notes = wants.Unused()
	}
	for _, p := range m.Meta {
		r.Meta = append(r.Meta, reportedMeta(ctx, p))
	}
	for _, s := range m.Sizes {
		r.Sizes[s.Name] = s.Value
	}
	for _, w := range m.Graph.Initializers {
		if ctx.Err() != nil {
			return r
		}
		row := reportedTensor(ctx, w, values)
		r.Tensors = append(r.Tensors, row)
		r.TensorBytes += row.Bytes
	}
	if len(m.Graph.Nodes) == 0 {
		for _, v := range m.Graph.Values {
			r.Tensors = append(r.Tensors, declared(v))
		}
	}
	for _, n := range m.Graph.Nodes {
		r.Nodes = append(r.Nodes, reportNode{n.Name, n.Op, n.Domain, n.Version, n.Inputs, n.Outputs})
	}
	for _, f := range m.Functions {
		r.Functions = append(r.Functions, domainName(f.Domain)+"."+f.Name)
	}
	r.Operators = operators(m)
	r.attributes(m)
	return r
}

// attributes counts the tensors and lists of floats within attributes, and the weights of graphs of
// nodes.
func (r *report) attributes(m *graph.Model) {
	add := func(bytes int) {
		r.Within++
		r.WithinBytes += bytes
	}
	sparse := func(t *graph.SparseTensor) {
		if t != nil {
			add(t.Values.Size() + t.Indices.Size())
		}
	}
	visit := func(n *graph.Node) {
		for _, a := range n.Attrs {
			if a.Tensor != nil {
				add(a.Tensor.Size())
			}
			for _, t := range a.Tensors {
				add(t.Size())
			}
			sparse(a.Sparse)
			for _, t := range a.Sparses {
				sparse(t)
			}
			if len(a.Floats) > 0 {
				add(4 * len(a.Floats))
			}
			for _, g := range a.Subgraphs() {
				for _, w := range g.Initializers {
					add(w.Tensor.Size())
				}
				for _, w := range g.Sparse {
					sparse(w.Tensor)
				}
			}
		}
	}
	walk(m.Graph.Nodes, visit)
	for _, f := range m.Functions {
		walk(f.Nodes, visit)
	}
}

// digest adds the checksums of tensors. It reads every byte of them.
func (r *report) digest(ctx context.Context) error {
	for i := range r.Tensors {
		t := &r.Tensors[i]
		if t.payload == nil && !(t.Data && t.DType != "string") {
			continue
		}
		h := sha256.New()
		if _, err := pieces.Writer(ctx, h).Write(t.payload); err != nil {
			return err
		}
		t.SHA256 = fmt.Sprintf("%x", h.Sum(nil))
	}
	return nil
}

func reportedMeta(ctx context.Context, p graph.Pair) reportMeta {
	row := reportMeta{Key: p.Key, Kind: p.Kind, Value: p.Value}
	if t := p.Data; t != nil {
		row.DType = t.DType().String()
		list := numbers(ctx, t, t.Len())
		if row.Value = any(list); len(t.Shape()) == 0 && len(list) == 1 {
			row.Value = list[0]
		} else {
			row.Shape = t.Shape()
		}
	}
	return row
}

func reportedTensor(ctx context.Context, w *graph.Initializer, values int) reportTensor {
	t := w.Tensor
	row := reportTensor{Name: w.Name, DType: t.DType().String(), Stored: t.DType().String(), Shape: t.Shape(),
		Data: true, Values: numbers(ctx, t, values)}
	for _, p := range w.Meta {
		row.Meta = append(row.Meta, reportedMeta(ctx, p))
	}
	payload := t.Bytes()
	if s := w.Stored; s != nil {
		row.Stored = s.DType
		if s.Offset >= 0 {
			row.Offset = &s.Offset
		}
		if s.Bytes != nil {
			payload = s.Bytes
		}
	}
	row.Bytes = len(payload)
	if t.DType() == tensor.String {
		for _, s := range t.Strings() {
			row.Bytes += len(s)
		}
		return row
	}
	row.payload = payload
	return row
}

// declared returns the report of a tensor that a file declares without data.
func declared(v *graph.Value) reportTensor {
	row := reportTensor{Name: v.Name, DType: v.Type.DType.String(), Stored: v.Type.DType.String()}
	for _, d := range v.Type.Dims {
		n, _ := d.Value()
		row.Shape = append(row.Shape, n)
	}
	return row
}

func reportValues(list []nacre.Info, inputs bool) []reportValue {
	out := make([]reportValue, len(list))
	for i, v := range list {
		out[i] = reportValue{Name: v.Name, Type: v.Type()}
		if inputs {
			out[i].Required = &v.Required
		}
	}
	return out
}

// domainName returns the name of a domain; for the standard operators, ai.onnx.
func domainName(d string) string {
	if d == "" {
		return "ai.onnx"
	}
	return d
}

// operators counts the operators in all graphs and functions, and finds which of them Nacre has.
func operators(m *graph.Model) []reportOperator {
	registry := standard.Registry()
	counts := map[string]*reportOperator{}
	count := func(n *graph.Node) {
		key := domainName(n.Domain) + "." + n.Op
		if counts[key] == nil {
			_, _, err := registry.Find(n)
			if isFunction(m, n) {
				err = nil
			}
			counts[key] = &reportOperator{Op: n.Op, Domain: n.Domain, Implemented: err == nil, first: n, err: err}
		}
		counts[key].Count++
	}
	walk(m.Graph.Nodes, count)
	for _, f := range m.Functions {
		walk(f.Nodes, count)
	}
	list := make([]reportOperator, 0, len(counts))
	for _, r := range counts {
		list = append(list, *r)
	}
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		return a.Domain < b.Domain || a.Domain == b.Domain && a.Op < b.Op
	})
	return list
}

func isFunction(m *graph.Model, n *graph.Node) bool {
	for _, f := range m.Functions {
		if f.Domain == n.Domain && f.Name == n.Op && f.Overload == n.Overload {
			return true
		}
	}
	return false
}

// walk visits the nodes and the nodes of their subgraphs.
func walk(nodes []*graph.Node, visit func(*graph.Node)) {
	for _, n := range nodes {
		visit(n)
		for _, a := range n.Attrs {
			if a.Graph != nil {
				walk(a.Graph.Nodes, visit)
			}
			for _, g := range a.Graphs {
				walk(g.Nodes, visit)
			}
		}
	}
}
