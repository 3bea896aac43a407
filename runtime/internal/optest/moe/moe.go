package moe

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/internal/optest/quant"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// expertCases adds mixtures of experts.
func expertCases(s *cases.Suite) {
	for _, d := range cases.NarrowFloats {
		denseExpertCases(s, d)
		lowBitExpertCases(s, d)
	}
	widenedExpertCases(s)
}

// expertNet is a mixture by its definition. A layer's weights take expert, row and column. They are
// nil if the layer is left out.
type expertNet struct {
	rows, size, deep, experts, k int
	all, scaled                  bool
	weights                      [3]func(e, j, p int) float64
	bias                         [3]func(e, j int) float64
	act                          func(h []float64, third []float64) []float64
}

func (m *expertNet) layer(i, e, out int, x []float64) []float64 {
	y := make([]float64, out)
	for j := range y {
		for p, v := range x {
			y[j] += v * m.weights[i](e, j, p)
		}
		if m.bias[i] != nil {
			y[j] += m.bias[i](e, j)
		}
	}
	return y
}

func (m *expertNet) run(d tensor.DType, x, router *tensor.Tensor, fused int) *tensor.Tensor {
	y := tensor.New(d, x.Shape()...)
	for t := range m.rows {
		row, logits := cases.Numbers(x)[t*m.size:][:m.size], cases.Numbers(router)[t*m.experts:][:m.experts]
		order := make([]int, m.experts)
		for e := range order {
			order[e] = e
		}
		slices.SortFunc(order, func(a, b int) int { return int(math.Copysign(1, logits[b]-logits[a])) })
		sum := 0.0
		among := order
		if !m.all || m.scaled {
			among = order[:m.k]
		}
		for _, e := range among {
			sum += math.Exp(logits[e])
		}
		out := make([]float64, m.size)
		for _, e := range order[:m.k] {
			h := m.layer(0, e, fused*m.deep, row)
			var third []float64
			if m.weights[2] != nil {
				third = m.layer(2, e, m.deep, row)
			}
			for j, v := range m.layer(1, e, m.size, m.act(h, third)) {
				out[j] += v * math.Exp(logits[e]) / sum
			}
		}
		for j, v := range out {
			cases.SetNumber(y, t*m.size+j, v)
		}
	}
	return y
}

func silus(h, third []float64) []float64 {
	out := make([]float64, len(h))
	for i, v := range h {
		out[i] = v / (1 + math.Exp(-v))
		if third != nil {
			out[i] *= third[i]
		}
	}
	return out
}

// swiglus takes gates and their factors, alternating or one half after the other.
func swiglus(pairs bool) func(h, third []float64) []float64 {
	return func(h, _ []float64) []float64 {
		n := len(h) / 2
		out := make([]float64, n)
		for i := range out {
			g, l := h[i], h[n+i]
			if pairs {
				g, l = h[2*i], h[2*i+1]
			}
			g, l = min(g, 1.5), min(max(l, -1.5), 1.5)
			out[i] = g / (1 + math.Exp(-1.25*g)) * (l + 0.5)
		}
		return out
	}
}

func swigluAttrs(fusion int) []any {
	return []any{"activation_type", "swiglu", "swiglu_fusion", fusion, "activation_alpha", 1.25, "activation_beta", 0.5,
		"swiglu_limit", 1.5}
}

// expertRouter returns logits whose order no rounding changes.
func expertRouter(s *cases.Suite, d tensor.DType, rows, experts int) *tensor.Tensor {
	t := tensor.New(d, rows, experts)
	for r := range rows {
		for e := range experts {
			cases.SetNumber(t, r*experts+e, float64((e*7+r*5)%experts)/2-1)
		}
	}
	return t
}

const expertUlps = 300

