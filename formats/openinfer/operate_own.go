package openinfer

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// domain is the domain of operators that no standard operator can express.
const domain = "openinfer"

// own adds a node of the language's own domain. Numeric attributes of the call become inputs of the
// node, after the operands.
func (c *call) own() string {
	var inputs []string
	for _, in := range c.inputs {
		inputs = append(inputs, in.value)
	}
	var attrs []*graph.Attr
	for _, rule := range c.opRow.attrs {
		switch v := c.attrs[rule.name].(type) {
		case dtype:
			attrs = append(attrs, graph.StringAttr(rule.name, v.tensor().String()))
		case string:
			attrs = append(attrs, graph.StringAttr(rule.name, v))
		case bool:
			if rule.kind == kindFlag {
				if rule.name != "saturate" { // both values are equivalent
					attrs = append(attrs, graph.IntAttr(rule.name, int64(bit(v))))
				}
				continue
			}
		}
		switch rule.kind {
		case kindAxis, kindAxes:
			attrs = append(attrs, graph.IntsAttr("axes", c.axes()...))
		case kindNumber, kindWhole:
			inputs = append(inputs, c.scalarInput(rule.name))
		}
	}
	return c.b.Node(domain, c.word, inputs, 1, attrs...)[0]
}

func bit(v bool) int {
	if v {
		return 1
	}
	return 0
}

// scalarInput returns a numeric attribute of the call as a value, or "" if it is missing.
func (c *call) scalarInput(name string) string {
	switch v := c.attrs[name].(type) {
	case operand:
		return v.value
	case float64:
		return constant(c.b, tensor.F64, v)
	case int64:
		return constant(c.b, tensor.I64, v)
	case uint64:
		return constant(c.b, tensor.U64, v)
	case bool:
		return constant(c.b, tensor.Bool, v)
	}
	return ""
}

func constant[T tensor.Element](b *graph.Builder, d tensor.DType, v T) string {
	t := tensor.New(d)
	tensor.View[T](t)[0] = v
	return b.Constant(t)
}
