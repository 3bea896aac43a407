package quant

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// nbitsCases adds products with weights that stay stored as codes of few bits.
func nbitsCases(s *cases.Suite) {
	for _, d := range cases.NarrowFloats {
		for _, bits := range []int{2, 4, 8} {
			matMulNBitsCases(s, d, bits)
		}
		bnb4Cases(s, d)
		gatherQuantizedCases(s, d)
	}
	nbitsFails(s)
	for _, d := range cases.NarrowFloats {
		for _, bits := range []int{2, 4, 8} {
			roundedNBits(s, d, bits)
		}
	}
}

// CodeBits returns code i of codes packed in bytes from the lowest bits up.
func CodeBits(b []byte, i, bits int) float64 {
	return float64(int(b[i*bits/8]) >> (i * bits % 8) & (1<<bits - 1))
}

// rowProducts multiplies each matrix row of a by n rows of weights of length k, and adds bias.
func rowProducts(
	d tensor.DType, a *tensor.Tensor, n, k int, weight func(j, p int) float64, bias *tensor.Tensor,
) *tensor.Tensor {
	shape := a.Shape().Clone()
	shape[len(shape)-1] = n
	y := tensor.New(d, shape...)
	for i := range y.Len() {
		sum := 0.0
		for p := range k {
			sum += cases.Number(a, i/n*k+p) * weight(i%n, p)
		}
		if bias != nil {
			sum += cases.Number(bias, i%n)
		}
		cases.SetNumber(y, i, sum)
	}
	return y
}

const nbitsUlps = 300 // sums of some hundred products

func matMulNBitsCases(s *cases.Suite, d tensor.DType, bits int) {
	for _, c := range []struct {
		n, k, block int
		rows        []int
		zeros       string
		flat        bool // scales and codes have fewer axes
	}{
		{n: 5, k: 64, block: 32, rows: []int{1}},
		{n: 37, k: 100, block: 16, rows: []int{2, 3}, zeros: "codes"},
		{n: 3, k: 17, block: 16, rows: []int{30}, zeros: "codes", flat: true},
		{n: 20, k: 300, block: 128, rows: []int{2, 1, 2}, zeros: "floats"},
		{n: 7, k: 40, block: 256, rows: []int{}, zeros: "floats", flat: true},
		{n: 4, k: 33, block: 16, rows: []int{27}, zeros: "other floats"},
		{n: 4, k: 32, block: 16, rows: []int{0, 3}},
	} {
		blocks := (c.k-1)/c.block + 1
		codes := s.Between(tensor.U8, 0, 255, c.n, blocks, c.block*bits/8)
		scale := 1 / float64(int(1)<<bits)
		a, scales, bias := s.Any(d, append(c.rows, c.k)...), s.Between(d, scale/2, scale, c.n, blocks), s.Any(d, c.n)
		list := cases.In(a, codes, scales, nil, nil, bias)
		zero := func(j, b int) float64 { return float64(int(1) << (bits - 1)) }
		switch row := (blocks*bits + 7) / 8; c.zeros {
		case "codes":
			list[3] = s.Between(tensor.U8, 0, 255, c.n, row)
			zero = func(j, b int) float64 { return CodeBits(list[3].Bytes()[j*row:], b, bits) }
		case "floats", "other floats":
			if list[3] = s.Between(d, 0, float64(int(1)<<bits), c.n, blocks); c.zeros != "floats" {
				other := map[tensor.DType]tensor.DType{tensor.F32: tensor.F16, tensor.F16: tensor.F32, tensor.BF16: tensor.F16}[d]
				list[3] = s.Between(other, 0, float64(int(1)<<bits), c.n, blocks)
			}
			zero = func(j, b int) float64 { return cases.Number(list[3], j*blocks+b) }
		}
		if c.flat {
			list[1], _ = codes.Reshape(tensor.Shape{c.n, codes.Len() / c.n})
			list[2], _ = scales.Reshape(tensor.Shape{scales.Len()})
			if list[3] != nil {
				list[3], _ = list[3].Reshape(tensor.Shape{list[3].Len()})
			}
		}
		of := func(j, p, block int) float64 {
			return (CodeBits(codes.Bytes()[j*blocks*c.block*bits/8:], p, bits) - zero(j, block)) * cases.Number(scales,
				j*blocks+block)
		}
		settings := cases.Attrs("N", c.n, "K", c.k, "bits", bits, "block_size", c.block)
		plain := rowProducts(d, a, c.n, c.k, func(j, p int) float64 { return of(j, p, p/c.block) }, bias)
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "MatMulNBits", Version: 1, Note: c.zeros, Attrs: settings, In: list,
			Want: cases.Want(plain), Ulps: nbitsUlps})
		group := s.Indices(tensor.I32, 0, blocks, c.k)
		permuted := tensor.New(tensor.I32, c.k) // a group has as many columns as a block
		for p := range c.k {
			cases.SetNumber(permuted, p, float64((p*7+3)%c.k/c.block))
		}
		for i, group := range []*tensor.Tensor{group, permuted} {
			list = append([]*tensor.Tensor(nil), list...)
			list[4] = group
			regrouped := rowProducts(d, a, c.n, c.k, func(j, p int) float64 { return of(j, p, int(cases.Number(group, p))) },
				bias)
			s.Add(cases.Case{Domain: cases.Microsoft, Op: "MatMulNBits", Version: 1, Note: c.zeros + []string{" groups",
				" permuted"}[i], Attrs: settings, In: list, Want: cases.Want(regrouped), Ulps: nbitsUlps})
		}
	}
}

