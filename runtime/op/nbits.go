package op

import (
	"math/bits"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// lowBits multiplies by weights that stay stored as codes of few bits.
type lowBits struct {
	n, k, block int  // extents of the weights, and values that share a scale
	round       bool // rows may be rounded to whole numbers of 8 bits
	nbits, gemm bindings.Kernel
	rounded     bindings.Kernel
}

// readLowBits reads the attributes that say how weights are stored.
func readLowBits(n *Node) (lowBits, error) {
	o := lowBits{n: n.Int("N", 0), k: n.Int("K", 0), block: n.Int("block_size", 0)}
	if o.n < 1 || o.k < 1 || o.n > maxRange || o.k > maxRange {
		return o, graph.Mark(graph.ErrFormat, "N is %d and K %d; each must be 1 to %d", o.n, o.k, maxRange)
	}
	return o, checkBlock(o.block)
}

func checkBlock(n int) error {
	if n < 16 || n > 1<<30 || bits.OnesCount(uint(n)) != 1 {
		return graph.Mark(graph.ErrFormat, "block_size is %d; it must be a power of two, 16 at least", n)
	}
	return nil
}

// prepare chooses the kernels.
func (o *lowBits) prepare(c *Prepare) (err error) {
	if o.round {
		if o.rounded, err = c.Kernel("i8_nbits"); err != nil {
			return err
		}
	}
	if o.nbits, err = c.Kernel("f32_nbits"); err == nil {
		o.gemm, err = c.Kernel("f32_gemm")
	}
	return err
}

// Describe names the kernels.
func (o *lowBits) Describe() string {
	if o.round {
		return describe(o.rounded)
	}
	return describe(o.nbits, o.gemm)
}

// readRound reads accuracy_level, of which 4 permits rows to be rounded as
// bindings.NBitsGemm.Rounded does. It changes answers, so only a node that says so has
// it; the other levels are lower bounds that floats keep.
func (n *Node) readRound() (bool, error) {
	level := n.Int("accuracy_level", 0)
	if level < 0 || level > 4 {
		return false, graph.Mark(graph.ErrFormat, "accuracy_level is %d, not in 0 to 4", level)
	}
	return level == 4, nil
}

// infer sets the output of a product of rows of that many elements with as many
// columns as it says.
func (o *lowBits) infer(c *Infer, deep, columns int) error {
	a := c.In[0]
	if a.Dims == nil {
		c.Set(0, a.DType, nil)
		return nil
	}
	if len(a.Dims) == 0 {
		return graph.Mark(graph.ErrShape, "A is %v; a scalar has no rows", a.Type)
	}
	last := len(a.Dims) - 1
	if _, ok := joinDim(a.Dims[last], graph.Known(deep)); !ok {
		return graph.Mark(graph.ErrShape, "A is %v; the weights take rows of %d elements", a.Type, deep)
	}
	c.Set(0, a.DType, joinDims(a.Dims[:last], graph.Dims{graph.Known(columns)}))
	return nil
}

// product is what one run multiplies: rows of A, weights and what goes with them.
type lowProduct struct {
	g                    bindings.NBitsGemm
	codes, scales, zeros unsafe.Pointer
	table, bias          []float32
	columns              *columnOrder // of A and of the codes; nil where they lie as given
}

// run computes the output from A, both of which have any narrow float type.
func (o *lowBits) run(c *Run, p *lowProduct) error {
	deep, columns := o.k, o.n
	if p.g.Turned {
		deep, columns = columns, deep
	}
	s := c.In[0].Shape()
	if len(s) == 0 || s[len(s)-1] != deep {
		return graph.Mark(graph.ErrShape, "A is %v; the weights take rows of %d elements", c.In[0], deep)
	}
	shape := s.Clone()
	shape[len(s)-1] = columns
	if _, err := c.output(0, c.In[0].DType(), shape); err != nil {
		return err
	}
	p.g.Kernel, p.g.Gemm, p.g.Rounded = o.nbits, o.gemm, o.rounded
	p.g.N, p.g.K, p.g.Block = o.n, o.k, o.block
	if p.g.M = c.In[0].Len() / deep; p.g.M == 0 {
		return nil
	}
	a, out, err := c.floatsInOut()
	if err != nil {
		return err
	}
	if p.columns != nil {
		p.g.K = len(p.columns.order)
		if a, err = p.columns.rows(c, a, p.g.M, deep); err != nil {
			return err
		}
	}
	scratch, err := c.scratchFloats(p.g.Scratch(c.Pool))
	if err != nil {
		return err
	}
	p.g.Run(c.Pool, p.codes, p.scales, p.zeros, p.table, a, p.bias, out, scratch)
	c.putFloats(c.Out[0], out)
	return nil
}

// matMulNBits is MatMul with weights of 2, 4 or 8 bits, [N,K], whose rows are cut in
// blocks with a scale and a zero point each.
type matMulNBits struct {
	lowBits
	bits    int
	columns *columnOrder
}

func newMatMulNBits(n *Node) (Op, error) {
	w, err := readLowBits(n)
	if err != nil {
		return nil, err
	}
	o := &matMulNBits{lowBits: w, bits: n.Int("bits", 4)}
	if o.bits != 2 && o.bits != 4 && o.bits != 8 {
		return nil, graph.Mark(graph.ErrUnsupported, "weights of %d bits; 2, 4 and 8 are computed", o.bits)
	}
	if o.round, err = n.readRound(); err != nil {
		return nil, err
	}
	if l := n.Int("weight_prepacked", 0); l != 0 {
		return nil, graph.Mark(graph.ErrUnsupported, "weight_prepacked is %d: weights in the layout of one kind of GPU; export them without it", l)
	}
	return o, nil
}

// Infer gives the output A's shape with N columns.
func (o *matMulNBits) Infer(c *Infer) error {
	if c.In[1].DType != tensor.U8 || !isNarrow(c.In[2].DType) {
		return graph.Mark(graph.ErrShape, "B is %v and scales are %v; codes are packed in uint8, scales are floats", c.In[1].Type, c.In[2].Type)
	}
	if c.Has(3) && c.In[3].DType != tensor.U8 && !isNarrow(c.In[3].DType) {
		return graph.Mark(graph.ErrUnsupported, "zero points are %v, neither packed in uint8 nor floats", c.In[3].Type)
	}
	if c.Has(4) && c.In[4].DType != tensor.I32 {
		return graph.Mark(graph.ErrShape, "g_idx is %v, not int32", c.In[4].Type)
	}
	if c.Has(5) && !isNarrow(c.In[5].DType) {
		return graph.Mark(graph.ErrShape, "the bias is %v, not floats", c.In[5].Type)
	}
	return o.infer(c, o.k, o.n)
}

// Prepare chooses the kernels, and sorts constant weights where there is a g_idx.
func (o *matMulNBits) Prepare(c *Prepare) error {
	if err := o.prepare(c); err != nil {
		return err
	}
	return o.orderColumns(c)
}

// Run computes the output.
func (o *matMulNBits) Run(c *Run) error {
	blocks := (o.k-1)/o.block + 1
	p := &lowProduct{g: bindings.NBitsGemm{Bits: o.bits, RowBytes: blocks * (o.block / 8 * o.bits), RowScales: blocks}}
	for _, part := range []struct {
		name  string
		input int
		each  int
	}{{"B", 1, p.g.RowBytes}, {"scales", 2, blocks}} {
		if n := c.In[part.input].Len(); n%part.each != 0 || n/part.each != o.n {
			return graph.Mark(graph.ErrShape, "%s is %v; %d rows of %d are needed", part.name, c.In[part.input], o.n, part.each)
		}
	}
	p.codes = c.In[1].Pointer()
	if err := o.scales(c, p); err != nil {
		return err
	}
	if err := o.groups(c, &p.g); err != nil {
		return err
	}
	if o.columns != nil {
		o.columns.set(p)
	}
	var err error
	if c.Has(5) {
		if c.In[5].Len() != o.n {
			return graph.Mark(graph.ErrShape, "the bias is %v, not of %d elements", c.In[5], o.n)
		}
		p.bias, err = c.floats(c.In[5])
	}
	if err != nil {
		return err
	}
	return o.run(c, p)
}

// scales sets scales and zero points. Kernels take floats of one type for both.
func (o *matMulNBits) scales(c *Run, p *lowProduct) error {
	p.scales, p.g.Type = c.In[2].Pointer(), floatTypes[c.In[2].DType()]
	if !c.Has(3) {
		return nil
	}
	zeros := c.In[3]
	if zeros.DType() == tensor.U8 {
		if row := (p.g.RowScales*o.bits + 7) / 8; zeros.Len() != o.n*row {
			return graph.Mark(graph.ErrShape, "zero points are %v; %d rows of %d bytes are needed", zeros, o.n, row)
		}
		p.zeros, p.g.Zeros = zeros.Pointer(), bindings.NBitsCodes
		return nil
	}
	if zeros.Len() != o.n*p.g.RowScales {
		return graph.Mark(graph.ErrShape, "zero points are %v; %d rows of %d are needed", zeros, o.n, p.g.RowScales)
	}
	p.zeros, p.g.Zeros = zeros.Pointer(), bindings.NBitsFloats
	if zeros.DType() == c.In[2].DType() {
		return nil
	}
	p.g.Type = bindings.Float32
	for i, at := range map[int]*unsafe.Pointer{2: &p.scales, 3: &p.zeros} {
		wide, err := c.floats(c.In[i])
		if err != nil {
			return err
		}
		*at = unsafe.Pointer(unsafe.SliceData(wide))
	}
	return nil
}

// groups sets which block each of the K columns belongs to, where g_idx says so.
func (o *matMulNBits) groups(c *Run, g *bindings.NBitsGemm) error {
	if !c.Has(4) {
		return nil
	}
	list := tensor.View[int32](c.In[4])
	if len(list) != o.k && len(list) != g.RowScales*o.block {
		return graph.Mark(graph.ErrShape, "g_idx is %v, not of %d elements", c.In[4], o.k)
	}
	g.Group = list[:o.k]
	for i, v := range g.Group {
		if v < 0 || int(v) >= g.RowScales {
			return graph.Mark(graph.ErrShape, "element %d of g_idx is %d; there are %d blocks", i, v, g.RowScales)
		}
	}
	return nil
}

var nbitsRows = []Row{
	{Domain: microsoft, Name: "MatMulNBits", Since: []int{1}, In: [2]int{3, 6}, Out: [2]int{1, 1}, Types: narrowTypes, New: newMatMulNBits},
	{Domain: microsoft, Name: "MatMulBnb4", Since: []int{1}, In: [2]int{3, 3}, Out: [2]int{1, 1}, Types: narrowTypes, New: newMatMulBnb4},
}
