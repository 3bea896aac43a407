package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/invent"
)

// A model is timed until it ran so often, or for so long.
const (
	mostRuns  = 20
	mostTime  = 2 * time.Second
	mostShown = 64 // elements of an output that the page shows
)

// node is a node of a profile: a name, the path of its graph, the operator, and device and kernels.
type node struct{ name, within, op, how string }

// timed runs a model on inputs of the message, on a picture, or on random inputs. It returns the
// outputs in short, the times of runs, and the time of each operator and node in a run.
func timed(r *request) (map[string]any, []any, error) {
	m, err := opened[*model](r, "object")
	if err != nil {
		return nil, nil, err
	}
	r.event(map[string]any{"stage": "prepare"})
	s, err := m.ready(r)
	if err != nil {
		return nil, nil, err
	}
	inputs, assumed, err := r.invented(s)
	if err != nil {
		return nil, nil, err
	}
	operators, nodes := map[string]time.Duration{}, map[node]time.Duration{}
	steps := map[string]int{}
	var times []float64
	var out map[string]nacre.Value
	for begin := time.Now(); len(times) < mostRuns && (len(times) < 2 || time.Since(begin) < mostTime); {
		start := time.Now()
		var p *nacre.Profile
		if out, p, err = s.Profile(r, asValues(inputs)); err != nil {
			return nil, nil, err
		}
		if times = append(times, milliseconds(time.Since(start))); len(times) == 1 {
			r.event(map[string]any{"stage": "run", "done": 1, "total": mostRuns})
			continue // the first run plans
		}
		for _, o := range p.Operators() {
			operators[o.Op] += o.Time
			steps[o.Op] = o.Steps
		}
		for _, step := range p.Steps() {
			nodes[node{step.Node, step.Within, step.Op, step.How}] += step.Time
		}
		r.event(map[string]any{"stage": "run", "done": len(times), "total": mostRuns})
	}
	first, times := times[0], times[1:]
	slices.Sort(times)
	each := func(d time.Duration) float64 { return milliseconds(d) / float64(len(times)) }
	rows, byNode := []any{}, []any{}
	for name, d := range operators {
		rows = append(rows, map[string]any{"op": name, "steps": steps[name], "ms": each(d)})
	}
	for n, d := range nodes {
		byNode = append(byNode, map[string]any{"node": n.name, "within": n.within, "op": n.op, "how": n.how, "ms": each(d)})
	}
	taken := []any{}
	for _, in := range s.Inputs() {
		if t := inputs[in.Name]; t != nil {
			taken = append(taken, map[string]any{"name": in.Name, "text": t.String()})
		}
	}
	return map[string]any{
		"runs": len(times), "first": first, "least": times[0], "median": times[len(times)/2], "operators": rows,
		"steps": byNode, "inputs": taken, "assumed": assumed, "outputs": inShort(s.Outputs(), out),
	}, nil, nil
}

// invented returns the inputs of a run: of the message's inputs and picture, and random ones for the
// rest. It also returns the names of extents that were assumed to be 1.
func (r *request) invented(s *nacre.Session) (map[string]*nacre.Tensor, []any, error) {
	inputs, err := r.given(append(s.Inputs(), s.Overridable()...))
	if err != nil {
		return nil, nil, err
	}
	e := &invent.Extents{Numbers: map[string]int{}}
	sizes := r.Get("sizes")
	for _, name := range keys(sizes) {
		n := number(sizes.Get(name), -1)
		if n < 0 {
			return nil, nil, fmt.Errorf("the size of %s is %v; it must be a number from 0", name, sizes.Get(name))
		}
		e.Numbers[invent.Normal(name)] = n
		e.Numbers[name] = n // of an axis without a symbol, INPUT[AXIS]
	}
	if p := r.Get("picture"); p.Truthy() {
		if err := r.pictureInput(s, p.Get("input").String(), inputs); err != nil {
			return nil, nil, err
		}
	}
	for _, in := range s.Inputs() {
		if t := inputs[in.Name]; t != nil {
			if err := e.Take(in, t.Shape()); err != nil {
				return nil, nil, err
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, in := range s.Inputs() {
		if inputs[in.Name] != nil || !in.Required {
			continue
		}
		t, err := invent.Random(r, random, in, e)
		if err != nil {
			return nil, nil, fmt.Errorf("input %q: %w", in.Name, err)
		}
		inputs[in.Name] = t
	}
	assumed := []any{}
	for _, name := range e.Assumed {
		assumed = append(assumed, name)
	}
	return inputs, assumed, nil
}

// pictureInput makes an input of the message's picture.
func (r *request) pictureInput(s *nacre.Session, name string, inputs map[string]*nacre.Tensor) error {
	for _, in := range s.Inputs() {
		if in.Name != name {
			continue
		}
		f := &file{name: "the picture", value: r.Get("picture")}
		data, err := f.read(r)
		if err != nil {
			return err
		}
		inputs[name], err = nacre.DecodeImageContext(r, data, in, nacre.ImageOptions{Fit: nacre.FitCrop})
		return err
	}
	return fmt.Errorf("%w: the model takes no input %q", nacre.ErrUnknownInput, name)
}

// inShort describes outputs by their types and their first elements.
func inShort(infos []nacre.Info, out map[string]nacre.Value) []any {
	list := []any{}
	for _, in := range infos {
		v := out[in.Name]
		if v == nil {
			continue
		}
		row := map[string]any{"name": in.Name, "text": v.String()}
		if t, ok := v.(*nacre.Tensor); ok {
			first := []any{}
			for i := range min(t.Len(), mostShown) {
				first = append(first, t.Text(i))
			}
			row["first"], row["count"] = first, t.Len()
			if f, err := nacre.Float32s(t); err == nil {
				row["best"] = best(f)
			}
		}
		list = append(list, row)
	}
	return list
}

// best returns the five largest elements with their places, for a list that may be classes.
func best(f []float32) []any {
	const fewest, most, n = 5, 1 << 20, 5
	if len(f) < fewest || len(f) > most {
		return nil
	}
	order := make([]int, len(f))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case f[i] > f[j]:
			return -1
		case f[i] < f[j]:
			return 1
		}
		return 0
	})
	list := make([]any, n)
	for k, i := range order[:n] {
		list[k] = map[string]any{"at": i, "value": float64(f[i])}
	}
	return list
}