// roundedNBits adds rows of whole numbers that rounding does not change.
func roundedNBits(s *cases.Suite, d tensor.DType, bits int) {
	const n, k, block = 7, 70, 32
	a, codes := s.Any(d, 3, k), s.Between(tensor.U8, 0, 255, n, 3, block*bits/8)
	for i := range a.Len() {
		v := float64(s.IntN(255) - 127)
		if i%k%block == 0 {
			v = 127
		}
		cases.SetNumber(a, i, v)
	}
	scales := s.Between(d, 0.01, 0.02, n, 3)
	y := rowProducts(d, a, n, k, func(j, p int) float64 {
		return (CodeBits(codes.Bytes()[j*3*block*bits/8:], p, bits) - float64(int(1)<<(bits-1))) * cases.Number(scales,
			j*3+p/block)
	}, nil)
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "MatMulNBits", Version: 1, Note: "rounded", Want: cases.Want(y), Ulps: 20 * nbitsUlps,
		Attrs: cases.Attrs("N", n, "K", k, "bits", bits, "block_size", block, "accuracy_level", 4), In: cases.In(a, codes, scales)})
}

// bnb4Values returns the values of bitsandbytes' codes: FP4 by sign, exponent and fraction, NF4 by
// its table.
func bnb4Values(kind int) func(code int) float64 {
	if kind == 1 {
		return func(code int) float64 {
			return []float64{-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
				-0.09105003625154495, 0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
				0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1}[code]
		}
	}
	return func(code int) float64 {
		v := []float64{0, 0.0625, 8, 12, 4, 6, 2, 3}[code&7] / 12
		if code >= 8 {
			return -v
		}
		return v
	}
}

func bnb4Cases(s *cases.Suite, d tensor.DType) {
	for _, c := range []struct{ n, k, block, rows int }{{5, 64, 32, 1}, {9, 48, 16, 30}, {3, 7, 16, 2}, {5, 33, 64, 26}} {
		for kind := range 2 {
			size := c.n * c.k
			codes, absmax := s.Between(tensor.U8, 0, 255, (size+1)/2), s.Between(d, 0.5, 1, (size-1)/c.block+1)
			weight := func(j, p int) float64 {
				i := j*c.k + p
				return bnb4Values(kind)(int(codes.Bytes()[i/2])>>(4-i%2*4)&15) * cases.Number(absmax, i/c.block)
			}
			settings := cases.Attrs("N", c.n, "K", c.k, "quant_type", kind, "block_size", c.block)
			a := s.Any(d, c.rows, c.k)
			s.Add(cases.Case{Domain: cases.Microsoft, Op: "MatMulBnb4", Version: 1, Attrs: settings, In: cases.In(a, codes, absmax),
				Want: cases.Want(rowProducts(d, a, c.n, c.k, weight, nil)), Ulps: nbitsUlps})
			a = s.Any(d, c.rows, c.n)
			turned := rowProducts(d, a, c.k, c.n, func(j, p int) float64 { return weight(p, j) }, nil)
			s.Add(cases.Case{Domain: cases.Microsoft, Op: "MatMulBnb4", Version: 1, Attrs: append(cases.Attrs("transB", 0), settings...), In: cases.In(a, codes, absmax),
				Want: cases.Want(turned), Ulps: nbitsUlps})
		}
	}
}

