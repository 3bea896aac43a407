package optimize

import "github.com/nacre-ml/nacre/runtime/graph"

// maxFactors bounds the factors that a product is taken apart into.
const maxFactors = 6

// product is a value as the product of others and a number.
type product struct {
	factors []string
	number  float64
	nodes   []*graph.Node // that multiply
}

// product takes a value apart as far as its parts serve nothing else.
func (f *finder) product(name string) product {
	p := product{number: 1}
	list := []string{name}
	for len(list) > 0 {
		name := list[len(list)-1]
		list = list[:len(list)-1]
		n := f.from(name, "Mul", "Div")
		if n == nil || len(n.Inputs) != 2 || len(p.factors)+len(list) >= maxFactors || len(p.nodes) > 0 && f.reader(n) == nil {
			p.factors = append(p.factors, name)
			continue
		}
		c, isNumber := f.numberFor(n, 1)
		switch {
		case n.Op == "Div" && isNumber && c != 0:
			p.number /= c
			list = append(list, n.Inputs[0])
		case n.Op == "Div":
			p.factors = append(p.factors, name)
			continue
		case isNumber:
			p.number *= c
			list = append(list, n.Inputs[0])
		default:
			if c, isNumber = f.numberFor(n, 0); isNumber {
				p.number *= c
				list = append(list, n.Inputs[1])
			} else {
				list = append(list, n.Inputs[1], n.Inputs[0])
			}
		}
		p.nodes = append(p.nodes, n)
	}
	return p
}
