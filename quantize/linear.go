package quantize

import (
	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// linear is a weight that DequantizeLinear makes of codes.
type linear struct {
	value   string // the output of the node
	scales  *tensor.Tensor
	refused bool // the error is above the limit
}

// linear makes a node read a weight from DequantizeLinear. It reports whether it added nodes.
func (e *editor) linear(p product, to Type, body bool) (bool, error) {
	_, k := p.size()
	block := e.block(p, to)
	need := 13
	if block != 0 || to.dtype.Bits() < 8 {
		need = 21
	}
	if v := e.version(); v < need {
		return false, graph.Errorf(graph.ErrUnsupported,
			"weight %q: DequantizeLinear of %s takes operator set %d, and the model has %d; take q4 or q8, "+
				"or export the model with a newer set",
			p.weight.Name, to, need, v)
	}
	if block != 0 && k%block != 0 {
		e.kept(p, "rows are no multiple of the blocks", 0)
		return false, nil
	}
	key := form{p.weight, p.columns, false, to.name}
	l := e.made[key]
	if l == nil {
		l = &linear{}
		e.made[key] = l
		per := block
		if per == 0 {
			per = k
		}
		codes, scales, zeros, s, err := e.encodeLinear(p, to, per)
		if err != nil {
			return false, err
		}
		if e.KeepAbove > 0 && s.error() > e.KeepAbove {
			l.refused = true
			e.kept(p, "kept: the error as "+to.name+" is above the limit", s.error())
			return false, nil
		}
		if err := e.stored(codes); err != nil {
			return false, err
		}
		e.changed(p, to, s, codes, scales, zeros)
		node := &graph.Node{Name: e.names.New(p.weight.Name + "_dequantize"), Op: "DequantizeLinear", Version: e.version(),
			Inputs: []string{e.constant(codes), e.constant(scales)}}
		if zeros != nil {
			node.Inputs = append(node.Inputs, e.constant(zeros))
		}
		axis := 0 // of the scales of channels
		if p.columns != (block != 0) {
			axis = 1
		}
		node.Attrs = append(node.Attrs, graph.IntAttr("axis", int64(axis)))
		if block != 0 {
			node.Attrs = append(node.Attrs, graph.IntAttr("block_size", int64(block)))
		}
		l.value, l.scales = e.names.New(p.weight.Name+"_float"), scales.Tensor
		node.Outputs = []string{l.value}
		if body {
			e.hoisted = append(e.hoisted, node)
		} else {
			e.nodes = append(e.nodes, node)
		}
	}
	if l.refused {
		return false, nil
	}
	c := *p.node
	c.Inputs = append([]string(nil), c.Inputs...)
	c.Inputs[p.input] = l.value
	e.nodes = append(e.nodes, &c)
	if to.dtype == tensor.I8 && l.scales.DType() == tensor.F32 && !p.table {
		e.coded[&c] = l
	}
	return true, nil
}

// block returns the number of elements that share a scale, 0 for a scale of each channel.
func (e *editor) block(p product, to Type) int {
	switch {
	case p.filters: // blocks would be of channels, whose elements are apart
		return 0
	case e.Block == 0 && to.dtype.Bits() < 8:
		return 32
	}
	return e.Block
}

// version returns the version of the standard operators.
func (e *editor) version() int { return standardVersion(e.out) }

// encodeLinear returns codes of the weight's shape, with scales for each per elements that a sum of
// the product adds.
func (e *editor) encodeLinear(p product, to Type, per int) (codes, scales, zeros *graph.Initializer, s sums, err error) {
	n, k := p.size()
	t := p.weight.Tensor
	blocks := k / per
	shape := tensor.Shape{n, blocks}
	if p.columns {
		shape = tensor.Shape{blocks, n}
	}
	if e.block(p, to) == 0 {
		shape = tensor.Shape{n}
	}
	unsigned := to.dtype == tensor.U4 || to.dtype == tensor.U8
	codes = &graph.Initializer{Name: p.weight.Name + "_codes", Tensor: tensor.New(to.dtype, t.Shape()...)}
	scales = &graph.Initializer{Name: p.weight.Name + "_scales", Tensor: tensor.New(t.DType(), shape...)}
	grid := integersOf(to.dtype)
	if e.ReduceRange && to.dtype == tensor.I8 {
		grid = packed.Integers{Low: -63, High: 63}
	}
	var points []int8
	if unsigned || e.Ranges != nil { // other runtimes fuse products whose weights have zero points
		zeros = &graph.Initializer{Name: p.weight.Name + "_zeros", Tensor: tensor.New(to.dtype, shape...)}
		points = make([]int8, shape.Len())
	}
	r, err := e.rows(p)
	if err != nil {
		return nil, nil, nil, s, err
	}
	// Codes are a byte each until all rows are there, because columns of 4 bits share bytes.
	wide := make([]int8, t.Len())
	round := elements.Rounding(t.DType())
	r.encode = func(row int, x, w, y []float32) {
		raw := make([]uint8, per)
		for b := range blocks {
			from := b * per
			part, weights := x[from:from+per], w
			if w != nil {
				weights = w[from : from+per]
			}
			scale, zero := gridScale(grid, unsigned, part, weights)
			if scale = round(scale); scale == 0 {
				scale = 1 // all codes are 0, and a bias has the scale, too
			}
			at := row*blocks + b
			if p.columns {
				at = b*n + row
			}
			elements.Put(scales.Tensor, at, []float32{scale})
			if unsigned {
				points[at] = int8(zero)
			}
			grid.Codes(raw, part, scale, zero)
			for i, c := range raw {
				code := int(c) + grid.Low
				y[from+i] = scale * float32(code-zero)
				to := row*k + from + i
				if p.columns {
					to = (from+i)*n + row
				}
				wide[to] = int8(code)
			}
		}
	}
	if s, err = r.each(e.ctx, e.Threads, e.advance); err != nil {
		return nil, nil, nil, s, err
	}
	if e.Ranges != nil && to.dtype == tensor.I8 && e.rowSaturates(p, wide) {
		e.saturating++
	}
	store(codes.Tensor, wide)
	if zeros != nil {
		store(zeros.Tensor, points)
	}
	return codes, scales, zeros, s, nil
}

// rowSaturates reports whether codes of a row of a weight may saturate.
func (e *editor) rowSaturates(p product, codes []int8) bool {
	n, k := p.size()
	row := make([]int8, k)
	for i := range n {
		for c := range row {
			if row[c] = codes[i*k+c]; p.columns {
				row[c] = codes[c*n+i]
			}
		}
		if saturates(row) {
			return true
		}
	}
	return false
}

// gridScale returns the scale and the zero point of a block. The zero point is 0 unless pointed is
// true.
func gridScale(g packed.Integers, pointed bool, x, w []float32) (scale float32, zero int) {
	if pointed {
		return g.ScaleZero(x, w)
	}
	return g.Scale(x, w), 0
}

// store sets the elements of t to codes.
func store(t *tensor.Tensor, codes []int8) {
	if l := t.DType().Layout(); l != nil {
		l.Pack(t.Bytes(), codes)
		return
	}
	for i, c := range codes {
		t.Bytes()[i] = byte(c)
	}
}
