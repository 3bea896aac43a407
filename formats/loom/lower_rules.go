package loom

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Commands of rules that keep the type of a layer.
const (
	toDType    = 99
	resetDense = 101
)

// made maps the other commands to the layer type that they make. Commands not listed here change
// nothing.
var made = map[float32]LayerType{70: Dense, 80: CNN1, 81: RNN, 83: Softmax, 90: RMSNorm, 91: SwiGLU, 92: MultiHeadAttention, 93: LSTM, 98: KMeans}

// mostChanges bounds the changes of one layer in a row: a graph has a branch for each combination
// of them.
const mostChanges = 6

// changed returns the output of the layer on x with the changes in list that fire. If no change
// fires, it returns y.
func (w *lowerer) changed(l *Layer, path string, list []change, x, y flow, depth int) (flow, error) {
	if l.repeats() {
		return x, &layerError{path, l.Type, fmt.Errorf("%s of a Metacognition layer may run it again, and it holds a cache or observes another layer: no graph computes that (without the option quirks rules are left out)", list[0].name)}
	}
	for i, c := range list {
		k, at, err := w.commanded(l, path, c.rule)
		if err != nil {
			return x, &layerError{path, l.Type, fmt.Errorf("%s of a Metacognition layer has command %v: %w (without the option quirks rules are left out)", c.name, c.rule.Command, err)}
		}
		if k == l {
			continue
		}
		if len(list)-i > mostChanges {
			return x, &layerError{path, l.Type, fmt.Errorf("more than %d rules may change it (without the option quirks rules are left out)", mostChanges)}
		}
		return w.either(c.fired, x, func() (flow, error) {
			z, err := w.layer(k, at, x, depth)
			if err != nil {
				return z, err
			}
			return w.changed(k, at, list[i+1:], x, z, depth)
		}, func() (flow, error) { return w.changed(l, path, list[i+1:], x, y, depth) })
	}
	return y, nil
}

// repeats reports whether a second run of a layer differs from its first.
func (l *Layer) repeats() bool {
	if l.Type == MultiHeadAttention || l.Type == Metacognition {
		return true
	}
	for _, list := range [][]*Layer{l.Branches, l.Steps} {
		for _, c := range list {
			if c.repeats() {
				return true
			}
		}
	}
	return false
}

// either returns one of two values, chosen by a truth value.
func (w *lowerer) either(fired string, x flow, yes, no func() (flow, error)) (flow, error) {
	outer := w.b
	defer func() { w.b = outer }()
	var flows [2]flow
	var bodies [2]*graph.Builder
	for i, f := range []func() (flow, error){yes, no} {
		bodies[i] = outer.Body("rule")
		w.b = bodies[i]
		v, err := f()
		if err != nil {
			return x, err
		}
		flows[i] = v
	}
	dims := alike(flows[0].dims, flows[1].dims)
	for i, b := range bodies {
		b.Output(flows[i].name, b.Fresh("either"), float32s(flow{"", dims}))
	}
	return flow{outer.Op("If", []string{fired}, graph.GraphAttr("then_branch", bodies[0].Graph()), graph.GraphAttr("else_branch", bodies[1].Graph())), dims}, nil
}

// alike returns the extents that two values share; -1 where they differ.
func alike(a, b []int) []int {
	if a == nil || b == nil || len(a) != len(b) {
		return nil
	}
	dims := make([]int, len(a))
	for i, n := range a {
		if dims[i] = n; n != b[i] {
			dims[i] = -1
		}
	}
	return dims
}

