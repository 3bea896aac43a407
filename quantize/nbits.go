package quantize

import (
	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

const microsoft = "com.microsoft"

// nbits is a matrix of codes of 2, 4 or 8 bits in blocks with scales.
type nbits struct {
	codes, scales, zeros *graph.Initializer // zeros is nil if codes count from the middle
	names                []string           // of these constants
	refused              bool               // the error is above the limit
}

// nbits makes a product read codes in blocks. It reports whether it added nodes.
func (e *editor) nbits(p product, to Type) (bool, error) {
	n, k := p.size()
	block := e.Block
	if block == 0 {
		block = 32
	}
	if p.table && k%block != 0 {
		e.kept(p, "rows of a table are no multiple of the blocks", 0)
		return false, nil
	}
	key := form{p.weight, p.columns, p.table, to.name}
	m := e.codes[key]
	if m == nil {
		var s sums
		var err error
		if m, s, err = e.encode(p, to, block); err != nil {
			return false, err
		}
		e.codes[key] = m
		if e.KeepAbove > 0 && s.error() > e.KeepAbove {
			m.refused = true
			e.kept(p, "kept: the error as "+to.name+" is above the limit", s.error())
			return false, nil
		}
		if p.table { // rows of codes
			m.codes.Tensor, _ = m.codes.Tensor.Reshape(tensor.Shape{n, m.codes.Tensor.Len() / n})
		}
		for _, x := range []*graph.Initializer{m.codes, m.scales, m.zeros} {
			if err := e.stored(x); err != nil {
				return false, err
			}
		}
		m.names = []string{e.constant(m.codes), e.constant(m.scales)}
		if m.zeros != nil {
			m.names = append(m.names, e.constant(m.zeros))
		}
		e.changed(p, to, s, m.codes, m.scales, m.zeros)
	}
	if m.refused {
		return false, nil
	}
	e.opset(microsoft)
	node := &graph.Node{Name: p.node.Name, Domain: microsoft, Version: 1, Outputs: p.node.Outputs, Doc: p.node.Doc, Meta: p.node.Meta}
	if p.table {
		node.Op = "GatherBlockQuantized"
		node.Inputs = append([]string{m.names[0], p.node.Inputs[1]}, m.names[1:]...)
		node.Attrs = []*graph.Attr{graph.IntAttr("gather_axis", 0), graph.IntAttr("quantize_axis", 1),
			graph.IntAttr("block_size", int64(block)), graph.IntAttr("bits", int64(to.bits))}
		e.nodes = append(e.nodes, node)
		return true, nil
	}
	node.Op = "MatMulNBits"
	node.Inputs = append([]string{p.node.Inputs[0]}, m.names...)
	node.Attrs = []*graph.Attr{graph.IntAttr("K", int64(k)), graph.IntAttr("N", int64(n)),
		graph.IntAttr("bits", int64(to.bits)), graph.IntAttr("block_size", int64(block))}
	e.nodes = append(e.nodes, node)
	if len(p.node.Inputs) > 2 && p.node.Inputs[2] != "" { // the bias of Gemm
		product := e.names.New(p.node.Outputs[0] + "_product")
		sum := &graph.Node{Name: e.names.New(p.node.Name + "_bias"), Op: "Add", Version: p.node.Version,
			Inputs: []string{product, p.node.Inputs[2]}, Outputs: p.node.Outputs}
		node.Outputs = []string{product}
		e.nodes = append(e.nodes, sum)
	}
	return true, nil
}

// encode returns the codes of a weight.
func (e *editor) encode(p product, to Type, block int) (*nbits, sums, error) {
	n, k := p.size()
	t, bits := p.weight.Tensor, to.bits
	blocks := (k + block - 1) / block
	zeroWidth := (blocks*bits + 7) / 8
	scaleType := t.DType()
	if scaleType == tensor.F64 {
		return nil, sums{}, graph.Errorf(graph.ErrUnsupported,
			"weight %q is float64, and scales of MatMulNBits are float32, float16 or bfloat16; convert the model first", p.weight.Name)
	}
	m := &nbits{
		codes:  &graph.Initializer{Name: p.weight.Name + "_q" + to.name[1:], Tensor: tensor.New(tensor.U8, n, blocks, block/8*bits)},
		scales: &graph.Initializer{Name: p.weight.Name + "_scales", Tensor: tensor.New(scaleType, n, blocks)},
	}
	grid := packed.Integers{Low: -1 << (bits - 1), High: 1<<(bits-1) - 1}
	if e.Asymmetric {
		grid = packed.Integers{Low: 0, High: 1<<bits - 1}
		m.zeros = &graph.Initializer{Name: p.weight.Name + "_zeros", Tensor: tensor.New(tensor.U8, n, zeroWidth)}
	}
	r, err := e.rows(p)
	if err != nil {
		return nil, sums{}, err
	}
	round := elements.Rounding(scaleType)
	r.encode = func(row int, x, w, y []float32) {
		raw := make([]uint8, block)
		for b := range blocks {
			from, to := b*block, min(b*block+block, k)
			var weights []float32
			if w != nil {
				weights = w[from:to]
			}
			scale, zero := gridScale(grid, e.Asymmetric, x[from:to], weights)
			scale = round(scale)
			grid.Codes(raw, x[from:to], scale, zero)
			for i := range y[from:to] {
				y[from+i] = scale * float32(int(raw[i])+grid.Low-zero)
			}
			for i := to - from; i < block; i++ {
				raw[i] = uint8(zero - grid.Low)
			}
			m.put(row, b, scale, zero, raw, bits)
		}
	}
	if h := e.products(p.weight.Name); h != nil && !p.table {
		err := r.compensate(h, block, grid, func(x []float32) (scale float32, zero int) {
			scale, zero = gridScale(grid, e.Asymmetric, x, nil)
			return round(scale), zero
		}, func(row, b int, scale float32, zero int, list []uint8) {
			raw := make([]uint8, block)
			for i := copy(raw, list); i < block; i++ {
				raw[i] = uint8(zero - grid.Low)
			}
			m.put(row, b, scale, zero, raw, bits)
		})
		if err != nil {
			return nil, sums{}, err
		}
	}
	s, err := r.each(e.ctx, e.Threads, e.advance)
	return m, s, err
}

// products returns the means of products of the columns of a weight's input, nil if errors are not
// compensated.
func (j *job) products(weight string) []float64 {
	if !j.Compensate {
		return nil
	}
	return j.Importance.products[weight]
}

// put stores the codes, the scale and the zero point of a block.
func (m *nbits) put(row, b int, scale float32, zero int, codes []uint8, bits int) {
	blocks, bytes := m.codes.Tensor.Shape()[1], m.codes.Tensor.Shape()[2]
	elements.Put(m.scales.Tensor, row*blocks+b, []float32{scale})
	packBits(m.codes.Tensor.Bytes()[(row*blocks+b)*bytes:][:bytes], codes, bits)
	if m.zeros != nil {
		at := b * bits
		m.zeros.Tensor.Bytes()[row*m.zeros.Tensor.Shape()[1]+at/8] |= uint8(zero) << (at % 8)
	}
}

// packBits stores codes, the first in the low bits.
func packBits(dst []byte, codes []uint8, bits int) {
	clear(dst)
	per := 8 / bits
	for i, c := range codes {
		dst[i/per] |= c << (i % per * bits)
	}
}
