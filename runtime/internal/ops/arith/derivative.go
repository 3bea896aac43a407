package arith

import (
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// differentiable returns the row with a derivative.
func differentiable(row op.Row, rule op.Derivative) op.Row {
	row.Derivative = rule
	return row
}

// flat returns the row of an operator with a derivative that is zero or undefined.
func flat(row op.Row) op.Row {
	row.Flat = true
	return row
}

func add(d op.Derivation, a, b string) string { return d.Add("Add", []string{a, b}) }

func sub(d op.Derivation, a, b string) string { return d.Add("Sub", []string{a, b}) }

func mul(d op.Derivation, a, b string) string { return d.Add("Mul", []string{a, b}) }

func div(d op.Derivation, a, b string) string { return d.Add("Div", []string{a, b}) }

func neg(d op.Derivation, a string) string { return d.Add("Neg", []string{a}) }

func like(d op.Derivation, a, b string) string { return d.Add("CastLike", []string{a, b}) }

// broadcast returns the rule of an operator that broadcasts its inputs.
func broadcast(f func(d op.Derivation, n *graph.Node, dy string, i int) string) op.Derivative {
	return func(d op.Derivation, n *graph.Node, dy string, i int) (string, error) {
		return kit.SumTo(d, f(d, n, dy, i), n.Inputs[i]), nil
	}
}

// The derivatives of elementwise operators.
var (
	addDerivative = broadcast(func(_ op.Derivation, _ *graph.Node, dy string, _ int) string { return dy })
	subDerivative = broadcast(func(d op.Derivation, _ *graph.Node, dy string, i int) string {
		if i == 0 {
			return dy
		}
		return neg(d, dy)
	})
	mulDerivative = broadcast(func(d op.Derivation, n *graph.Node, dy string, i int) string {
		return mul(d, dy, n.Inputs[1-i])
	})
	divDerivative = broadcast(func(d op.Derivation, n *graph.Node, dy string, i int) string {
		q := div(d, dy, n.Inputs[1])
		if i == 0 {
			return q
		}
		return neg(d, mul(d, q, n.Outputs[0]))
	})
	// dy·e·x^(e-1) for the base and dy·y·log x for the exponent.
	powDerivative = broadcast(func(d op.Derivation, n *graph.Node, dy string, i int) string {
		x, e := n.Inputs[0], n.Inputs[1]
		if i == 1 {
			return mul(d, dy, mul(d, n.Outputs[0], d.Add("Log", []string{x})))
		}
		less := sub(d, e, d.Number(1, e))
		return mul(d, dy, mul(d, like(d, e, x), d.Add("Pow", []string{x, less})))
	})

	negDerivative = kit.OfFirst(func(d op.Derivation, dy, _, _ string) string { return neg(d, dy) })
	absDerivative = kit.OfFirst(func(d op.Derivation, dy, x, _ string) string {
		return mul(d, dy, d.Add("Sign", []string{x}))
	})
	expDerivative  = kit.OfFirst(func(d op.Derivation, dy, _, y string) string { return mul(d, dy, y) })
	logDerivative  = kit.OfFirst(func(d op.Derivation, dy, x, _ string) string { return div(d, dy, x) })
	sqrtDerivative = kit.OfFirst(func(d op.Derivation, dy, _, y string) string {
		return div(d, dy, add(d, y, y))
	})
	reciprocalDerivative = kit.OfFirst(func(d op.Derivation, dy, _, y string) string {
		return neg(d, mul(d, dy, mul(d, y, y)))
	})
	sinDerivative = kit.OfFirst(func(d op.Derivation, dy, x, _ string) string {
		return mul(d, dy, d.Add("Cos", []string{x}))
	})
	cosDerivative = kit.OfFirst(func(d op.Derivation, dy, x, _ string) string {
		return neg(d, mul(d, dy, d.Add("Sin", []string{x})))
	})
	reluDerivative = kit.OfFirst(func(d op.Derivation, dy, x, _ string) string {
		above := d.Add("Greater", []string{x, d.Number(0, x)})
		return mul(d, dy, like(d, above, dy))
	})
	castDerivative = kit.OfFirst(func(d op.Derivation, dy, x, _ string) string { return like(d, dy, x) })
)

var sumLikeDerivative = kit.OfFirst(func(d op.Derivation, dy, x, _ string) string { return kit.ExpandTo(d, dy, x) })

// reduceDerivative returns the rule of a sum, or of a mean. It restores the reduced axes of dy and
// broadcasts dy to the shape of the input.
func reduceDerivative(mean bool) op.Derivative {
	return func(d op.Derivation, n *graph.Node, dy string, i int) (string, error) {
		if i > 0 {
			return "", nil
		}
		kept := *n
		kept.Attrs = slices.DeleteFunc(slices.Clone(n.Attrs), func(a *graph.Attr) bool { return a.Name == "keepdims" })
		shape, x := d.AddNode(kept), n.Inputs[0]
		if mean {
			count := div(d, like(d, d.Add("Size", []string{x}), dy), like(d, d.Add("Size", []string{dy}), dy))
			dy = div(d, dy, count)
		}
		return kit.ExpandTo(d, kit.ReshapeTo(d, dy, shape), x), nil
	}
}

// einsum adds an Einsum of two operands and returns the name of its output.
func einsum(d op.Derivation, a, b, equation string) string {
	return d.Add("Einsum", []string{a, b}, &graph.Attr{Name: "equation", Kind: graph.AttrString, Str: []byte(equation)})
}

// matmulDerivative requires operands of at least two axes.
func matmulDerivative(d op.Derivation, n *graph.Node, dy string, i int) (string, error) {
	if i == 0 {
		return kit.SumTo(d, einsum(d, dy, n.Inputs[1], "...ik,...jk->...ij"), n.Inputs[0]), nil
	}
	return kit.SumTo(d, einsum(d, n.Inputs[0], dy, "...ij,...ik->...jk"), n.Inputs[1]), nil
}

// einsumDerivative requires two operands. Each axis of one must occur in the other or in
// the result.
func einsumDerivative(d op.Derivation, n *graph.Node, dy string, i int) (string, error) {
	equation := ""
	if a := n.Attr("equation"); a != nil {
		equation = strings.ReplaceAll(string(a.Str), " ", "")
	}
	left, out, explicit := strings.Cut(equation, "->")
	terms := strings.Split(left, ",")
	if !explicit || len(terms) != 2 || len(n.Inputs) != 2 {
		return "", graph.Errorf(graph.ErrUnsupported, "no derivative of %s %q with the equation %q", n.OpName(), n.Label(),
			equation)
	}
	mine, other := terms[i], terms[1-i]
	for k, l := range mine {
		if l != '.' && (!strings.ContainsRune(out+other, l) || strings.ContainsRune(mine[:k], l)) {
			return "", graph.Errorf(graph.ErrUnsupported, "no derivative of %s %q with the equation %q", n.OpName(), n.Label(),
				equation)
		}
	}
	if strings.Contains(out+other, "...") && !strings.Contains(mine, "...") {
		return "", graph.Errorf(graph.ErrUnsupported, "no derivative of %s %q with the equation %q", n.OpName(), n.Label(),
			equation)
	}
	g := einsum(d, dy, n.Inputs[1-i], out+","+other+"->"+mine)
	return kit.SumTo(d, g, n.Inputs[i]), nil
}

func gemmDerivative(d op.Derivation, n *graph.Node, dy string, i int) (string, error) {
	a, b := n.Inputs[0], n.Inputs[1]
	read := &op.Node{Node: n}
	ta, tb := read.Int("transA", 0), read.Int("transB", 0)
	scale := func(name string) *graph.Attr {
		v := &graph.Attr{Name: "alpha", Kind: graph.AttrFloat, Float: 1}
		if given := n.Attr(name); given != nil {
			v.Float = given.Float
		}
		return v
	}
	gemm := func(x, y string, tx, ty int) string {
		transposed := func(name string, t int) *graph.Attr {
			return &graph.Attr{Name: name, Kind: graph.AttrInt, Int: int64(t)}
		}
		return d.Add("Gemm", []string{x, y}, transposed("transA", tx), transposed("transB", ty), scale("alpha"))
	}
	flip := func(t int) int {
		if t == 0 {
			return 1
		}
		return 0
	}
	switch {
	case i == 0 && ta == 0:
		return gemm(dy, b, 0, flip(tb)), nil
	case i == 0:
		return gemm(b, dy, tb, 1), nil
	case i == 1 && tb == 0:
		return gemm(a, dy, flip(ta), 0), nil
	case i == 1:
		return gemm(dy, a, 1, ta), nil
	}
	beta := scale("beta").Float
	return kit.SumTo(d, mul(d, dy, d.Number(beta, dy)), n.Inputs[2]), nil
}
