package optimize

import (
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// derivative adds nodes that compute the derivative with respect to input i of n from dy, the
// derivative with respect to output 0. It returns the name of the result, or "" if the derivative
// is zero. n has the inputs and outputs that its operator takes.
type derivative func(d *differentiator, n *graph.Node, dy string, i int) (string, error)

// flat is the set of operators with a derivative that is zero or undefined.
var flat = map[string]bool{
	"Shape": true, "Size": true, "ConstantOfShape": true, "EyeLike": true, "Constant": true,
	"Equal": true, "Greater": true, "Less": true, "GreaterOrEqual": true, "LessOrEqual": true, "Not": true, "And": true, "Or": true, "Xor": true,
	"Sign": true, "Floor": true, "Ceil": true, "Round": true, "ArgMax": true, "ArgMin": true, "IsNaN": true, "IsInf": true,
}

// derivatives maps operators to their rules.
var derivatives = map[string]derivative{
	"Identity": func(_ *differentiator, _ *graph.Node, dy string, _ int) (string, error) { return dy, nil },
	"Add":      broadcast(func(_ *differentiator, _ *graph.Node, dy string, _ int) string { return dy }),
	"Sum":      broadcast(func(_ *differentiator, _ *graph.Node, dy string, _ int) string { return dy }),
	"Sub": broadcast(func(d *differentiator, _ *graph.Node, dy string, i int) string {
		if i == 0 {
			return dy
		}
		return d.add("Neg", []string{dy})
	}),
	"Mul": broadcast(func(d *differentiator, n *graph.Node, dy string, i int) string { return d.mul(dy, n.Inputs[1-i]) }),
	"Div": broadcast(divRule),
	"Pow": broadcast(powRule),

	"Neg":        unary(func(d *differentiator, dy, _, _ string) string { return d.add("Neg", []string{dy}) }),
	"Abs":        unary(func(d *differentiator, dy, x, _ string) string { return d.mul(dy, d.add("Sign", []string{x})) }),
	"Exp":        unary(func(d *differentiator, dy, _, y string) string { return d.mul(dy, y) }),
	"Log":        unary(func(d *differentiator, dy, x, _ string) string { return d.div(dy, x) }),
	"Sqrt":       unary(func(d *differentiator, dy, _, y string) string { return d.div(dy, d.add("Add", []string{y, y})) }),
	"Reciprocal": unary(func(d *differentiator, dy, _, y string) string { return d.add("Neg", []string{d.mul(dy, d.mul(y, y))}) }),
	"Sin":        unary(func(d *differentiator, dy, x, _ string) string { return d.mul(dy, d.add("Cos", []string{x})) }),
	"Cos": unary(func(d *differentiator, dy, x, _ string) string {
		return d.add("Neg", []string{d.mul(dy, d.add("Sin", []string{x}))})
	}),
	"Tanh": unary(func(d *differentiator, dy, _, y string) string {
		return d.mul(dy, d.add("Sub", []string{d.number(1, y), d.mul(y, y)}))
	}),
	"Sigmoid": unary(func(d *differentiator, dy, _, y string) string {
		return d.mul(dy, d.mul(y, d.add("Sub", []string{d.number(1, y), y})))
	}),
	"Softplus": unary(func(d *differentiator, dy, x, _ string) string {
		return d.mul(dy, d.add("Sigmoid", []string{x}))
	}),
	"Relu": unary(func(d *differentiator, dy, x, _ string) string {
		above := d.add("Greater", []string{x, d.number(0, x)})
		return d.mul(dy, d.add("CastLike", []string{above, dy}))
	}),

	"Reshape": unary(reshaped), "Flatten": unary(reshaped), "Squeeze": unary(reshaped), "Unsqueeze": unary(reshaped),
	"Cast": unary(castBack), "CastLike": unary(castBack),
	"Expand": unary(func(d *differentiator, dy, x, _ string) string { return d.add("SumLike", []string{dy, x}) }),
	"SumLike": unary(func(d *differentiator, dy, x, _ string) string {
		return d.add("Expand", []string{dy, d.add("Shape", []string{x})})
	}),
	"Transpose":  transposeRule,
	"ReduceSum":  reduceRule(false),
	"ReduceMean": reduceRule(true),
	"MatMul":     matmulRule,
	"Gemm":       gemmRule,
	"Einsum":     einsumRule,
}

func (d *differentiator) mul(a, b string) string { return d.add("Mul", []string{a, b}) }

func (d *differentiator) div(a, b string) string { return d.add("Div", []string{a, b}) }

// broadcast returns the rule of an operator that broadcasts its inputs.
func broadcast(f func(d *differentiator, n *graph.Node, dy string, i int) string) derivative {
	return func(d *differentiator, n *graph.Node, dy string, i int) (string, error) {
		return d.add("SumLike", []string{f(d, n, dy, i), n.Inputs[i]}), nil
	}
}

// unary returns the rule of an operator that is differentiable in input 0 only.
func unary(f func(d *differentiator, dy, x, y string) string) derivative {
	return func(d *differentiator, n *graph.Node, dy string, i int) (string, error) {
		if i > 0 {
			return "", nil
		}
		return f(d, dy, n.Inputs[0], n.Outputs[0]), nil
	}
}

func divRule(d *differentiator, n *graph.Node, dy string, i int) string {
	q := d.div(dy, n.Inputs[1])
	if i == 0 {
		return q
	}
	return d.add("Neg", []string{d.mul(q, n.Outputs[0])})
}

// powRule computes dy·e·x^(e-1) for the base and dy·y·log x for the exponent.
func powRule(d *differentiator, n *graph.Node, dy string, i int) string {
	x, e := n.Inputs[0], n.Inputs[1]
	if i == 1 {
		return d.mul(dy, d.mul(n.Outputs[0], d.add("Log", []string{x})))
	}
	less := d.add("Sub", []string{e, d.number(1, e)})
	return d.mul(dy, d.mul(d.add("CastLike", []string{e, x}), d.add("Pow", []string{x, less})))
}

func reshaped(d *differentiator, dy, x, _ string) string {
	return d.add("Reshape", []string{dy, d.add("Shape", []string{x})}, intAttr("allowzero", 1))
}

func castBack(d *differentiator, dy, x, _ string) string { return d.add("CastLike", []string{dy, x}) }

func transposeRule(d *differentiator, n *graph.Node, dy string, _ int) (string, error) {
	perm := n.Attr("perm")
	if perm == nil {
		return d.add("Transpose", []string{dy}), nil
	}
	back := &graph.Attr{Name: "perm", Kind: graph.AttrInts, Ints: make([]int64, len(perm.Ints))}
	for i, p := range perm.Ints {
		if p < 0 || p >= int64(len(back.Ints)) {
			return "", graph.Errorf(graph.ErrFormat, "node %q has the perm %v", n.Label(), perm.Ints)
		}
		back.Ints[p] = int64(i)
	}
	return d.add("Transpose", []string{dy}, back), nil
}

// reduceRule returns the rule of a sum, or of a mean. It restores the reduced axes of dy and
// broadcasts dy to the shape of the input.
func reduceRule(mean bool) derivative {
	return func(d *differentiator, n *graph.Node, dy string, i int) (string, error) {
		if i > 0 {
			return "", nil
		}
		kept := *n
		kept.Attrs = slices.DeleteFunc(slices.Clone(n.Attrs), func(a *graph.Attr) bool { return a.Name == "keepdims" })
		kept.Name = d.name(n.Op)
		kept.Outputs = []string{kept.Name}
		d.append(&kept)
		x := n.Inputs[0]
		if mean {
			count := d.div(d.add("CastLike", []string{d.add("Size", []string{x}), dy}), d.add("CastLike", []string{d.add("Size", []string{dy}), dy}))
			dy = d.div(dy, count)
		}
		dy = reshaped(d, dy, kept.Name, "")
		return d.add("Expand", []string{dy, d.add("Shape", []string{x})}), nil
	}
}

// einsum adds an Einsum of two operands and returns the name of its output.
func (d *differentiator) einsum(a, b, equation string) string {
	return d.add("Einsum", []string{a, b}, &graph.Attr{Name: "equation", Kind: graph.AttrString, Str: []byte(equation)})
}

// matmulRule requires operands of at least two axes.
func matmulRule(d *differentiator, n *graph.Node, dy string, i int) (string, error) {
	var g string
	if i == 0 {
		g = d.einsum(dy, n.Inputs[1], "...ik,...jk->...ij")
	} else {
		g = d.einsum(n.Inputs[0], dy, "...ij,...ik->...jk")
	}
	return d.add("SumLike", []string{g, n.Inputs[i]}), nil
}

// einsumRule requires two operands. Each axis of one must occur in the other or in
// the result.
func einsumRule(d *differentiator, n *graph.Node, dy string, i int) (string, error) {
	equation := ""
	if a := n.Attr("equation"); a != nil {
		equation = strings.ReplaceAll(string(a.Str), " ", "")
	}
	left, out, explicit := strings.Cut(equation, "->")
	terms := strings.Split(left, ",")
	if !explicit || len(terms) != 2 || len(n.Inputs) != 2 {
		return "", graph.Errorf(graph.ErrUnsupported, "no derivative of %s %q with the equation %q", n.OpName(), n.Label(), equation)
	}
	mine, other := terms[i], terms[1-i]
	for k, l := range mine {
		if l != '.' && (!strings.ContainsRune(out+other, l) || strings.ContainsRune(mine[:k], l)) {
			return "", graph.Errorf(graph.ErrUnsupported, "no derivative of %s %q with the equation %q", n.OpName(), n.Label(), equation)
		}
	}
	if strings.Contains(out+other, "...") && !strings.Contains(mine, "...") {
		return "", graph.Errorf(graph.ErrUnsupported, "no derivative of %s %q with the equation %q", n.OpName(), n.Label(), equation)
	}
	g := d.einsum(dy, n.Inputs[1-i], out+","+other+"->"+mine)
	return d.add("SumLike", []string{g, n.Inputs[i]}), nil
}

func gemmRule(d *differentiator, n *graph.Node, dy string, i int) (string, error) {
	a, b := n.Inputs[0], n.Inputs[1]
	ta, tb := intOr(n, "transA", 0), intOr(n, "transB", 0)
	scale := func(name string) *graph.Attr {
		v := &graph.Attr{Name: "alpha", Kind: graph.AttrFloat, Float: 1}
		if given := n.Attr(name); given != nil {
			v.Float = given.Float
		}
		return v
	}
	gemm := func(x, y string, tx, ty int64) string {
		return d.add("Gemm", []string{x, y}, intAttr("transA", tx), intAttr("transB", ty), scale("alpha"))
	}
	flip := func(t int64) int64 {
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
	return d.add("SumLike", []string{d.mul(dy, d.number(beta, dy)), n.Inputs[2]}), nil
}