// commanded returns the layer that a command makes of l, with the path of its weights. It returns l
// itself if the command changes nothing.
func (w *lowerer) commanded(l *Layer, path string, r Rule) (*Layer, string, error) {
	c := *l
	c.Branches, c.Steps, c.Extra = nil, nil, nil
	switch r.Command {
	case toDType:
		return w.requantised(l, &c, path, r)
	case resetDense:
		if l.Type != Dense || w.dtype(l) != Float32 || l.OutputHeight != l.InputHeight && l.OutputHeight != 1 {
			return l, path, nil
		}
		return w.variant(&c, path, identity(l.OutputHeight, l.InputHeight))
	}
	kind, ok := made[r.Command]
	if !ok || kind == l.Type {
		return l, path, nil
	}
	switch c.Type = kind; kind {
	case Softmax:
		return &c, path, nil
	case CNN1, MultiHeadAttention:
		return nil, "", fmt.Errorf("it makes a %v layer without the extents that one needs", kind)
	case SwiGLU:
		return nil, "", fmt.Errorf("it makes a %v layer of random weights", kind)
	case KMeans:
		return nil, "", fmt.Errorf("it makes a %v layer without the number of its clusters", kind)
	case Dense:
		c.Activation = Linear
	}
	return w.remade(l, &c, path)
}

// remade gives c, a layer of another type made of l by a command, its weights: the first weights of
// l, then the weights of a new layer.
func (w *lowerer) remade(l, c *Layer, path string) (*Layer, string, error) {
	old, err := w.master(l, path)
	if err != nil {
		return nil, "", err
	}
	d := l.InputHeight
	if d != l.OutputHeight && c.Type != Dense {
		return nil, "", fmt.Errorf("it makes a %v layer, which takes as many inputs as outputs, and the layer has %d and %d", c.Type, d, l.OutputHeight)
	}
	n, err := c.Count()
	if err != nil {
		return nil, "", err
	}
	if err := w.made.Take(4 * n); err != nil {
		return nil, "", err
	}
	weights := make([]float32, n)
	switch c.Type {
	case Dense:
		if d == l.OutputHeight {
			weights = identity(d, d)
		}
		copy(weights, old)
	case LSTM:
		for gate := range 4 {
			copy(weights[gate*n/4:], old[:min(len(old), d*d)])
		}
	default:
		copy(weights, old)
	}
	return w.variant(c, path, weights)
}

// requantised gives a layer another dtype. It keeps the scale unless that is 1.
func (w *lowerer) requantised(l, c *Layer, path string, r Rule) (*Layer, string, error) {
	d := DType(r.Param)
	if r.Param < 0 || r.Param >= float32(dtypeCount) {
		return nil, "", fmt.Errorf("%v is the number of no dtype", r.Param)
	}
	if d == w.dtype(l) || l.Weights == nil {
		return l, path, nil
	}
	weights, err := w.master(l, path)
	if err != nil {
		return nil, "", err
	}
	codes, scale := Morph(d, weights, l.Weights.Scale)
	numbers, err := Restore(d, codes, scale, len(weights))
	if err != nil {
		return nil, "", err
	}
	k, at, err := w.variant(c, path, numbers)
	if err == nil {
		k.Weights = &Blob{DType: d, Scale: scale}
	}
	return k, at, err
}

// master returns the float32 weights that commands copy.
func (w *lowerer) master(l *Layer, path string) ([]float32, error) {
	init, err := w.storeOf(l, path)
	if err != nil {
		return nil, err
	}
	if d := w.dtype(l); d != Float32 {
		return nil, fmt.Errorf("it copies weights of float32, and the layer's weights are %v", d)
	}
	return tensor.View[float32](init.Tensor), nil
}

// variant registers the weights of a layer made by a command.
func (w *lowerer) variant(c *Layer, path string, weights []float32) (*Layer, string, error) {
	shape, err := c.Shape()
	if err != nil {
		return nil, "", err
	}
	if shape == nil {
		return nil, "", fmt.Errorf("it makes a %v layer without weights", c.Type)
	}
	t, err := tensor.From(weights, shape...)
	if err != nil {
		return nil, "", err
	}
	at := fmt.Sprintf("%s.rule_%d", path, w.rules.made)
	w.rules.made++
	w.inits[at] = &graph.Initializer{Name: at, Tensor: t}
	c.Weights = &Blob{DType: Float32, Scale: 1}
	return c, at, nil
}
