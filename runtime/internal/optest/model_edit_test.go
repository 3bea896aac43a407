package optest

import (
	"fmt"
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// A script chooses the edits of a mutant. At its end it chooses 0.
type script struct {
	data []byte
	made int // number of names made
}

func (s *script) ended() bool { return len(s.data) == 0 }

// pick returns a number from 0 to n-1.
func (s *script) pick(n int) int {
	if len(s.data) == 0 || n <= 1 {
		return 0
	}
	v := int(s.data[0])
	s.data = s.data[1:]
	if n > 256 && len(s.data) > 0 {
		v, s.data = v<<8|int(s.data[0]), s.data[1:]
	}
	return v % n
}

func oneOf[T any](s *script, list []T) T { return list[s.pick(len(list))] }

func (s *script) name() string {
	s.made++
	return fmt.Sprint("m", s.made)
}

// ints and floats are numbers at which operators have their limits.
var (
	ints = []int64{0, 1, 2, -1, 3, -2, 4, 7, 8, 16, 100, 255, 256, 1 << 31, -1 << 31, 1 << 40, math.MaxInt64,
		math.MinInt64, math.MaxInt64 - 1, math.MinInt64 + 1}
	floats = []float64{0, 1, -1, 0.5, 2, 1e-5, 1e5, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat32,
		-math.MaxFloat32, 1e-45}
	texts = []string{"", "x", "SAME_UPPER", "SAME_LOWER", "VALID", "linear", "cubic", "nearest", "constant", "reflect",
		"edge", "wrap", "NOTSET", "add", "tanh", "Relu", "DCR", "bilinear", "\x1b", "ij,jk->ik"}
)

// graphOf returns a graph of the model: the main graph, or one inside it.
func graphOf(s *script, g *graph.Graph) *graph.Graph {
	var inner []*graph.Graph
	for _, n := range g.Nodes {
		for _, a := range n.Attrs {
			if a.Graph != nil {
				inner = append(inner, a.Graph)
			}
		}
	}
	if len(inner) > 0 && s.pick(3) == 1 {
		return graphOf(s, oneOf(s, inner))
	}
	return g
}

// edit changes a model in one place.
func (m *mutant) edit(s *script) {
	g := graphOf(s, m.model.Graph)
	if len(g.Nodes) == 0 {
		return
	}
	at := s.pick(len(g.Nodes))
	n := g.Nodes[at]
	edits := []func(){
		func() { m.editAttr(s, n) },
		func() { m.editAttr(s, n) },
		func() { m.editInputs(s, g, n) },
		func() { m.editOutputs(s, g, n) },
		func() { m.editOp(s, n) },
		func() { n.Version = s.pick(30) },
		func() { m.editType(s, g) },
		func() { m.editConstant(s, g) },
		func() { m.editConstant(s, g) },
		func() { m.insert(s, g, at) },
		func() { m.insert(s, g, at) },
		func() { m.follow(s, g, at) },
		func() { m.follow(s, g, at) },
		func() { m.follow(s, g, at) },
		func() { m.twice(s, g, at) },
		func() { m.wrap(s, g, at) },
		func() { m.fix(s, g) },
		func() { g.Nodes[at], g.Nodes[0] = g.Nodes[0], g.Nodes[at] },
		func() { m.fix(s, g) },
		func() { m.declare(s, g) },
	}
	edits[s.pick(len(edits))]()
}

func (m *mutant) editAttr(s *script, n *graph.Node) {
	if len(n.Attrs) == 0 || s.pick(8) == 1 {
		name := oneOf(s, []string{"axis", "axes", "keepdims", "transB", "alpha", "to", "mode", "perm", "strides", "value"})
		n.Attrs = append(n.Attrs, []*graph.Attr{
			graph.IntAttr(name, oneOf(s, ints)), graph.FloatAttr(name, float32(oneOf(s, floats))), graph.StringAttr(name, oneOf(s, texts)),
			graph.IntsAttr(name, oneOf(s, ints)),
		}[s.pick(4)])
		return
	}
	i := s.pick(len(n.Attrs))
	a := n.Attrs[i]
	switch s.pick(6) {
	case 0:
		n.Attrs = slices.Delete(n.Attrs, i, i+1)
		return
	case 1:
		a.Kind = graph.AttrKind(s.pick(int(graph.AttrTypes) + 1))
		if a.Kind == graph.AttrGraph || a.Kind == graph.AttrTensor || a.Kind == graph.AttrSparse || a.Kind == graph.AttrType {
			a.Kind = graph.AttrInt
		}
		return
	}
	switch a.Kind {
	case graph.AttrInt:
		if a.Int += int64(s.pick(3)) - 1; s.pick(2) == 1 {
			a.Int = oneOf(s, ints)
		}
	case graph.AttrFloat:
		a.Float = float32(oneOf(s, floats))
	case graph.AttrString:
		a.Str = []byte(oneOf(s, texts))
	case graph.AttrInts:
		a.Ints = changedList(s, a.Ints, ints)
	case graph.AttrFloats:
		wide := make([]float32, len(floats))
		for i, v := range floats {
			wide[i] = float32(v)
		}
		a.Floats = changedList(s, a.Floats, wide)
	case graph.AttrStrings:
		a.Strs = changedList(s, a.Strs, [][]byte{nil, []byte("x"), []byte("Tanh")})
	case graph.AttrTensor:
		if a.Tensor != nil {
			a.Tensor = changedTensor(s, a.Tensor)
		}
	}
}

// changedList changes, adds or removes an element.
func changedList[T any](s *script, list []T, values []T) []T {
	list = slices.Clone(list)
	switch k := s.pick(4); {
	case k == 0 || len(list) == 0:
		return append(list, oneOf(s, values))
	case k == 1:
		i := s.pick(len(list))
		return slices.Delete(list, i, i+1)
	}
	list[s.pick(len(list))] = oneOf(s, values)
	return list
}

// values returns the names defined in g before a node, and the inputs and initializers of the main
// graph.
func (m *mutant) values(g *graph.Graph, before int) []string {
	var list []string
	for _, h := range []*graph.Graph{g, m.model.Graph} {
		for _, v := range h.Inputs {
			list = append(list, v.Name)
		}
		for _, v := range h.Initializers {
			list = append(list, v.Name)
		}
	}
	for _, n := range g.Nodes[:before] {
		for _, name := range n.Outputs {
			if name != "" {
				list = append(list, name)
			}
		}
	}
	return list
}

func (m *mutant) editInputs(s *script, g *graph.Graph, n *graph.Node) {
	list := m.values(g, slices.Index(g.Nodes, n))
	if len(n.Inputs) == 0 || s.pick(5) == 0 {
		if len(list) > 0 {
			n.Inputs = append(n.Inputs, oneOf(s, list))
		}
		return
	}
	i := s.pick(len(n.Inputs))
	switch k := s.pick(4); {
	case k == 0:
		n.Inputs = n.Inputs[:len(n.Inputs)-1]
	case k == 1:
		n.Inputs[i] = ""
	case k == 2:
		n.Inputs[i], n.Inputs[0] = n.Inputs[0], n.Inputs[i]
	case len(list) > 0:
		n.Inputs[i] = oneOf(s, list)
	}
}

func (m *mutant) editOutputs(s *script, g *graph.Graph, n *graph.Node) {
	i := s.pick(max(len(n.Outputs), 1))
	switch k := s.pick(4); {
	case k == 3 && len(n.Outputs) > 0:
		name := n.Outputs[i]
		n.Outputs[i] = ""
		g.Outputs = slices.DeleteFunc(g.Outputs, func(v *graph.Value) bool { return v.Name == name })
	case k == 0 || len(n.Outputs) == 0:
		n.Outputs = append(n.Outputs, s.name())
	case k == 1 && len(n.Outputs) > 1:
		n.Outputs = n.Outputs[:len(n.Outputs)-1]
		g.Outputs = slices.DeleteFunc(g.Outputs,
			func(v *graph.Value) bool { return v.Name != "" && !slices.Contains(m.values(g, len(g.Nodes)), v.Name) })
	case n.Outputs[i] != "":
		g.Outputs = append(g.Outputs, &graph.Value{Name: n.Outputs[i]})
	}
}

func (m *mutant) editOp(s *script, n *graph.Node) {
	rows := tableRows()
	row := rows[s.pick(len(rows))]
	n.Op, n.Domain, n.Version = row.Name, row.Domain, oneOf(s, row.Since)
}

func (m *mutant) editType(s *script, g *graph.Graph) {
	if len(g.Inputs) == 0 {
		return
	}
	v := oneOf(s, g.Inputs)
	switch k := s.pick(5); {
	case k == 0:
		v.Type.DType = oneOf(s, tensor.DTypes())
	case k == 1:
		v.Type.Dims = nil
	case k == 2:
		v.Type.Dims = append(v.Type.Dims, graph.Known(1+s.pick(3)))
	case len(v.Type.Dims) > 0 && k == 3:
		v.Type.Dims[s.pick(len(v.Type.Dims))] = graph.Symbol(oneOf(s, []string{"n", "m"}))
	case len(v.Type.Dims) > 0:
		v.Type.Dims[s.pick(len(v.Type.Dims))] = graph.Known(s.pick(4))
	}
}

func (m *mutant) editConstant(s *script, g *graph.Graph) {
	if len(g.Initializers) == 0 {
		return
	}
	i := s.pick(len(g.Initializers))
	g.Initializers[i] = &graph.Initializer{Name: g.Initializers[i].Name,
		Tensor: changedTensor(s, g.Initializers[i].Tensor)}
}

// changedTensor changes an element, the extents or the type of a tensor.
func changedTensor(s *script, t *tensor.Tensor) *tensor.Tensor {
	d, shape := t.DType(), slices.Clone(t.Shape())
	switch k := s.pick(6); {
	case k == 0:
		d = oneOf(s, tensor.DTypes())
	case k == 1:
		shape = append(shape, 1+s.pick(2))
	case k == 2 && len(shape) > 0:
		shape[s.pick(len(shape))] = s.pick(4)
	case k == 3 && len(shape) > 0:
		shape = shape[1:]
	default:
		list, ok := kit.Numbers(t)
		if !ok || len(list) == 0 {
			return t
		}
		list = slices.Clone(list)
		at := s.pick(len(list))
		if list[at] += float64(s.pick(3)) - 1; s.pick(2) == 1 {
			if list[at] = float64(oneOf(s, ints)); !d.IsInteger() {
				list[at] = oneOf(s, floats)
			}
		}
		t = tensor.New(d, shape...)
		kit.SetNumbers(t, list)
		return t
	}
	if shape.Check() != nil || shape.Len() > 1<<14 {
		return t
	}
	return filled(d, shape)
}

// filled returns a tensor of small, differing numbers.
func filled(d tensor.DType, shape tensor.Shape) *tensor.Tensor {
	t := tensor.New(d, shape...)
	list := make([]float64, shape.Len())
	for i := range list {
		list[i] = float64(i*7%5) * 0.5
		if d.IsInteger() || d == tensor.Bool {
			list[i] = float64(i * 7 % 2)
		}
	}
	for i := range t.Strings() {
		t.Strings()[i] = texts[i%3]
	}
	kit.SetNumbers(t, list)
	return t
}

// inserts lists nodes to put between a value and its reader.
var inserts = []graph.Node{
	{Op: "Identity", Version: 13}, {Op: "Identity", Version: 16, Attrs: []*graph.Attr{graph.IntAttr("axis", 1)}}, {Op: "Neg", Version: 13}, {Op: "Abs", Version: 13},
	{Op: "Cast", Version: 13, Attrs: []*graph.Attr{graph.IntAttr("to", 1)}}, {Op: "Cast", Version: 13, Attrs: []*graph.Attr{graph.IntAttr("to", 7)}},
	{Op: "Cast", Version: 13, Attrs: []*graph.Attr{graph.IntAttr("to", 10)}}, {Op: "Transpose", Version: 13}, {Op: "Relu", Version: 14}, {Op: "Shape", Version: 15},
	{Op: "Flatten", Version: 13, Attrs: []*graph.Attr{graph.IntAttr("axis", 1)}}, {Op: "Squeeze", Version: 11}, {Op: "Dropout", Version: 13}, {Op: "Sigmoid", Version: 13},
	{Op: "Softmax", Version: 13}, {Op: "Concat", Version: 13, Attrs: []*graph.Attr{graph.IntAttr("axis", 0)}}, {Op: "Concat", Version: 13}, {Op: "Sum", Version: 13},
	{Op: "ReduceSum", Version: 13}, {Op: "ReduceMax", Version: 13, Attrs: []*graph.Attr{graph.IntAttr("keepdims", 2)}}, {Op: "Size", Version: 13}, {Op: "IsNaN", Version: 13},
	{Op: "DynamicQuantizeLinear", Version: 11}, {Op: "Exp", Version: 13}, {Op: "Tanh", Version: 13}, {Op: "Unsqueeze", Version: 11, Attrs: []*graph.Attr{graph.IntsAttr("axes", 0)}},
	{Op: "Strange", Version: 1}, {Op: "Max", Version: 13}, {Op: "Pad", Version: 2, Attrs: []*graph.Attr{graph.IntsAttr("pads")}}, {Op: "Gelu", Version: 20},
}

// insert puts a node before an input of a node.
func (m *mutant) insert(s *script, g *graph.Graph, at int) {
	n := g.Nodes[at]
	if len(n.Inputs) == 0 {
		return
	}
	i := s.pick(len(n.Inputs))
	if n.Inputs[i] == "" {
		return
	}
	by := copiedNode(&inserts[s.pick(len(inserts))])
	by.Inputs, by.Outputs = []string{n.Inputs[i]}, []string{s.name()}
	n.Inputs[i] = by.Outputs[0]
	g.Nodes = slices.Insert(g.Nodes, at, by)
}

// binary lists operators with two operands.
var binary = []string{"Add", "Mul", "Sub", "Div", "MatMul", "Max", "Equal", "Pow", "Less"}

// follow adds a node that reads an output of node at, and makes its result an output of the graph.
func (m *mutant) follow(s *script, g *graph.Graph, at int) {
	n := g.Nodes[at]
	if len(n.Outputs) == 0 || n.Outputs[0] == "" {
		return
	}
	by := copiedNode(&inserts[s.pick(len(inserts))])
	if by.Inputs = []string{n.Outputs[0]}; s.pick(2) == 1 {
		*by = graph.Node{Op: oneOf(s, binary), Version: 14,
			Inputs: []string{n.Outputs[0], oneOf(s, append(m.values(g, at), n.Outputs[0]))}}
	}
	by.Outputs = []string{s.name()}
	g.Nodes = slices.Insert(g.Nodes, at+1, by)
	out := &graph.Value{Name: by.Outputs[0]}
	if i := slices.IndexFunc(g.Outputs, func(v *graph.Value) bool { return v.Name == n.Outputs[0] }); i >= 0 &&
		s.pick(3) > 0 {
		g.Outputs[i] = out
	} else if s.pick(2) == 1 && g == m.model.Graph {
		g.Outputs = append(g.Outputs, out)
	}
}

// twice adds a copy of a node, and the sum of both.
func (m *mutant) twice(s *script, g *graph.Graph, at int) {
	n := copiedNode(g.Nodes[at])
	if len(n.Outputs) == 0 || n.Outputs[0] == "" {
		return
	}
	first := n.Outputs[0]
	for i, name := range n.Outputs {
		if name != "" {
			n.Outputs[i] = s.name()
		}
	}
	if s.pick(2) == 1 {
		m.editAttr(s, n)
	}
	sum := &graph.Node{Op: oneOf(s, binary), Version: 14, Inputs: []string{first, n.Outputs[0]},
		Outputs: []string{s.name()}}
	g.Nodes = slices.Insert(g.Nodes, at+1, n, sum)
	if g == m.model.Graph {
		g.Outputs = append(g.Outputs, &graph.Value{Name: sum.Outputs[0]})
	}
}

// wrap puts a node into a graph of If or Loop.
func (m *mutant) wrap(s *script, g *graph.Graph, at int) {
	n := g.Nodes[at]
	if len(n.Outputs) == 0 || slices.Contains(n.Outputs, "") {
		return
	}
	body := &graph.Graph{Name: "body", Nodes: []*graph.Node{n}}
	by := &graph.Node{Version: 16, Outputs: n.Outputs}
	inner := copiedNode(n)
	body.Nodes[0] = inner
	for i := range inner.Outputs {
		inner.Outputs[i] = s.name()
		body.Outputs = append(body.Outputs, &graph.Value{Name: inner.Outputs[i]})
	}
	constant := func(t *tensor.Tensor) string {
		name := s.name()
		switch s.pick(3) {
		case 0:
			g.Initializers = append(g.Initializers, &graph.Initializer{Name: name, Tensor: t})
		case 1:
			g.Nodes = slices.Insert(g.Nodes, 0, &graph.Node{Op: "Constant", Version: 13, Outputs: []string{name},
				Attrs: []*graph.Attr{graph.TensorAttr("value", t)}})
		default:
			m.model.Graph.Inputs = append(m.model.Graph.Inputs,
				&graph.Value{Name: name, Type: graph.TensorOf(t.DType(), graph.DimsOf(t.Shape()))})
			m.feeds[name] = t
		}
		return name
	}
	condition := tensor.New(tensor.Bool)
	condition.Bytes()[0] = byte(s.pick(2))
	if s.pick(2) == 0 {
		other := copiedGraph(body)
		for i, k := range other.Nodes {
			for j := range k.Outputs {
				k.Outputs[j] = s.name()
				other.Outputs[j].Name = k.Outputs[j]
			}
			m.editAttr(s, other.Nodes[i])
		}
		by.Op, by.Inputs = "If", []string{constant(condition)}
		by.Attrs = []*graph.Attr{graph.GraphAttr("then_branch", body), graph.GraphAttr("else_branch", other)}
	} else {
		again, i := s.name(), s.name()
		body.Inputs = []*graph.Value{{Name: i, Type: graph.TensorOf(tensor.I64, graph.Dims{})},
			{Name: again, Type: graph.TensorOf(tensor.Bool, graph.Dims{})}}
		body.Outputs = slices.Insert(body.Outputs, 0, &graph.Value{Name: again})
		trips := tensor.New(tensor.I64)
		tensor.View[int64](trips)[0] = int64(s.pick(3))
		by.Op, by.Inputs, by.Attrs = "Loop", []string{constant(trips), ""}, []*graph.Attr{graph.GraphAttr("body", body)}
	}
	if at := slices.Index(g.Nodes, n); at >= 0 {
		g.Nodes[at] = by
	}
}

// fix makes an input a constant, or a constant an input.
func (m *mutant) fix(s *script, g *graph.Graph) {
	if g != m.model.Graph {
		return
	}
	if len(g.Initializers) > 0 && s.pick(2) == 1 {
		i := s.pick(len(g.Initializers))
		init := g.Initializers[i]
		if slices.ContainsFunc(g.Inputs, func(v *graph.Value) bool { return v.Name == init.Name }) {
			return
		}
		g.Initializers = slices.Delete(g.Initializers, i, i+1)
		g.Inputs = append(g.Inputs, &graph.Value{Name: init.Name,
			Type: graph.TensorOf(init.Tensor.DType(), graph.DimsOf(init.Tensor.Shape()))})
		m.feeds[init.Name] = init.Tensor
		return
	}
	if len(g.Inputs) > 0 {
		i := s.pick(len(g.Inputs))
		if t, ok := m.feeds[g.Inputs[i].Name].(*tensor.Tensor); ok {
			g.Initializers = append(g.Initializers, &graph.Initializer{Name: g.Inputs[i].Name, Tensor: t})
			if s.pick(4) > 0 {
				g.Inputs = slices.Delete(g.Inputs, i, i+1)
			}
		}
	}
}

// declare declares the type of a value.
func (m *mutant) declare(s *script, g *graph.Graph) {
	list := slices.Concat(m.values(g, len(g.Nodes)))
	if len(list) == 0 {
		return
	}
	t := graph.TensorOf(oneOf(s, tensor.DTypes()), nil)
	if s.pick(2) == 1 {
		t.Dims = graph.Dims{graph.Known(s.pick(4)), graph.Symbol("n")}
	}
	if len(g.Outputs) > 0 && s.pick(2) == 1 {
		oneOf(s, g.Outputs).Type = t
		return
	}
	g.Values = append(g.Values, &graph.Value{Name: oneOf(s, list), Type: t})
}
