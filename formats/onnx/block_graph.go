package onnx

import (
	"slices"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// microsoft is the domain of the operators that ONNX Runtime adds to the standard's.
const microsoft = "com.microsoft"

// packBlocks makes nodes of g read matrices in blocks as codes with scales: a Gemm becomes
// MatMulNBits, and a Gather with rows that are cast becomes GatherBlockQuantized. Where another node
// reads a tensor in blocks, or its type has no row in blockTypes, the tensor becomes float32, if o
// has Widened. packBlocks returns the new constants.
func packBlocks(g *graph.Graph, o container.Options) []*graph.Initializer {
	p := &blockPacker{graph: g, weights: map[string]*graph.Initializer{}, vectors: map[string]bool{}, casts: map[string]string{}, readers: map[string][]*graph.Node{},
		escaping: map[string]bool{}, codes: map[string]*packedMatrix{}}
	for _, init := range g.Initializers {
		if init.Tensor.DType().Blocks() != nil {
			p.weights[init.Name] = init
		}
		p.vectors[init.Name] = len(init.Tensor.Shape()) == 1
	}
	if len(p.weights) == 0 || len(g.Nodes) == 0 {
		return g.Initializers
	}
	p.names = graph.NamesOf(g)
	p.index()
	p.rewrite()
	list := p.added
	for _, init := range g.Initializers {
		switch {
		case p.weights[init.Name] == nil:
			list = append(list, init)
		case !p.isRead(init.Name):
		case o.Widened == nil:
			list = append(list, init) // Target refuses it
		default:
			o.Widened(init.Name, init.Tensor.DType())
			list = append(list, &graph.Initializer{Name: init.Name, Tensor: widened(init.Tensor), Doc: init.Doc, Meta: init.Meta})
		}
	}
	return list
}

// widened returns the elements of blocks as float32.
func widened(t *tensor.Tensor) *tensor.Tensor {
	return tensor.Derive(tensor.F32, t.Shape(), func(out []byte) {
		all := blockCodes{of: t.DType().Blocks()}
		to, err := tensor.FromBytes(tensor.F32, t.Shape(), out)
		if err != nil {
			panic(err) // the size is right
		}
		list := tensor.View[float32](to)
		all.each(t.Bytes(), nil, func(i int, y []float32) { copy(list[i*len(y):], y) })
		t.Forget()
	})
}

// blockPacker rewrites the nodes of a graph.
type blockPacker struct {
	graph    *graph.Graph
	weights  map[string]*graph.Initializer // in blocks
	vectors  map[string]bool               // constants with one axis, and the casts of them
	casts    map[string]string             // weights by the value that a Cast to float32 makes of them
	readers  map[string][]*graph.Node
	escaping map[string]bool // outputs of the graph, and values that bodies read
	names    *graph.Names
	codes    map[string]*packedMatrix
	added    []*graph.Initializer
}

// packedMatrix is the constants of a matrix of codes.
type packedMatrix struct {
	*blockCodes
	n, k          int
	codes, scales string
}

// index reads who reads what.
func (p *blockPacker) index() {
	for _, v := range p.graph.Outputs {
		p.escaping[v.Name] = true
	}
	for _, n := range p.graph.Nodes {
		for _, name := range n.Inputs {
			p.readers[name] = append(p.readers[name], n)
		}
		for _, name := range n.Captured() {
			p.escaping[name] = true
		}
		if isCast(n) {
			p.vectors[n.Outputs[0]] = p.vectors[n.Inputs[0]]
			if p.weights[n.Inputs[0]] != nil {
				p.casts[n.Outputs[0]] = n.Inputs[0]
			}
		}
	}
}

// isCast reports whether a node makes float32 of a value.
func isCast(n *graph.Node) bool {
	to := n.Attr("to")
	return n.Domain == "" && n.Op == "Cast" && len(n.Inputs) == 1 && len(n.Outputs) == 1 && to != nil && to.Int == int64(tensor.F32.Code())
}

// isRead reports whether anything reads a value.
func (p *blockPacker) isRead(name string) bool { return p.escaping[name] || len(p.readers[name]) > 0 }

// rewrite replaces nodes, and removes the casts that nothing reads afterwards.
func (p *blockPacker) rewrite() {
	var list []*graph.Node
	for _, n := range p.graph.Nodes {
		switch by := p.instead(n); {
		case by == nil:
			list = append(list, n)
		default:
			for _, name := range n.Inputs {
				if i := slices.Index(p.readers[name], n); i >= 0 {
					p.readers[name] = slices.Delete(p.readers[name], i, i+1)
				}
			}
			list = append(list, by...)
		}
	}
	p.graph.Nodes = slices.DeleteFunc(list, func(n *graph.Node) bool {
		if len(n.Outputs) != 1 || p.casts[n.Outputs[0]] == "" || p.isRead(n.Outputs[0]) {
			return false
		}
		weight := n.Inputs[0]
		p.readers[weight] = slices.DeleteFunc(p.readers[weight], func(r *graph.Node) bool { return r == n })
		return true
	})
}

// instead returns the nodes that take the place of n, or nil if it stays.
func (p *blockPacker) instead(n *graph.Node) []*graph.Node {
	switch {
	case n.Domain != "":
		return nil
	case n.Op == "Gemm":
		return p.product(n)
	case n.Op == "Gather":
		return p.table(n)
	}
	return nil
}

// matrix returns the codes of a weight, or nil if ONNX has no form of them.
func (p *blockPacker) matrix(name string) *packedMatrix {
	if m, ok := p.codes[name]; ok || p.weights[name] == nil {
		return m
	}
	w := p.weights[name].Tensor
	c, shape := codesOf(w.DType().Blocks()), w.Shape()
	var m *packedMatrix
	if c != nil && len(shape) == 2 && w.Len() > 0 {
		m = &packedMatrix{blockCodes: c, n: shape[0], k: shape[1]}
		m.scales = p.constant(name+".scales", c.scales(w))
	}
	p.codes[name] = m
	return m
}

// constant adds a constant and returns its name.
func (p *blockPacker) constant(like string, t *tensor.Tensor) string {
	name := p.names.New(like)
	p.added = append(p.added, &graph.Initializer{Name: name, Tensor: t})
	return name
}

// product returns the MatMulNBits in place of a Gemm.
func (p *blockPacker) product(n *graph.Node) []*graph.Node {
	if len(n.Inputs) < 2 || len(n.Attrs) != 1 || n.Attrs[0].Name != "transB" || n.Attrs[0].Int == 0 {
		return nil
	}
	name := p.casts[n.Inputs[1]]
	if name == "" || p.casts[n.Inputs[0]] != "" || len(n.Inputs) > 2 && n.Inputs[2] != "" && !p.vectors[n.Inputs[2]] {
		return nil
	}
	m := p.matrix(name)
	if m == nil {
		return nil
	}
	inputs := []string{n.Inputs[0], p.packed(m, name), m.scales}
	if len(n.Inputs) > 2 && n.Inputs[2] != "" {
		inputs = append(inputs, "", "", n.Inputs[2])
	}
	return []*graph.Node{{Name: n.Name, Domain: microsoft, Op: "MatMulNBits", Version: 1, Inputs: inputs, Outputs: n.Outputs, Doc: n.Doc,
		Meta: n.Meta, Attrs: []*graph.Attr{graph.IntAttr("K", int64(m.k)), graph.IntAttr("N", int64(m.n)), graph.IntAttr("bits", int64(m.bits)),
			graph.IntAttr("block_size", int64(m.block))}}}
}

// packed returns the codes of a weight as MatMulNBits takes them.
func (p *blockPacker) packed(m *packedMatrix, name string) string {
	if m.codes == "" {
		m.codes = p.constant(name+".codes", m.blockCodes.codes(p.weights[name].Tensor, tensor.Shape{m.n, m.k / m.block, m.block / 8 * m.bits}))
	}
	return m.codes
}

// rows returns the codes of a weight as GatherBlockQuantized takes them, and the nodes that make
// them. If a product reads the weight too, both read one constant.
func (p *blockPacker) rows(m *packedMatrix, name string) (rows string, by []*graph.Node) {
	row := m.k / 8 * m.bits
	for cast, weight := range p.casts {
		if weight != name || !p.isRead(cast) {
			continue
		}
		shape := tensor.New(tensor.I64, 2)
		copy(tensor.View[int64](shape), []int64{int64(m.n), int64(row)})
		rows = p.names.New(name + ".rows")
		return rows, []*graph.Node{{Name: rows, Op: "Reshape", Version: p.version(), Outputs: []string{rows},
			Inputs: []string{p.packed(m, name), p.constant(name+".shape", shape)}}}
	}
	return p.constant(name+".rows", m.blockCodes.codes(p.weights[name].Tensor, tensor.Shape{m.n, row})), nil
}

// version returns the version of the standard's operators.
func (p *blockPacker) version() int {
	i := slices.IndexFunc(p.graph.Nodes, func(n *graph.Node) bool { return n.Domain == "" })
	return p.graph.Nodes[i].Version
}

// table returns the GatherBlockQuantized in place of a Gather. Its rows are float32, so that the
// casts after it change nothing.
func (p *blockPacker) table(n *graph.Node) []*graph.Node {
	if len(n.Inputs) != 2 || p.weights[n.Inputs[0]] == nil || len(n.Attrs) > 0 && (len(n.Attrs) > 1 || n.Attrs[0].Name != "axis" || n.Attrs[0].Int != 0) {
		return nil
	}
	out := n.Outputs[0]
	if p.escaping[out] || slices.ContainsFunc(p.readers[out], func(r *graph.Node) bool { return !isCast(r) }) {
		return nil
	}
	m := p.matrix(n.Inputs[0])
	if m == nil {
		return nil
	}
	table, by := p.rows(m, n.Inputs[0])
	p.graph.Values = slices.DeleteFunc(slices.Clone(p.graph.Values), func(v *graph.Value) bool { return v.Name == out })
	return append(by, &graph.Node{Name: n.Name, Domain: microsoft, Op: "GatherBlockQuantized", Version: 1, Inputs: []string{table, n.Inputs[1], m.scales},
		Outputs: n.Outputs, Doc: n.Doc, Meta: n.Meta, Attrs: []*graph.Attr{graph.IntAttr("gather_axis", 0), graph.IntAttr("quantize_axis", 1),
			graph.IntAttr("block_size", int64(m.block)), graph.IntAttr("bits", int64(m.bits))}})
}