func gatherQuantizedCases(s *cases.Suite, d tensor.DType) {
	for _, c := range []struct {
		data         tensor.DType
		bits         int
		shape        []int // of numbers
		gather, axis int
		block        int
	}{
		{tensor.U8, 4, []int{7, 40}, 0, 1, 16},
		{tensor.U8, 2, []int{7, 3, 8}, 0, 2, 32},
		{tensor.U8, 4, []int{5, 37, 6}, 0, 1, 16},
		{tensor.U8, 8, []int{40, 3}, 0, 0, 16},
		{tensor.U4, 4, []int{3, 21, 5}, 1, 1, 16},
		{tensor.I4, 4, []int{3, 5, 33}, 1, -1, 32},
		{tensor.I4, 4, []int{3, 21}, -1, 0, 16},
		{tensor.F8E4M3FN, 8, []int{5, 20}, 0, 1, 16},
		{tensor.F8E5M2FNUZ, 8, []int{5, 20}, 0, 1, 0},
		{tensor.F8E5M2, 8, []int{5, 20}, 0, 1, 32},
		{tensor.F8E4M3FNUZ, 8, []int{2, 20, 3}, 0, 1, 16},
		{tensor.F4E2M1, 4, []int{5, 21}, 0, 1, 16},
	} {
		rank := len(c.shape)
		axis, gather := cases.Mod(c.axis, rank), cases.Mod(c.gather, rank)
		stored := append([]int(nil), c.shape...)
		block := c.block
		if block == 0 {
			block = c.shape[axis]
		}
		scaled := cases.With(c.shape, axis, (c.shape[axis]-1)/block+1)
		zeroShape := append([]int(nil), scaled...)
		if c.data == tensor.U8 {
			stored[rank-1] = stored[rank-1] * c.bits / 8
			zeroShape[rank-1] = (zeroShape[rank-1]*c.bits + 7) / 8
		}
		data, scales, zeros := s.Between(c.data, -8, 255, stored...), s.Between(d, 0.5, 2, scaled...),
			s.Between(c.data, -8, 255, zeroShape...)
		if c.data.Layout() != nil {
			data, zeros = s.Codes(c.data, stored...), s.Codes(c.data, zeroShape...)
		}
		for _, with := range []bool{false, true} {
			if c.data.IsFloat() {
				if with {
					continue
				}
				zeros = nil
			}
			indices := s.Indices(tensor.I64, -c.shape[gather]-1, c.shape[gather]+1, 2, 3)
			shape := append(append(append([]int(nil), c.shape[:gather]...), 2, 3), c.shape[gather+1:]...)
			y := cases.Filled(d, func(at []int) float64 {
				from := append(append(append([]int(nil), at[:gather]...), 0), at[gather+2:]...)
				pick := int(cases.Number(indices, at[gather]*3+at[gather+1]))
				if pick < 0 {
					pick += c.shape[gather]
				}
				if pick < 0 || pick >= c.shape[gather] {
					return 0
				}
				from[gather] = pick
				scale := append([]int(nil), from...)
				scale[axis] /= block
				code := func(t *tensor.Tensor, shape, at []int) float64 {
					i := cases.Flat(shape, at...)
					if c.data == tensor.U8 {
						last := t.Shape()[rank-1]
						return CodeBits(t.Bytes()[i/shape[rank-1]*last:], at[rank-1], c.bits)
					}
					return meaning(t, i)
				}
				zero := 0.0
				if with {
					zero = code(zeros, scaled, scale)
				} else if c.data == tensor.U8 {
					zero = float64(int(1) << (c.bits - 1))
				}
				return (code(data, c.shape, from) - zero) * cases.Number(scales, cases.Flat(scaled, scale...))
			}, shape...)
			list := cases.In(data, indices, scales)
			if with {
				list = append(list, zeros)
			}
			s.Add(cases.Case{Domain: cases.Microsoft, Op: "GatherBlockQuantized", Version: 1, In: list, Want: cases.Want(y), Ulps: 1,
				Attrs: cases.Attrs("bits", c.bits, "gather_axis", c.gather, "quantize_axis", c.axis, "block_size", c.block)})
		}
	}
}