func denseExpertCases(s *cases.Suite, d tensor.DType) {
	at := func(t *tensor.Tensor, rows, cols int) func(e, j, p int) float64 {
		return func(e, j, p int) float64 { return cases.Number(t, (e*rows+j)*cols+p) }
	}
	vector := func(t *tensor.Tensor, rows int) func(e, j int) float64 {
		return func(e, j int) float64 { return cases.Number(t, e*rows+j) }
	}
	for _, c := range []struct {
		note                         string
		rows, size, deep, experts, k int
		fused                        int
		third, bias, scaled          bool
		act                          func(h, third []float64) []float64
		more                         []any
	}{
		{"silu", 3, 9, 5, 4, 2, 1, false, true, false, silus, []any{"activation_type", "silu"}},
		{"silu, fc3", 1, 17, 33, 3, 3, 1, true, true, true, silus, []any{"activation_type", "silu", "normalize_routing_weights", 1}},
		{"pairs", 20, 8, 7, 2, 1, 2, false, false, false, swiglus(true), swigluAttrs(1)},
		{"halves", 5, 6, 11, 3, 2, 2, false, true, true, swiglus(false), append(swigluAttrs(2), "normalize_routing_weights", 1)},
	} {
		x, router := s.Between(d, -1, 1, c.rows, c.size), expertRouter(s, d, c.rows, c.experts)
		m := &expertNet{rows: c.rows, size: c.size, deep: c.deep, experts: c.experts, k: c.k, all: true, scaled: c.scaled,
			act: c.act}
		list := cases.In(x, router)
		for i, e := range [][2]int{{c.fused * c.deep, c.size}, {c.size, c.deep}, {c.deep, c.size}} {
			if i == 2 && !c.third {
				break
			}
			w, b := s.Between(d, -0.5, 0.5, c.experts, e[0], e[1]), s.Between(d, -1, 1, c.experts, e[0])
			m.weights[i] = at(w, e[0], e[1])
			if c.bias {
				m.bias[i] = vector(b, e[0])
				list = append(list, w, b)
			} else {
				list = append(list, w, nil)
			}
		}
		a := cases.Attrs(append(c.more, "k", c.k)...)
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "MoE", Version: 1, Note: c.note, Attrs: a, In: list,
			Want: cases.Want(m.run(d, x, router, c.fused)), Ulps: expertUlps})
		if c.note == "silu" {
			denseExpertFails(s, list)
		}
	}
}

func denseExpertFails(s *cases.Suite, good []*tensor.Tensor) {
	d := good[0].DType()
	fails := func(kind error, note string, list []*tensor.Tensor, a ...any) {
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "MoE", Version: 1, Note: note, Attrs: cases.Attrs(a...), In: list,
			Fails: kind})
	}
	with := func(i int, t *tensor.Tensor) []*tensor.Tensor {
		list := slices.Clone(good)
		list[i] = t
		return list
	}
	fails(graph.ErrShape, "too many", good, "k", 5)
	fails(graph.ErrFormat, "none", good, "k", 0)
	fails(graph.ErrFormat, "mixer of one", good, "use_sparse_mixer", 1)
	fails(graph.ErrUnsupported, "activation", good, "activation_type", "tanh")
	fails(graph.ErrFormat, "swiglu without fc3", good, "activation_type", "swiglu")
	fails(graph.ErrShape, "odd rows for pairs", good, "activation_type", "swiglu", "swiglu_fusion", 1)
	fails(graph.ErrFormat, "fusion", good, "swiglu_fusion", 3)
	fails(graph.ErrShape, "router", with(1, s.Any(d, 3, 5)))
	fails(graph.ErrShape, "weights", with(2, s.Any(d, 4, 9, 5)))
	fails(graph.ErrShape, "bias", with(3, s.Any(d, 5)))
	fails(graph.ErrShape, "no experts", with(4, s.Any(d, 0, 9, 5)))
	fails(graph.ErrFormat, "no fc2", with(4, nil))
}

// expertCodes returns codes of a layer [experts,rows,cols] with scales and zero points, and the
// weights that they stand for.
func expertCodes(
	s *cases.Suite, d tensor.DType, experts, rows, cols, bits, block int, zeros bool,
) (list [3]*tensor.Tensor, w func(e, j, p int) float64) {
	blocks := 1
	if block > 0 {
		blocks = (cols-1)/block + 1
	}
	scale := 1 / float64(int(1)<<bits)
	codes, scales := s.Between(tensor.U8, 0, 255, experts, rows, cols*bits/8),
		s.Between(d, scale/2, scale, experts, rows, blocks)
	shape := []int{experts, (rows*bits + 7) / 8}
	if block > 0 {
		shape = []int{experts, rows, (blocks*bits + 7) / 8}
	} else {
		scales, _ = scales.Reshape(tensor.Shape{experts, rows})
	}
	points := s.Between(tensor.U8, 0, 255, shape...)
	w = func(e, j, p int) float64 {
		b, zero := 0, float64(int(1)<<(bits-1))
		if block > 0 {
			b = p / block
		}
		switch bytes := points.Bytes(); {
		case zeros && block > 0:
			zero = quant.CodeBits(bytes[(e*rows+j)*shape[2]:], b, bits)
		case zeros:
			zero = quant.CodeBits(bytes[e*shape[1]:], j, bits)
		}
		return (quant.CodeBits(codes.Bytes()[(e*rows+j)*cols*bits/8:], p, bits) - zero) * cases.Number(scales,
			(e*rows+j)*blocks+b)
	}
	list = [3]*tensor.Tensor{codes, scales}
	if zeros {
		list[2] = points
	}
	return list, w
}

