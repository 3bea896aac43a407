package graph

import (
	"regexp"
	"slices"
	"strings"
)

// State is a value that a run reads and updates for the next run: a graph input and the graph
// output that replaces it. Examples are the past and the present of a cache of keys, and the hidden
// state of a recurrent network. Both are tensors of the same element type. A state starts empty
// along the axis on which it grows, or as zeros.
type State struct {
	Input, Output string
	// Axis is the axis along which the output has more rows than the input, -1 for none.
	Axis int
}

// statePairs are the names of an input and of the output that replaces it. A weak pair also needs a
// word of stateWord in the name.
var statePairs = []struct {
	input  *regexp.Regexp
	output []string
	weak   bool
}{
	{regexp.MustCompile(`^past_key_values(.*)$`), []string{"present${1}", "present_key_values${1}"}, false},
	{regexp.MustCompile(`^(.*)past(.*)$`), []string{"${1}present${2}"}, false},
	{regexp.MustCompile(`^(.*)_in(_.*)?$`), []string{"${1}_out${2}"}, true},
	{regexp.MustCompile(`^in(put)?_(.*)$`), []string{"out${1}_${2}", "output_${2}", "out_${2}"}, true},
	{regexp.MustCompile(`^(.*)_input(_.*)?$`), []string{"${1}_output${2}"}, true},
	{regexp.MustCompile(`^(.*)$`), []string{"${1}N", "${1}n", "${1}_n", "${1}_out", "new_${1}", "next_${1}", "${1}_new", "${1}_next", "updated_${1}", "output_${1}", "out_${1}"}, true},
}

// stateWord matches words in names of states.
var stateWord = regexp.MustCompile(`(?i)(state|hidden|cache|cell|memory|mem|past|^[hc]0?$|[_.][hc]0?$|^(in|out)(put)?_[hc]$)`)

// FindStates returns the states of a graph, in the order of the inputs. It recognises them by the
// names and types of inputs and outputs.
func FindStates(g *Graph) []State {
	var list []State
	taken := map[string]bool{}
	for _, in := range g.Inputs {
		if slices.ContainsFunc(g.Initializers, func(i *Initializer) bool { return i.Name == in.Name }) {
			continue
		}
		for _, out := range g.Outputs {
			named, weak := namesState(in.Name, out.Name)
			if taken[out.Name] || !named {
				continue
			}
			if axis, ok := growth(in, out, weak); ok {
				taken[out.Name] = true
				list = append(list, State{in.Name, out.Name, axis})
				break
			}
		}
	}
	return list
}

// PairStates returns the states of the named inputs and outputs. It omits pairs that the graph
// lacks and pairs of types that do not fit.
func PairStates(g *Graph, pairs [][2]string) []State {
	find := func(list []*Value, name string) *Value {
		if i := slices.IndexFunc(list, func(v *Value) bool { return v.Name == name }); i >= 0 {
			return list[i]
		}
		return nil
	}
	var list []State
	for _, p := range pairs {
		in, out := find(g.Inputs, p[0]), find(g.Outputs, p[1])
		if in == nil || out == nil {
			continue
		}
		if axis, ok := growth(in, out, false); ok {
			list = append(list, State{in.Name, out.Name, axis})
		}
	}
	return list
}

// namesState reports whether the names are like those of a state, and whether they are a weak pair.
func namesState(input, output string) (is, weak bool) {
	for _, p := range statePairs {
		at := p.input.FindStringSubmatchIndex(input)
		if at == nil || p.weak && !stateWord.MatchString(input) {
			continue
		}
		for _, form := range p.output {
			if string(p.input.ExpandString(nil, form, input, at)) == output {
				return true, p.weak
			}
		}
	}
	return false, false
}

// growth returns the axis along which a state grows, -1 for none. ok is false for types that a
// state cannot have. States of weak pairs, such as the hidden state of a recurrent network, grow
// along axes with two names alone: an extent without a name may be the batch.
func growth(in, out *Value, weak bool) (axis int, ok bool) {
	a, b := in.Type, out.Type
	if a.Kind != TensorType || b.Kind != TensorType || a.DType != b.DType || a.Dims == nil {
		return 0, false
	}
	if b.Dims == nil {
		b.Dims = UnknownDims(len(a.Dims))
	}
	if len(a.Dims) != len(b.Dims) {
		return 0, false
	}
	var differ []int
	for i := range a.Dims {
		n, known := a.Dims[i].Value()
		m, also := b.Dims[i].Value()
		switch {
		case known && also && n != m:
			return 0, false
		case weak && !namesPast(a.Dims[i]) && (a.Dims[i].IsUnknown() || b.Dims[i].IsUnknown()):
		case !known && !a.Dims[i].Same(b.Dims[i]):
			differ = append(differ, i)
		}
	}
	switch {
	case len(differ) == 0:
		return slices.IndexFunc(a.Dims, namesPast), true
	case len(differ) == 1:
		return differ[0], true
	}
	return likeliest(a.Dims, differ), true
}

// likeliest returns the axis that most likely grows, of several with unknown extents in the output:
// one named like a past, else the axis before the last.
func likeliest(d Dims, axes []int) int {
	for _, i := range axes {
		if namesPast(d[i]) {
			return i
		}
	}
	if i := len(d) - 2; slices.Contains(axes, i) {
		return i
	}
	return axes[len(axes)-1]
}

// namesPast reports whether an extent is named like the rows of a past.
func namesPast(d Dim) bool {
	name := strings.ToLower(d.String())
	return !d.IsKnown() && (strings.Contains(name, "past") || strings.Contains(name, "seq") ||
		strings.Contains(name, "cache"))
}