func nbitsFails(s *cases.Suite) {
	a, codes, scales := s.Any(tensor.F32, 2, 32), s.Between(tensor.U8, 0, 255, 3, 2, 8), s.Any(tensor.F32, 3, 2)
	plain := []any{"N", 3, "K", 32, "block_size", 16}
	for _, c := range []struct {
		note  string
		kind  error
		attrs []any
		list  []*tensor.Tensor
	}{
		{"a block of 24", graph.ErrFormat, []any{"N", 3, "K", 32, "block_size", 24}, cases.In(a, codes, scales)},
		{"3 bits", graph.ErrUnsupported, append([]any{"bits", 3}, plain...), cases.In(a, codes, scales)},
		{"packed for a GPU", graph.ErrUnsupported, append([]any{"weight_prepacked", 1}, plain...), cases.In(a, codes, scales)},
		{"rows too short", graph.ErrShape, plain, cases.In(s.Any(tensor.F32, 2, 31), codes, scales)},
		{"too few codes", graph.ErrShape, plain, cases.In(a, s.Any(tensor.U8, 3, 1, 8), scales)},
		{"too few scales", graph.ErrShape, plain, cases.In(a, codes, s.Any(tensor.F32, 3))},
		{"too few zero points", graph.ErrShape, plain, cases.In(a, codes, scales, s.Any(tensor.U8, 2))},
		{"a group that is none", graph.ErrShape, plain, cases.In(a, codes, scales, nil, s.Indices(tensor.I32, 2, 3, 32))},
		{"a huge matrix", graph.ErrShape, []any{"N", cases.Huge, "K", cases.Huge, "block_size", 16}, cases.In(a, codes, scales)},
		{"no columns", graph.ErrFormat, []any{"N", 0, "K", 32, "block_size", 16}, cases.In(a, codes, scales)},
	} {
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "MatMulNBits", Version: 1, Note: c.note,
			Attrs: cases.Attrs(c.attrs...), In: c.list, Fails: c.kind})
	}
	flat, absmax := s.Any(tensor.U8, 48), s.Any(tensor.F32, 6)
	for _, c := range []struct {
		note  string
		kind  error
		attrs []any
		list  []*tensor.Tensor
	}{
		{"a type that is none", graph.ErrFormat, append([]any{"quant_type", 2}, plain...), cases.In(a, flat, absmax)},
		{"too many codes", graph.ErrShape, append([]any{"quant_type", 1}, plain...), cases.In(a, s.Any(tensor.U8, 49), absmax)},
		{"a huge matrix", graph.ErrShape, []any{"quant_type", 1, "N", cases.Huge, "K", cases.Huge, "block_size", 16}, cases.In(a, flat, absmax)},
	} {
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "MatMulBnb4", Version: 1, Note: c.note,
			Attrs: cases.Attrs(c.attrs...), In: c.list, Fails: c.kind})
	}
	table, pick := s.Any(tensor.U8, 4, 8), s.Indices(tensor.I64, 0, 4, 2)
	for _, c := range []struct {
		note  string
		kind  error
		attrs []any
		list  []*tensor.Tensor
	}{
		{"gathered along what is packed", graph.ErrFormat, []any{"gather_axis", 1, "quantize_axis", 0, "block_size", 16}, cases.In(table, pick, s.Any(tensor.F32, 1, 16))},
		{"one axis for both", graph.ErrFormat, []any{"quantize_axis", 0, "block_size", 16}, cases.In(table, pick, s.Any(tensor.F32, 1, 16))},
		{"scales of another shape", graph.ErrShape, []any{"block_size", 16}, cases.In(table, pick, s.Any(tensor.F32, 4, 2))},
		{"zero points of small floats", graph.ErrFormat, []any{"block_size", 16}, cases.In(s.Any(tensor.F8E5M2, 4, 8), pick, s.Any(tensor.F32, 4, 1), s.Any(tensor.F8E5M2, 4, 1))},
	} {
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "GatherBlockQuantized", Version: 1, Note: c.note,
			Attrs: cases.Attrs(c.attrs...), In: c.list, Fails: c.kind})
	}
}