func lowBitExpertCases(s *cases.Suite, d tensor.DType) {
	for _, c := range []struct {
		rows, size, deep, bits, block int
		zeros, third, scaled          bool
	}{
		{3, 20, 12, 4, 0, false, false, false},
		{2, 24, 40, 2, 0, true, true, false},
		{30, 16, 36, 8, 16, true, false, false},
		{4, 40, 32, 4, 32, true, true, true},
		{1, 32, 64, 2, 16, false, false, true},
	} {
		const experts = 3
		x, router := s.Between(d, -1, 1, c.rows, c.size), expertRouter(s, d, c.rows, experts)
		m := &expertNet{rows: c.rows, size: c.size, deep: c.deep, experts: experts, k: 2, act: silus}
		list := append(cases.In(x, router), make([]*tensor.Tensor, 13)...)
		for i, e := range [][2]int{{c.deep, c.size}, {c.size, c.deep}, {c.deep, c.size}} {
			if i == 2 && !c.third {
				break
			}
			var parts [3]*tensor.Tensor
			scales := d
			if c.zeros {
				scales = tensor.F32
			}
			parts, m.weights[i] = expertCodes(s, scales, experts, e[0], e[1], c.bits, c.block, c.zeros)
			list[2+3*i], list[3+3*i], list[11+i] = parts[0], parts[1], parts[2]
			b := s.Between(d, -1, 1, experts, e[0])
			m.bias[i], list[4+3*i] = func(e0 int) func(e, j int) float64 {
				return func(e, j int) float64 { return cases.Number(b, e*e0+j) }
			}(e[0]), b
		}
		a := cases.Attrs("k", 2, "activation_type", "silu", "expert_weight_bits", c.bits, "block_size", c.block)
		y := m.run(d, x, router, 1)
		if c.scaled {
			// Shares from an input are not scaled.
			share := tensor.New(d, c.rows, experts)
			for r := range c.rows {
				sum := 0.0
				logits := cases.Numbers(router)[r*experts:][:experts]
				low := slices.Min(logits)
				for _, v := range logits {
					if v != low {
						sum += math.Exp(v)
					}
				}
				for e, v := range logits {
					cases.SetNumber(share, r*experts+e, math.Exp(v)/sum)
				}
			}
			list[14] = share
		}
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "QMoE", Version: 1, Attrs: a, In: list, Want: cases.Want(y),
			Ulps: 2 * expertUlps})
		if c.block == 0 && !c.zeros {
			lowBitExpertFails(s, list)
		}
	}
}

func lowBitExpertFails(s *cases.Suite, good []*tensor.Tensor) {
	fails := func(kind error, note string, list []*tensor.Tensor, a ...any) {
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "QMoE", Version: 1, Note: note, Attrs: cases.Attrs(a...), In: list,
			Fails: kind})
	}
	with := func(i int, t *tensor.Tensor) []*tensor.Tensor {
		list := slices.Clone(good)
		list[i] = t
		return list
	}
	fails(graph.ErrUnsupported, "bits", good, "expert_weight_bits", 3)
	fails(graph.ErrShape, "other bits", good, "expert_weight_bits", 8)
	fails(graph.ErrFormat, "block", good, "block_size", 24)
	fails(graph.ErrShape, "scales of rows for blocks", good, "block_size", 16)
	fails(graph.ErrUnsupported, "kind", good, "quant_type", "fp8")
	fails(graph.ErrUnsupported, "prepacked", good, "weights_prepacked", 1)
	fails(graph.ErrFormat, "level", good, "accuracy_level", 5)
	fails(graph.ErrShape, "codes", with(2, good[0]))
	fails(graph.ErrFormat, "no scales", with(3, nil))
	fails(graph.ErrShape, "scales", with(3, s.Any(tensor.F32, 3, 7)))
	fails(graph.ErrShape, "zero points", with(11, s.Between(tensor.U8, 0, 9, 3, 12, 2)))
	fails(graph.ErrShape, "shares", with(14, s.Any(tensor.F32, 3, 4)))
	fails(graph.ErrFormat, "a scale of all", append(slices.Clone(good), s.Any(tensor.F32, 3)))
}
