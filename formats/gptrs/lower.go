package gptrs

import (
	"errors"
	"fmt"
	"math"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/formats/internal/decoder"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Lower returns the network of a checkpoint as nodes. Values have the names of gpt.rs's traces.
//
// Networks of the kinds gpt and ministral take input_ids, int64 [batch,sequence], and past keys and
// values, and give logits, float32 [batch,sequence,vocabulary]. Networks of the kinds resnet34 and
// mobilenet_v2 take image, float32 [batch,3,height,width], and give logits, float32
// [batch,classes].
//
// The error holds every problem that Check finds, and weights that are not floating-point numbers.
// The result is nil for an archive.
func Lower(m *graph.Model, o container.Lowering) (_ *graph.Model, err error) {
	defer guard.At(m.File).End(&err)
	if m.Format == Archive.Name {
		return nil, nil
	}
	if err := checkWithin(o.Budget, m); err != nil {
		if errors.Is(err, UnsupportedKind) {
			err = fmt.Errorf("%w: %w", err, container.ErrNoNetwork)
		}
		return nil, err
	}
	raw, _ := configOf(m)
	c, err := parseConfig([]byte(raw))
	if err != nil {
		return nil, err
	}
	l := newLowerer(m, c, o)
	if err := o.Budget.Err(); err != nil {
		return nil, l.failure(err)
	}
	for name := range l.used {
		l.checkType(name)
	}
	switch heads, columns := l.sizes["num_heads"], l.size("head_dim"); {
	case heads > 0 && columns == 0:
		l.bad(BadConfig, "configuration of kind %s: %d heads have no columns; save it with another num_heads or head_dim", c.kind, heads)
	case columns > decoder.MaxHeadDim:
		l.bad(UnsupportedKind, "configuration of kind %s: head_dim is %d; it takes up to %d", c.kind, columns, decoder.MaxHeadDim)
	}
	if len(l.problems) > 0 {
		return nil, graph.Join(l.problems...)
	}
	kinds[c.kind].lower(l)
	if err := l.b.Err(); err != nil {
		return nil, l.failure(err)
	}
	l.b.Graph().Initializers = l.kept(m)
	n := l.b.Model(m)
	n.Streaming = c.runtime.Streaming.of(m)
	return n, nil
}

// kept returns the tensors of the file, used or not. It drops a tensor with the name of an input or
// of a node's output.
func (l *lowerer) kept(m *graph.Model) (list []*graph.Initializer) {
	values := map[string]bool{}
	for _, v := range l.b.Graph().Inputs {
		values[v.Name] = true
	}
	for _, n := range l.b.Graph().Nodes {
		for _, name := range n.Outputs {
			values[name] = true
		}
	}
	for _, init := range m.Graph.Initializers {
		if !values[init.Name] {
			list = append(list, init)
		}
	}
	return list
}

// lowerer makes the nodes of a checkpoint's network.
type lowerer struct {
	b        *graph.Builder
	file     string
	sizes    map[string]uint64 // extents, as in checker
	config   fields
	weights  map[string]*graph.Initializer
	used     map[string]bool // names that the kind needs
	problems []error
}

func newLowerer(m *graph.Model, c config, o container.Lowering) *lowerer {
	l := &lowerer{
		b: o.Builder(c.kind), file: m.File, config: c.fields, used: map[string]bool{},
		weights: make(map[string]*graph.Initializer, len(m.Graph.Initializers)),
	}
	shapes := make(map[string]tensor.Shape, len(m.Graph.Initializers))
	for _, init := range m.Graph.Initializers {
		l.weights[init.Name] = init
		shapes[init.Name] = init.Tensor.Shape()
	}
	k := &checker{budget: o.Budget, shapes: shapes, sizes: map[string]uint64{}, asked: l.used, report: func(string, Kind, error) {}}
	_ = kinds[c.kind].check(k, c.fields) // Check has reported the error
	l.sizes = k.sizes
	return l
}

// bad reports a problem.
func (l *lowerer) bad(kind Kind, format string, args ...any) {
	l.problems = append(l.problems, &graph.Error{Stage: "load", File: l.file, Offset: -1, Kind: kind, Err: fmt.Errorf(format, args...)})
}

// failure returns the error of a budget as one of the file.
func (l *lowerer) failure(err error) error {
	return &graph.Error{Stage: "load", File: l.file, Offset: -1, Err: err}
}

// checkType reports a weight that is not of floating-point numbers.
func (l *lowerer) checkType(name string) {
	if d := l.weights[name].Tensor.DType(); !d.IsFloat() {
		l.bad(UnsupportedDType, "tensor %q has elements of %v where the network computes with floating-point numbers; save it as f32", name, d)
	}
}

// size returns an extent, capped at the largest int.
func (l *lowerer) size(name string) int64 { return int64(min(l.sizes[name], math.MaxInt)) }

// number returns a number of the configuration. The kind has checked that it is there.
func (l *lowerer) number(key string) float64 {
	v, _ := l.config.number(key)
	return v
}

// shape returns the extents of a weight.
func (l *lowerer) shape(name string) tensor.Shape { return l.weights[name].Tensor.Shape() }

// weight returns a weight as float32.
func (l *lowerer) weight(name string) string {
	if l.weights[name].Tensor.DType() == tensor.F32 {
		return name
	}
	return l.b.Op("Cast", []string{name}, graph.IntAttr("to", onnxFloat))
}

// onnxFloat is ONNX's number of float32.
const onnxFloat = 1

// dims parses extents.
func dims(text ...string) graph.Dims {
	list := make(graph.Dims, len(text))
	for i, s := range text {
		list[i] = graph.ParseDim(s)
	}
	return list
}
