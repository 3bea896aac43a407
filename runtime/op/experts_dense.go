package op

import (
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// denseExperts is experts whose weights are floats.
type denseExperts struct {
	experts
	products [3]multiplier
}

// Inputs of layer i: weights [experts,out,in] and bias [experts,out].
func denseInputs(i int) (weights, bias int) { return 2 + 2*i, 3 + 2*i }

func newDenseExperts(n *Node) (Op, error) {
	e, err := readExperts(n, n.HasIn(6))
	e.all = true
	return &denseExperts{experts: e}, err
}

// Infer keeps the input's shape.
func (o *denseExperts) Infer(c *Infer) error {
	for i := 2; i < len(c.In); i++ {
		if c.Has(i) && c.In[i].DType != c.In[0].DType {
			return graph.Mark(graph.ErrShape, "input %d is %v, the rows are %v", i, c.In[i].Type, c.In[0].Type)
		}
	}
	return o.infer(c)
}

// Prepare chooses the kernels and packs constant weights.
func (o *denseExperts) Prepare(c *Prepare) error {
	if err := o.prepare(c); err != nil {
		return err
	}
	for i := range o.products {
		if err := o.products[i].prepare(c); err != nil {
			return err
		}
		w, _ := denseInputs(i)
		if err := o.products[i].packRight(c, w, true); err != nil {
			return err
		}
	}
	return nil
}

// Describe names the kernels.
func (o *denseExperts) Describe() string { return o.products[0].describe() }

// Run computes the output.
func (o *denseExperts) Run(c *Run) error {
	first, second := c.In[2].Shape(), c.In[4].Shape()
	if len(first) != 3 || len(second) != 3 || c.In[2].Len() == 0 || c.In[4].Len() == 0 {
		return graph.Mark(graph.ErrShape, "weights are %v and %v, not [experts,out,in]", c.In[2], c.In[4])
	}
	m := &mixture{experts: first[0], size: fromEnd(c.In[0].Shape(), 1), deep: second[2]}
	for i, extents := range [][2]int{{m.deep * o.fused(), m.size}, {m.size, m.deep}, {m.deep, m.size}} {
		w, b := denseInputs(i)
		if !c.Has(w) {
			if c.Has(b) {
				return graph.Mark(graph.ErrFormat, "input %d is a bias of weights that are left out", b)
			}
			continue
		}
		l := &denseLayer{product: &o.products[i], weights: c.In[w], out: extents[0], in: extents[1]}
		if want := (tensor.Shape{m.experts, l.out, l.in}); !l.weights.Shape().Equal(want) {
			return graph.Mark(graph.ErrShape, "input %d is %v, not of shape %v", w, l.weights, want)
		}
		var err error
		if l.bias, err = expertBias(c, b, m.experts, l.out); err != nil {
			return err
		}
		m.layers[i] = l
	}
	return o.run(c, m)
}

// expertBias returns the numbers of input i, [experts,out], or nil.
func expertBias(c *Run, i, experts, out int) ([]float32, error) {
	if !c.Has(i) {
		return nil, nil
	}
	if want := (tensor.Shape{experts, out}); !c.In[i].Shape().Equal(want) {
		return nil, graph.Mark(graph.ErrShape, "input %d is %v, not of shape %v", i, c.In[i], want)
	}
	return c.floats(c.In[i])
}

// biasOf is that of one expert.
func biasOf(bias []float32, expert, out int) []float32 {
	if bias == nil {
		return nil
	}
	return bias[expert*out:][:out]
}

// denseLayer is a layer whose weights are floats.
type denseLayer struct {
	product *multiplier
	weights *tensor.Tensor
	bias    []float32
	out, in int
}

// gemm is the product of m rows, and the weights of an expert.
func (l *denseLayer) gemm(expert, m int) (bindings.Gemm, unsafe.Pointer) {
	d := l.weights.DType()
	g := bindings.Gemm{
		Kernel: l.product.kernel, M: m, N: l.out, K: l.in, LDC: l.out, Alpha: 1,
		A: bindings.Operand{Type: bindings.Float32, Row: l.in, Col: 1},
		B: bindings.Operand{Type: floatTypes[d], Row: 1, Col: l.in},
	}
	if packed := l.product.right; packed != nil {
		g.B = bindings.Operand{Packed: true, Type: floatTypes[d]}
		return g, unsafe.Pointer(&packed[expert*d.Bytes(l.product.kernel.PackedB(l.out, l.in))])
	}
	return g, unsafe.Add(l.weights.Pointer(), d.Bytes(expert*l.out*l.in))
}

func (l *denseLayer) scratch(c *Run, m int) int {
	g, _ := l.gemm(0, m)
	return g.Scratch(c.Pool)
}

func (l *denseLayer) multiply(c *Run, expert, m int, a, dst, scratch []float32) {
	g, w := l.gemm(expert, m)
	g.Run(c.Pool, unsafe.Pointer(unsafe.SliceData(a)), w, nil, biasOf(l.bias, expert, l.out), unsafe.Pointer(unsafe.SliceData(dst)), scratch)
}

var expertRows = []Row{
	{Domain: microsoft, Name: "MoE", Since: []int{1}, In: [2]int{5, 8}, Optional: these(3), Out: [2]int{1, 1}, Types: narrowTypes, New: newDenseExperts},
	{Domain: microsoft, Name: "QMoE", Since: []int{1}, In: [2]int{7, 21}, Optional: these(4), Out: [2]int{1, 1}, Types: narrowTypes, New: newLowBitExperts},
}
