package loom

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// projection is a matrix [out, in] of a decoder with its bias; no bias is the empty name. If whole
// is set, it multiplies rows quantised to whole numbers by its own codes, and has a scale. If
// packed is set, it holds codes of MatMulNBits and scales.
type projection struct {
	matrix, bias  string
	whole, packed bool
	scale         string
	shape         tensor.Shape // if packed
}

// row is the input of projections: numbers and, in a ternary bundle, the factor of the row's codes.
type row struct{ x, factor string }

// of returns the product with the last axis of the input.
func (p projection) of(w *lowerer, r row) string {
	if p.packed {
		inputs := []string{r.x, p.matrix, p.scale}
		if p.bias != "" {
			inputs = append(inputs, "", "", p.bias)
		}
		return w.b.Node("com.microsoft", "MatMulNBits", inputs, 1, graph.IntAttr("N", int64(p.shape[0])), graph.IntAttr("K", int64(p.shape[1])),
			graph.IntAttr("bits", 4), graph.IntAttr("block_size", q4Block))[0]
	}
	y := w.linear(r.x, p.matrix, p.bias)
	if p.whole {
		y = w.op("Mul", w.op("Mul", y, p.scale), r.factor)
	}
	return y
}

// prepared quantises every row to 8 bits in a ternary bundle.
func (w *lowerer) prepared(x string) row {
	if !w.bitNet() {
		return row{x: x}
	}
	most := w.op("Max", w.op("ReduceMax", w.op("Abs", x), w.b.Ints(-1)), w.b.Float(1e-5))
	codes := w.rounded(w.op("Mul", x, w.op("Div", w.b.Float(127), most)))
	return row{w.op("Clip", codes, w.b.Float(-128), w.b.Float(127)), w.op("Div", most, w.b.Float(127))}
}

// rounded returns the nearest whole numbers, halves away from zero.
func (w *lowerer) rounded(x string) string {
	return w.op("Mul", w.op("Sign", x), w.op("Floor", w.op("Add", w.op("Abs", x), w.b.Float(0.5))))
}

// inner is the norm within a layer of a ternary bundle.
func (w *lowerer) inner(path string, width int, x string) (string, error) {
	if w.inits[path+".inner_norm"] == nil {
		one := tensor.New(tensor.F32, 1)
		tensor.View[float32](one)[0] = 1
		return w.rms(x, w.op("Expand", w.b.Constant(one), w.b.Ints(int64(width))), bitNetEpsilon), nil
	}
	gamma, err := w.named(path+".inner_norm", tensor.Shape{width})
	return w.rms(x, gamma, bitNetEpsilon), err
}

const bitNetEpsilon = 1e-5

// projections returns the matrices of an attention layer or a feed-forward network, in the form
// that the bundle has them.
func (w *lowerer) projections(l *Layer, path string) (map[string]projection, error) {
	list, err := l.Parts()
	if err != nil {
		return nil, err
	}
	if w.inits[path] != nil && !w.bitNet() {
		return w.plainProjections(l, path)
	}
	biases := map[string]string{}
	if w.inits[path+".biases"] != nil {
		if biases, err = w.biasesOf(l, path); err != nil {
			return nil, err
		}
	}
	all := map[string]projection{}
	for _, part := range list {
		if part.Q4 == 0 {
			continue
		}
		p, err := w.packedProjection(path, part)
		if err != nil {
			return nil, err
		}
		p.bias = biases["b"+part.Name]
		all[part.Name] = p
	}
	return all, nil
}

// plainProjections returns the projections of a store. If the bundle has another dtype, float32
// weights stay as they are without quirks, and are quantised as Loom does with quirks.
func (w *lowerer) plainProjections(l *Layer, path string) (map[string]projection, error) {
	if d := w.net.WeightDType(); w.quirks && d.Scaled() && w.inits[path].Tensor.DType() == tensor.F32 && w.dtype(l) == Float32 {
		t := w.inits[path].Tensor
		codes, scale := Morph(d, tensor.View[float32](t), 1)
		numbers, err := Restore(d, codes, scale, t.Len())
		if err != nil {
			return nil, err
		}
		if t, err = tensor.From(numbers, t.Shape()...); err != nil {
			return nil, err
		}
		before := w.inits[path]
		w.inits[path] = &graph.Initializer{Name: path, Tensor: t}
		defer func() { w.inits[path] = before }()
	}
	p, err := w.parts(l, path)
	if err != nil {
		return nil, err
	}
	all := map[string]projection{}
	for name, matrix := range p {
		if bias, ok := p["b"+name]; ok {
			all[name] = projection{matrix: matrix, bias: bias}
		}
	}
	return all, nil
}

