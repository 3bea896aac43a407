package quantize

import (
	"fmt"
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Activation says which codes a value has become.
type Activation struct {
	Name  string  `json:"name"`
	Type  string  `json:"type"`
	Low   float32 `json:"low"` // the range that was measured
	High  float32 `json:"high"`
	Scale float32 `json:"scale"`
	Zero  int     `json:"zero"`
}

// point is what the codes of a value mean: its scale and its zero point, and their constants.
type point struct {
	scale        float32
	scales, zero string
}

// activations makes the products and convolutions that read weights of int8 compute on codes: values
// are rounded to codes where they are computed, and their readers read the numbers of the codes.
func (e *editor) activations() error {
	g := *e.graph
	g.Nodes = e.nodes
	g.Initializers = slices.Concat(e.graph.Initializers, e.added)
	list := codedValues(&g, func(n *graph.Node) bool { return e.coded[n] != nil })
	points := map[string]point{}
	for _, v := range list {
		if v.like != "" {
			points[v.name] = points[v.like]
			continue
		}
		p, err := e.point(v.name)
		if err != nil {
			return err
		}
		points[v.name] = p
	}
	if len(list) == 0 {
		e.report.Warnings = append(e.report.Warnings, "no weight has become int8, so that no value has become codes")
	}
	numbers := map[string]string{} // of the codes of inputs, by the name of the input
	old := e.nodes
	e.nodes = nil
	for _, v := range e.graph.Inputs {
		if p, ok := points[v.Name]; ok {
			numbers[v.Name] = e.names.New(v.Name + "_float")
			e.through(v.Name, numbers[v.Name], p)
		}
	}
	for _, n := range old {
		c := *n
		c.Inputs, c.Outputs = slices.Clone(n.Inputs), slices.Clone(n.Outputs)
		if p, ok := points[n.Inputs[0]]; ok && e.coded[n] != nil {
			e.bias(&c, e.coded[n], p)
		}
		for i, name := range c.Inputs {
			if of, ok := numbers[name]; ok {
				c.Inputs[i] = of
			}
		}
		e.nodes = append(e.nodes, &c)
		for i, name := range n.Outputs {
			if p, ok := points[name]; ok {
				c.Outputs[i] = e.names.New(name + "_raw")
				e.through(c.Outputs[i], name, p)
			}
		}
	}
	return nil
}

// through adds the nodes that round a value to codes, and make numbers of them.
func (e *editor) through(from, to string, p point) {
	codes := e.names.New(to + "_codes")
	for _, n := range []*graph.Node{
		{Op: "QuantizeLinear", Name: e.names.New(to + "_quantize"),
			Inputs: []string{from, p.scales, p.zero}, Outputs: []string{codes}},
		{Op: "DequantizeLinear", Name: e.names.New(to + "_dequantize"),
			Inputs: []string{codes, p.scales, p.zero}, Outputs: []string{to}},
	} {
		n.Version = e.version()
		e.nodes = append(e.nodes, n)
	}
}

// point adds the scale and the zero point of a value.
func (e *editor) point(name string) (p point, err error) {
	r, ok := e.Ranges.Values[name]
	if !ok {
		return p, graph.Errorf(graph.ErrUnsupported,
			"no range of value %q was measured; are the ranges of another model?", name)
	}
	low, high := float64(min(r.Low, 0)), float64(max(r.High, 0))
	d, least := tensor.U8, 0
	if e.SignedActivations {
		d, least = tensor.I8, -128
	}
	p.scale = float32((high - low) / 255)
	if !(p.scale > 0) || p.scale > math.MaxFloat32 {
		if p.scale = 1; high > low {
			return p, graph.Errorf(graph.ErrUnsupported,
				"value %q is from %g to %g, which no codes stand for; keep the nodes about it in float by --layer",
				name, r.Low, r.High)
		}
	}
	zero := least + int(math.RoundToEven(-low/float64(p.scale)))
	zero = min(max(zero, least), least+255)
	scale, at := tensor.New(tensor.F32), tensor.New(d)
	tensor.View[float32](scale)[0] = p.scale
	at.Bytes()[0] = byte(zero)
	p.scales = e.constant(&graph.Initializer{Name: name + "_scale", Tensor: scale})
	p.zero = e.constant(&graph.Initializer{Name: name + "_zero", Tensor: at})
	e.report.Activations = append(e.report.Activations,
		Activation{Name: name, Type: d.String(), Low: r.Low, High: r.High, Scale: p.scale, Zero: zero})
	return p, nil
}

// bias makes codes of the bias of a product or a convolution: of int32, with the product of both
// scales. A bias that they do not reach remains as it is.
func (e *editor) bias(n *graph.Node, l *linear, x point) {
	if len(n.Inputs) < 3 || e.constants[n.Inputs[2]] == nil {
		return
	}
	name := n.Inputs[2]
	b, scales := e.constants[name].Tensor.Aligned(), tensor.View[float32](l.scales.Aligned())
	if b.DType() != tensor.F32 || len(b.Shape()) != 1 || b.Len() != len(scales) {
		return
	}
	codes, steps := tensor.New(tensor.I32, b.Len()), tensor.New(tensor.F32, b.Len())
	for i, v := range tensor.View[float32](b) {
		step := x.scale * scales[i]
		code := math.RoundToEven(float64(v) / float64(step))
		if !(math.Abs(code) <= math.MaxInt32) {
			return
		}
		tensor.View[float32](steps)[i], tensor.View[int32](codes)[i] = step, int32(code)
	}
	node := &graph.Node{Name: e.names.New(name + "_dequantize"), Op: "DequantizeLinear", Version: e.version(),
		Attrs: []*graph.Attr{graph.IntAttr("axis", 0)},
		Inputs: []string{
			e.constant(&graph.Initializer{Name: name + "_codes", Tensor: codes}),
			e.constant(&graph.Initializer{Name: name + "_scales", Tensor: steps}),
			e.constant(&graph.Initializer{Name: name + "_zeros", Tensor: tensor.New(tensor.I32, b.Len())}),
		},
		Outputs: []string{e.names.New(name + "_float")}}
	e.nodes = append(e.nodes, node)
	n.Inputs[2] = node.Outputs[0]
}

// saturates reports whether two products of codes of a row with codes of uint8 may leave 16 bits.
func saturates(row []int8) bool {
	var above, below [2]int // the two largest magnitudes of each sign
	for _, c := range row {
		m, list := int(c), &above
		if c < 0 {
			m, list = -m, &below
		}
		switch {
		case m > list[0]:
			list[0], list[1] = m, list[0]
		case m > list[1]:
			list[1] = m
		}
	}
	return 255*max(above[0]+above[1], below[0]+below[1]) > math.MaxInt16
}

// warnSaturation tells that other runtimes add products in 16 bits.
func (e *editor) warnSaturation() {
	if e.saturating > 0 {
		e.report.Warnings = append(e.report.Warnings, fmt.Sprintf(
			"pairs of products with %d of the weights may leave 16 bits: Nacre adds them in 32, but other runtimes saturate "+
				"on x86 processors without VNNI; --reduce-range avoids that", e.saturating))
	}
}
