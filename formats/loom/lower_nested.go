package loom

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// parallel gives each branch the same input and combines their outputs.
func (w *lowerer) parallel(l *Layer, path string, x flow, depth int) (flow, error) {
	if len(l.Branches) == 0 {
		return x, nil
	}
	outs := make([]flow, len(l.Branches))
	for i, c := range l.Branches {
		var err error
		if outs[i], err = w.layer(c, fmt.Sprintf("%s.%s.%d", path, branches, i), x, depth+1); err != nil {
			return x, err
		}
	}
	switch l.CombineMode {
	case "", "concat", "grid_scatter", "add", "avg":
		return w.combined(l, x, outs), nil
	}
	if !w.quirks {
		if l.CombineMode == "filter" {
			return x, fmt.Errorf("its combine_mode is filter, and a file does not hold the gate of that (the option quirks gives zeros, as Loom does)")
		}
		return x, fmt.Errorf("%q is no combine_mode: the modes are concat, grid_scatter, add and avg, in small letters (the option quirks gives zeros, as Loom does)", brief(l.CombineMode))
	}
	y := w.combined(&Layer{CombineMode: "add"}, x, outs[:1])
	y.name = w.zeros(w.op("Shape", y.name))
	return y, nil
}

// combined concatenates the branches of each item, or adds or averages them.
func (w *lowerer) combined(l *Layer, x flow, outs []flow) flow {
	shape := w.concat(0, w.batch(x), w.b.Ints(-1))
	names := make([]string, len(outs))
	sum := l.CombineMode == "add" || l.CombineMode == "avg"
	width := 0 // of an item; -1 if open
	for i, o := range outs {
		n, ok := o.item()
		switch {
		case !ok || n > largest || width > largest:
			width = -1
		case i == 0 || !sum && width >= 0:
			width += n
		}
		names[i] = w.op("Reshape", o.name, shape)
	}
	y := flow{names[0], []int{-1, width}}
	switch l.CombineMode {
	case "add", "avg":
		for _, n := range names[1:] {
			y.name = w.op("Add", y.name, n)
		}
		if l.CombineMode == "avg" {
			y.name = w.op("Div", y.name, w.b.Float(float32(len(outs))))
		}
	default:
		if len(names) > 1 {
			y.name = w.concat(1, names...)
		}
	}
	return y
}

// sequential runs steps one after the other. A Residual adds the input of the step before it.
func (w *lowerer) sequential(l *Layer, path string, x flow, depth int) (flow, error) {
	var skip *flow
	for i, c := range l.Steps {
		if c.Disabled {
			continue
		}
		in := x
		var err error
		if c.Type == Residual && !c.Remote {
			if skip != nil {
				x = w.residual(x, *skip)
			}
		} else if x, err = w.layer(c, fmt.Sprintf("%s.%s.%d", path, steps, i), x, depth+1); err != nil {
			return x, err
		}
		skip = &in
	}
	return x, nil
}

// residual adds two values of equal length. If the lengths differ, it returns x.
func (w *lowerer) residual(x, skip flow) flow {
	y := flow{"", x.dims}
	if n, ok := x.item(); ok {
		if m, ok := skip.item(); ok && n == m {
			y.name = w.op("Add", x.name, w.op("Reshape", skip.name, w.op("Shape", x.name)))
			return y
		}
	}
	then := w.b.Body("added")
	sum := then.Op("Add", []string{x.name, then.Op("Reshape", []string{skip.name, then.Op("Shape", []string{x.name})})})
	then.Output(sum, w.b.Fresh("sum"), float32s(x))
	other := w.b.Body("alone")
	other.Output(other.Op("Identity", []string{x.name}), w.b.Fresh("same"), float32s(x))
	equal := w.op("Equal", w.op("Size", x.name), w.op("Size", skip.name))
	y.name = w.b.Op("If", []string{equal}, graph.GraphAttr("then_branch", then.Graph()), graph.GraphAttr("else_branch", other.Graph()))
	return y
}
