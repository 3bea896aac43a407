package vulkan

import "slices"

// applying is the work of a dispatch of eltwise/unary that computes function(x) for n elements.
type applying struct {
	function string
	param    uint32
	n        int
}

// gating is the work of a dispatch of eltwise/fused or eltwise/binary that computes function(x) y for n
// elements of both, or x y if there is no function.
type gating struct{ applying }

// gates are the functions of include/gate.glsl.
var gates = set("relu", "sigmoid", "swish", "gelu", "gelu_tanh")

// gateRounds is ROUNDS of include/joined.glsl.
const gateRounds = 256

// The operands of eltwise/fused and eltwise/binary.
const (
	gateX = iota
	gateY
	gateOut
)

// gate is products of which one is the function's argument: their command, the place of the argument
// among the results, the function, and the commands that the products' replaces.
type gate struct {
	products, argument int
	applying
	rounds bool
	list   []int
}

// mergeGate makes the two products that command i alone reads compute its result.
func (v *versions) mergeGate(u *uses, i int) error {
	g := v.gate(u, i)
	if g == nil {
		return nil
	}
	f, err := function("unary", g.function)
	if err != nil {
		return err
	}
	if g.rounds {
		f += gateRounds
	}
	c := g.products
	from := &v.commands[c]
	p, _ := work[*joinedProducts](v, c)
	k, w, each := *from.kernel, slices.Clone(from.push), len(p.form.own)+len(p.form.weights)
	if first := w[len(p.form.same):]; g.argument == 1 {
		copy(first, slices.Concat(first[each:2*each], first[:each]))
	}
	w[len(w)-1] = g.param
	k.constants = slices.Clone(k.constants)
	k.constants[1+slices.Index(k.module.Kernel.Constants, "FUNCTION")] = f
	gated := &joinedProducts{p.rowProduct, p.form, p.n[:1]}
	gated.columns /= 2
	k.groups, k.does = v.joinedGroups(gated, k.groups[1]), nil
	operands := []site{{c, joinedRows}, {c, joinedWeights}, {i, gateOut}, {i: -1}, {i: -1}}
	for at := joinedOwn; at < len(from.planned); at++ {
		operands = append(operands, site{c, at})
	}
	v.replace(c, &k, w, operands)
	for _, i := range g.list {
		v.commands[i].drop(c)
	}
	return nil
}

// gate returns the gate whose result command i computes; nil if it computes none.
func (v *versions) gate(u *uses, i int) *gate {
	x, ok := work[*gating](v, i)
	if !ok {
		return nil
	}
	sides := [2]site{{i, gateX}, {i, gateY}}
	g := &gate{applying: x.applying, list: []int{i}}
	for k := 0; k < 2 && g.function == ""; k++ {
		at, ok := v.from(u, i, k)
		if f, applies := work[*applying](v, at); ok && applies {
			g.applying, g.rounds, g.list = *f, true, []int{at, i}
			sides = [2]site{{at, 0}, {i, 1 - k}}
		}
	}
	if !gates[g.function] || g.n != x.n {
		return nil
	}
	c, ok := v.from(u, sides[0].i, sides[0].k)
	other, also := v.from(u, sides[1].i, sides[1].k)
	p, joins := work[*joinedProducts](v, c)
	if !ok || !also || c != other || !joins || len(p.n) != 2 || p.n[0] != p.n[1] || p.rows*p.n[0] != g.n || p.columns%2 != 0 {
		return nil
	}
	g.products = c
	for _, s := range sides {
		if v.commands[s.i].kernel.Variant() != p.element || v.of[s.i][s.k].stays {
			return nil
		}
	}
	if v.of[sides[0].i][sides[0].k].root() == v.of[c][joinedOut+1].root() {
		g.argument = 1
	}
	for k := range v.commands[c].planned {
		isResult := k >= joinedOut && k < joinedOwn
		if !isResult && v.conflicts(site{c, k}, site{i, gateOut}) {
			return nil
		}
	}
	if !v.isFree(i, []int{gateOut}, c, i, g.list) {
		return nil
	}
	return g
}
