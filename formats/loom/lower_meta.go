package loom

import (
	"fmt"
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Conditions of rules.
const (
	never = iota
	stdAbove
	stdBelow
	avgAbove
	avgBelow
	maxAbove
	activeBelow
	stdGrowing
	avgChange
)

// storm is the number of inputs of Metacognition layers that the condition stdGrowing looks at.
const storm = 3

// rules is the effect of Metacognition layers on later layers.
type rules struct {
	cell    int                 // cell of the grid that runs now
	made    int                 // number of layers that commands have made
	past    []string            // deviations of the inputs of Metacognition layers
	pending map[*Layer][]change // changes of layers that run later
}

// change is a command for a layer, carried out if the truth value fired of the graph is true.
type change struct {
	fired string
	rule  Rule
	name  string // of the rule, for messages
}

// metacognition computes the observed layer. Rules change layers while the network runs, and are
// left out without quirks. With quirks, the rules that can fire in the first forward of a network
// are computed, and later ones are not.
func (w *lowerer) metacognition(l *Layer, path string, x flow, depth int) (flow, error) {
	if w.quirks {
		w.rules.past = append(w.rules.past, w.deviation(x))
	}
	c := l.Observed
	if c == nil {
		return x, nil
	}
	path += "." + observed
	before := w.rules.pending[c]
	y, err := w.target(c, path, x, depth+1)
	if err != nil || !w.quirks {
		return y, err
	}
	own, err := w.fired(l, x, y)
	if err != nil || len(own) == 0 {
		return y, err
	}
	return w.changed(c, path, append(before[:len(before):len(before)], own...), x, y, depth+1)
}

// target computes a layer, with the changes that rules of earlier layers make to it.
func (w *lowerer) target(l *Layer, path string, x flow, depth int) (flow, error) {
	y, err := w.layer(l, path, x, depth)
	if list := w.rules.pending[l]; err == nil && len(list) > 0 {
		return w.changed(l, path, list, x, y, depth)
	}
	return y, err
}

// fired returns the changes that the rules of l make to the layer it observes, with input x and
// output y. Changes of other layers are noted for later.
func (w *lowerer) fired(l *Layer, x, y flow) ([]change, error) {
	var own []change
	for i, r := range l.Rules {
		if r.Cooldown > 0 || !w.possible(r) {
			continue
		}
		target := l.Observed
		if !r.SelfOnly {
			target = w.later(r.Param)
		}
		if target == nil {
			continue
		}
		if w.left--; w.left < 0 {
			return nil, fmt.Errorf("there are more rules than a network can have")
		}
		c := change{w.condition(r, x, y), r, fmt.Sprintf("rule %d", i)}
		if target == l.Observed { // also if named by its cell
			own = append(own, c)
			continue
		}
		if w.rules.pending == nil {
			w.rules.pending = map[*Layer][]change{}
		}
		w.rules.pending[target] = append(w.rules.pending[target], c)
	}
	return own, nil
}

// possible reports whether a condition can hold in a first forward.
func (w *lowerer) possible(r Rule) bool {
	switch r.Condition {
	case stdGrowing:
		return len(w.rules.past) >= storm
	case stdAbove, stdBelow, avgAbove, avgBelow, maxAbove, activeBelow, avgChange:
		return true
	}
	return false
}

// later returns the layer that a rule for others means: the first layer of the cell at this x of
// the grid, or the layer that it observes. It is nil if there is no such layer, or if it does not
// run any more.
func (w *lowerer) later(x float32) *Layer {
	if !(math.Abs(float64(x)) < math.MaxInt32) {
		return nil
	}
	i := w.net.Index(0, 0, int(x), 0)
	if i < w.rules.cell || i >= len(w.net.Layers) {
		return nil
	}
	l := w.net.Layers[i]
	if l.Type == Metacognition && l.Observed != nil {
		return l.Observed
	}
	if i == w.rules.cell {
		return nil
	}
	return l
}

// identity returns a matrix with ones on its diagonal.
func identity(rows, cols int) []float32 {
	m := make([]float32, rows*cols)
	for i := range min(rows, cols) {
		m[i*cols+i] = 1
	}
	return m
}

// mean returns the mean of all elements.
func (w *lowerer) mean(v string) string {
	return w.b.Op("ReduceMean", []string{v}, graph.IntAttr("keepdims", 0))
}

// deviation returns the standard deviation of all elements.
func (w *lowerer) deviation(x flow) string {
	d := w.op("Sub", x.name, w.mean(x.name))
	return w.op("Sqrt", w.mean(w.op("Mul", d, d)))
}

// condition returns a truth value: whether a rule fires on the layer's input x and output y. Only
// stdGrowing and avgChange look at the input.
func (w *lowerer) condition(r Rule, x, y flow) string {
	limit := w.float64(r.Threshold)
	than := func(op, v string) string { return w.op(op, w.cast(v, tensor.F64), limit) }
	switch r.Condition {
	case stdAbove:
		return than("Greater", w.deviation(y))
	case stdBelow:
		return than("Less", w.deviation(y))
	case avgAbove:
		return than("Greater", w.op("Abs", w.mean(y.name)))
	case avgBelow:
		return than("Less", w.op("Abs", w.mean(y.name)))
	case maxAbove:
		return than("Greater", w.op("Abs", w.b.Op("ReduceMax", []string{y.name}, graph.IntAttr("keepdims", 0))))
	case activeBelow:
		active := w.cast(w.op("Greater", w.op("Abs", y.name), w.b.Float(1e-6)), tensor.F32)
		return than("Less", w.mean(active))
	case stdGrowing:
		past := w.rules.past[len(w.rules.past)-storm:]
		growth := w.op("Div", past[storm-1], w.op("Add", past[0], w.b.Float(1e-8)))
		return w.op("And", than("Greater", growth), w.op("Greater", past[0], w.b.Float(0)))
	}
	before := w.cast(w.op("Abs", w.mean(x.name)), tensor.F64)
	after := w.cast(w.op("Abs", w.mean(y.name)), tensor.F64)
	change := w.op("Abs", w.op("Sub", w.op("Div", after, before), w.float64(1)))
	return w.op("And", w.op("Greater", change, limit), w.op("GreaterOrEqual", before, w.float64(1e-6)))
}

// float64 returns a constant float64 scalar.
func (w *lowerer) float64(v float64) string {
	t := tensor.New(tensor.F64)
	tensor.View[float64](t)[0] = v
	return w.b.Constant(t)
}
