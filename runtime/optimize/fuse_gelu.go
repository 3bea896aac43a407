package optimize

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// fuseGelu makes Gelu of its parts: x/2·(1 + erf(x/√2)), or the approximation
// x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³))), whatever the order of the products.
func fuseGelu(s *Scope) (*Edit, error) {
	f := newFinder(s)
	for _, n := range f.live {
		var x string
		var nodes []*graph.Node
		approximate := "none"
		switch {
		case is(n, "Erf"):
			x, nodes = f.erfArgument(n.Inputs[0])
		case is(n, "Tanh"):
			x, nodes = f.tanhArgument(n.Inputs[0])
			approximate = "tanh"
		}
		if x == "" {
			continue
		}
		nodes = append(nodes, n)
		if end, more := f.halved(n, x); end != nil && f.inside(end, append(nodes, more...)...) {
			f.replace(end, instead(end, "", "Gelu", 20, []string{x}, &graph.Attr{Name: "approximate", Kind: graph.AttrString, Str: []byte(approximate)}))
		}
	}
	return f.result()
}

// erfArgument sees a value as x/√2.
func (f *finder) erfArgument(name string) (x string, nodes []*graph.Node) {
	x, c, n := f.scaled(name)
	if n == nil || !f.near(c, math.Sqrt2/2, x) {
		return "", nil
	}
	return x, []*graph.Node{n}
}

// tanhArgument sees a value as √(2/π)·(x + 0.044715·x³), or with x taken out of
// the sum.
func (f *finder) tanhArgument(name string) (x string, nodes []*graph.Node) {
	p := f.product(name)
	cubic := 3
	switch len(p.factors) {
	case 1:
	case 2:
		cubic = 2
	default:
		return "", nil
	}
	for i, factor := range p.factors {
		sum := f.from(factor, "Add")
		if sum == nil || !f.near(p.number, math.Sqrt(2/math.Pi), factor) {
			continue
		}
		for k := range 2 {
			x := sum.Inputs[k]
			if cubic == 2 {
				if one, ok := f.numberFor(sum, k); !ok || one != 1 {
					continue
				}
				x = p.factors[1-i]
			}
			power := f.product(sum.Inputs[1-k])
			if f.near(power.number, 0.044715, x) && f.power(&power, x) == cubic {
				return x, append(append(p.nodes, power.nodes...), sum)
			}
		}
	}
	return "", nil
}

// power returns which power of x a product is, but for its number; 0 if none.
func (f *finder) power(p *product, x string) int {
	total := 0
	for _, factor := range p.factors {
		switch n := f.from(factor, "Pow"); {
		case f.is(factor, x):
			total++
		case n != nil && f.is(n.Inputs[0], x):
			c, ok := f.numberFor(n, 1)
			if !ok || c != 2 && c != 3 {
				return 0
			}
			total += int(c)
			p.nodes = append(p.nodes, n)
		default:
			return 0
		}
	}
	return total
}

// halved follows n's result by x/2·(1 + n), in any order, to the end.
func (f *finder) halved(n *graph.Node, x string) (end *graph.Node, nodes []*graph.Node) {
	sum := f.reader(n)
	if !is(sum, "Add") {
		return nil, nil
	}
	if _, one, ok := f.split(sum); !ok || one != 1 {
		return nil, nil
	}
	rest, found := 0.5, false
	end = sum
	for range 3 {
		nodes = append(nodes, end)
		next := f.reader(end)
		if !is(next, "Mul", "Div") || len(next.Inputs) != 2 {
			return nil, nil
		}
		i := 0
		if f.is(next.Inputs[0], end.Outputs[0]) {
			i = 1
		}
		c, isNumber := f.numberFor(next, i)
		p := f.product(next.Inputs[i])
		switch {
		case next.Op == "Div" && (i == 0 || !isNumber):
			return nil, nil
		case isNumber && next.Op == "Div":
			rest *= c
		case isNumber:
			rest /= c
		case !found && f.is(next.Inputs[i], x):
			found = true
		case !found && len(p.factors) == 1 && f.is(p.factors[0], x):
			found, rest, nodes = true, rest/p.number, append(nodes, p.nodes...)
		default:
			return nil, nil
		}
		if end = next; found && f.near(rest, 1, x) {
			return end, nodes
		}
	}
	return nil, nil
}