// biasesOf returns the biases of a feed-forward network with Q4_0 matrices.
func (w *lowerer) biasesOf(l *Layer, path string) (map[string]string, error) {
	h, i := l.OutputHeight, l.InputHeight
	all, err := w.named(path+".biases", tensor.Shape{2*h + i})
	if err != nil {
		return nil, err
	}
	names := w.b.Node("", "Split", []string{all, w.b.Ints(int64(h), int64(h), int64(i))}, 3, graph.IntAttr("axis", 0))
	return map[string]string{"bgate": names[0], "bup": names[1], "bdown": names[2]}, nil
}

// packedProjection returns a matrix of Q4_0 or of ternary codes.
func (w *lowerer) packedProjection(path string, part Part) (projection, error) {
	name := fmt.Sprintf("%s.bitnet_ternary.%d", path, 10000+part.Offset)
	if init := w.inits[name]; init != nil {
		if !init.Tensor.Shape().Equal(part.Shape) {
			return projection{}, fmt.Errorf("%s is %v, not %v", name, init.Tensor.Shape(), part.Shape)
		}
		p := projection{matrix: w.weight(init), whole: true}
		if init.Tensor.DType() == tensor.F32 {
			p.scale = w.b.Float(1)
			return p, nil
		}
		scale, err := scaleOf(init)
		p.matrix, p.scale = w.cast(p.matrix, tensor.F32), w.b.Float(scale)
		return p, err
	}
	name = fmt.Sprintf("%s.q4_0.%d", path, part.Q4)
	codes, factors := w.inits[name], w.inits[name+scales]
	if codes == nil {
		return projection{}, fmt.Errorf("the bundle has no weights of %s for it", part.Name)
	}
	if !codes.Tensor.Shape().Equal(part.Shape) {
		return projection{}, fmt.Errorf("%s is %v, not %v", name, codes.Tensor.Shape(), part.Shape)
	}
	if factors == nil {
		return projection{matrix: w.weight(codes)}, nil // already dequantised
	}
	return w.q4(codes, factors, part.Shape)
}

// q4 returns a matrix of Q4_0: packed if its columns are whole blocks, else as numbers.
func (w *lowerer) q4(codes, factors *graph.Initializer, shape tensor.Shape) (projection, error) {
	n := shape.Len()
	blocks := (n + q4Block - 1) / q4Block
	if factors.Tensor.Len() != blocks || factors.Tensor.DType() != tensor.F32 {
		return projection{}, fmt.Errorf("%s is %v; %d weights have %d float32 scales", factors.Name, factors.Tensor, n, blocks)
	}
	if shape[1]%q4Block == 0 {
		return projection{packed: true, matrix: w.weight(w.unsigned(codes, shape)), scale: w.weight(factors), shape: shape}, nil
	}
	names := []string{w.weight(codes), w.weight(factors)}
	flat := w.reshape(w.cast(names[0], tensor.F32), -1)
	if rest := blocks*q4Block - n; rest > 0 {
		flat = w.concat(0, flat, w.zeros(w.b.Ints(int64(rest))))
	}
	y := w.op("Mul", w.reshape(flat, int64(blocks), q4Block), w.reshape(names[1], int64(blocks), 1))
	return projection{matrix: w.reshape(w.slice(w.reshape(y, -1), 0, int64(n), 0), ints(shape)...)}, nil
}

// unsigned returns four-bit codes in the form of MatMulNBits, where code 8 means 0.
func (w *lowerer) unsigned(codes *graph.Initializer, shape tensor.Shape) *graph.Initializer {
	name := codes.Name + ".unsigned"
	if w.shares[name] == nil {
		t := tensor.New(tensor.U8, shape[0], shape[1]/q4Block, q4Block/2)
		for i, b := range codes.Tensor.Bytes() {
			t.Bytes()[i] = b ^ 0x88
		}
		w.shares[name] = &graph.Initializer{Name: name, Tensor: t}
	}
	return w.shares[name]
}
