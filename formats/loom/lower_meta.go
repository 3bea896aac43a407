package loom

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Conditions of rules and the one command that has a meaning within a graph.
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

	resetDense = 101
)

// metacognition is the layer that it observes. Rules, which change that layer while it
// runs, are left out, unless quirks are wanted: then a rule of the first forward that
// resets a Dense layer is computed, and others that may fire are errors.
func (w *lowerer) metacognition(l *Layer, path string, x flow, depth int) (flow, error) {
	c := l.Observed
	if c == nil {
		return x, nil
	}
	path += "." + observed
	y, err := w.layer(c, path, x, depth+1)
	if err != nil || !w.quirks {
		return y, err
	}
	fired := ""
	for i, r := range l.Rules {
		if r.Cooldown > 0 || r.Condition == never || r.Condition == stdGrowing || r.Condition > avgChange || r.Condition < 0 {
			continue // cannot fire in a first forward
		}
		if c.Type != Dense || r.Command != resetDense || !r.SelfOnly {
			return x, fmt.Errorf("rule %d has command %v, which makes another layer of the observed %v: no graph can compute that (without the option quirks rules are left out)", i, r.Command, c.Type)
		}
		now := w.condition(r, x, y)
		if fired == "" {
			fired = now
		} else {
			fired = w.op("Or", fired, now)
		}
	}
	if fired == "" {
		return y, nil
	}
	matrix, err := w.store(c, path)
	if err != nil {
		return x, err
	}
	return w.denseBy(c, w.op("Where", fired, w.identity(c.OutputHeight, c.InputHeight), matrix), x)
}

// identity returns a matrix with ones on its diagonal.
func (w *lowerer) identity(rows, cols int) string {
	t := tensor.New(tensor.I64, 2)
	copy(tensor.View[int64](t), []int64{int64(rows), int64(cols)})
	return w.b.Op("EyeLike", []string{w.zeros(w.b.Constant(t))})
}

// condition is a truth value: whether a rule fires on what the layer reads and gives.
func (w *lowerer) condition(r Rule, x, y flow) string {
	mean := func(v string) string { return w.b.Op("ReduceMean", []string{v}, graph.IntAttr("keepdims", 0)) }
	limit := w.b.Float(float32(r.Threshold))
	switch r.Condition {
	case stdAbove, stdBelow:
		d := w.op("Sub", x.name, mean(x.name))
		std := w.op("Sqrt", mean(w.op("Mul", d, d)))
		if r.Condition == stdAbove {
			return w.op("Greater", std, limit)
		}
		return w.op("Less", std, limit)
	case avgAbove:
		return w.op("Greater", w.op("Abs", mean(x.name)), limit)
	case avgBelow:
		return w.op("Less", w.op("Abs", mean(x.name)), limit)
	case maxAbove:
		most := w.b.Op("ReduceMax", []string{x.name}, graph.IntAttr("keepdims", 0))
		return w.op("Greater", w.op("Abs", most), limit)
	case activeBelow:
		active := w.cast(w.op("Greater", w.op("Abs", x.name), w.b.Float(1e-6)), tensor.F32)
		return w.op("Less", mean(active), limit)
	}
	before := w.op("Abs", mean(x.name))
	change := w.op("Abs", w.op("Sub", w.op("Div", w.op("Abs", mean(y.name)), before), w.b.Float(1)))
	return w.op("And", w.op("Greater", change, limit), w.op("GreaterOrEqual", before, w.b.Float(1e-6)))
}
