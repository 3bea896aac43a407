package cpu

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// testBinder returns a binder of a node with those inputs and outputs.
func testBinder(t *testing.T, isa bindings.ISA, in, out []*op.Value) *binder {
	t.Helper()
	d, err := New(isa, nil, 1, NewPacks())
	if err != nil {
		t.Fatal(err)
	}
	return &binder{Binding: &device.Binding{In: in, Out: out}, dev: d, step: &device.Step{}}
}

func valueOf(d tensor.DType, dims ...int) *op.Value {
	return &op.Value{Type: graph.TensorOf(d, graph.DimsOf(dims))}
}

// wordsOf returns the words of the only command that add adds.
func wordsOf(t *testing.T, b *binder, add func() error) words {
	t.Helper()
	if err := add(); err != nil {
		t.Fatal(err)
	}
	if len(b.step.Commands) != 1 {
		t.Fatalf("there are %d commands", len(b.step.Commands))
	}
	return b.step.Commands[0].Words
}

func int64Bytes(list ...int64) []byte {
	b, _ := guardedBytes(8*len(list), 8)
	copy(viewAs[int64](b), list)
	return b
}

func int32Bytes(list ...int32) []byte {
	b, _ := guardedBytes(4*len(list), 4)
	copy(viewAs[int32](b), list)
	return b
}

// attentionCase is attention over a batch of 2.
type attentionCase struct {
	heads, kvHeads, queries, keys, d, dv int
	dtype                                tensor.DType
	codes                                bool // keys and values are int8
	set                                  func(a *lower.Attention)
	lengths                              []int64
	scores                               *op.Value
	scoreData                            []byte
	mask                                 *op.Value
	maskData                             []byte
	sink                                 bool
	shown                                bool
	aside                                bool // heads of q, k and v are side by side
}

const (
	caseScores = 3 + iota
	caseMask
	caseSink
)

// words returns the words of the command.
func (c *attentionCase) words(t *testing.T, isa bindings.ISA) words {
	t.Helper()
	in := []*op.Value{
		valueOf(c.dtype, 2, c.heads, c.queries, c.d), valueOf(c.dtype, 2, c.kvHeads, c.keys, c.d), valueOf(c.dtype, 2, c.kvHeads, c.keys, c.dv),
		c.scores, c.mask, nil,
	}
	if c.sink {
		in[caseSink] = valueOf(c.dtype, c.heads)
	}
	out := []*op.Value{valueOf(c.dtype, 2, c.queries, c.heads*c.dv), nil, nil, nil}
	if c.shown {
		out[3] = valueOf(c.dtype, 2, c.heads, c.queries, c.keys)
	}
	b := testBinder(t, isa, in, out)
	var x [3]lower.Heads
	for i := range x {
		d := in[i].Dims
		rows := attention.WholeHeads(d)
		if c.aside {
			n, _ := d[1].Value()
			rows = attention.HeadsSideBySide(graph.Dims{d[0], d[2], d[1].Mul(d[3])}, graph.Known(0), n, d[3])
		}
		x[i] = lower.Heads{HeadRows: rows, DType: c.dtype, Operand: b.in(i)}
		if c.codes && i > 0 {
			whole := graph.Dims{d[0], d[1], d[2], kit.CacheWidth(tensor.I8, d[3])}
			x[i] = lower.Heads{HeadRows: attention.WholeHeads(whole), DType: tensor.I8, Operand: b.in(i)}
			x[i].Size = d[3]
		}
	}
	a := lower.NewAttention(x[0], x[1], x[2])
	a.Scores, a.Mask = caseScores, caseMask
	if c.lengths != nil {
		a.Lengths = device.Operand{Place: device.Temp}
	}
	if c.sink {
		a.Sink, a.SinkInput = lower.GivenSinks, caseSink
	}
	if c.set != nil {
		c.set(a)
	}
	return wordsOf(t, b, func() error { return b.Attend(a) })
}

// check compares all variants, with any parts, to attention in float64.
func (c *attentionCase) check(t *testing.T, r *rand.Rand, pool *bindings.Pool, what string) {
	t.Helper()
	q, k, v := attentionNormals(r, 2*c.heads*c.queries*c.d), attentionNormals(r, 2*c.kvHeads*c.keys*c.d),
		attentionNormals(r, 2*c.kvHeads*c.keys*c.dv)
	var lengths, sink []byte
	if c.lengths != nil {
		lengths = int64Bytes(c.lengths...)
	}
	if c.sink {
		sink = stored(c.dtype, attentionNormals(r, c.heads))
	}
	operands := [][]byte{stored(c.dtype, q), stored(c.dtype, k), stored(c.dtype, v), lengths, c.scoreData, c.maskData,
		sink, nil, nil}
	if c.codes {
		operands[1], operands[2] = codedRows(k, c.d), codedRows(v, c.dv)
	}
	outs := []output{{at: 7, dtype: c.dtype, n: 2 * c.heads * c.queries * c.dv}}
	if c.shown {
		outs = append(outs, output{at: 8, dtype: c.dtype, n: 2 * c.heads * c.queries * c.keys})
	}
	relative := 2e-4
	if c.dtype != tensor.F32 {
		relative = 1.0 / 64
	}
	want := runOutputs(t, runnable(t, "f64_attention")[0], c.words(t, 0), pool, outs, operands...)
	for _, isa := range []bindings.ISA{0, bindings.DetectISA()} {
		w := c.words(t, isa)
		for _, k := range runnable(t, "f32_attention") {
			if !k.Fits(numbersOf(t, w)) {
				continue
			}
			got := runOutputs(t, k, w, pool, outs, operands...)
			if i := differ(got, want, relative, relative); i >= 0 {
				t.Fatalf("%s %s with parts %v: element %d is %v, not %v", k.Variant(), what, isa, i, got[i], want[i])
			}
		}
	}
}

// attentionNormals returns n numbers of mean 0.
func attentionNormals(r *rand.Rand, n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = r.NormFloat64()
	}
	return list
}

func TestAttention(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(21, 22))
	for _, s := range [][6]int{{4, 2, 1, 9, 8, 5}, {4, 2, 3, 1100, 33, 17}, {2, 2, 40, 70, 16, 33},
		{2, 1, 61, 1300, 20, 8}, {1, 1, 5, 1, 1, 1}} {
		queries, keys := s[2], s[3]
		for i, set := range []func(a *lower.Attention){
			nil,
			func(a *lower.Attention) { a.Causal, a.Past = true, graph.Known(keys-min(queries, keys)) },
			func(a *lower.Attention) { a.Causal, a.Window, a.Cap, a.Past = true, 7, 5, graph.Known(3) },
			func(a *lower.Attention) { scale := float32(0.3); a.Scale, a.Sink = &scale, lower.ZeroSinks },
		} {
			c := &attentionCase{heads: s[0], kvHeads: s[1], queries: queries, keys: keys, d: s[4], dv: s[5],
				dtype: floatKinds[i%3].t, set: set}
			c.check(t, r, pool, fmt.Sprint(s, " setting ", i))
		}
	}
}

// TestAttentionPlaces uses keys and values that tiles read in place, and others that they do not:
// rows that are far apart, or a large power of two apart.
func TestAttentionPlaces(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(33, 34))
	for _, s := range [][6]int{{2, 2, 45, 300, 16, 48}, {4, 2, 70, 40, 24, 32}, {3, 3, 260, 37, 20, 16},
		{4, 2, 150, 290, 16, 64}, {4, 4, 19, 33, 128, 64}} {
		for _, aside := range []bool{false, true} {
			for _, causal := range []bool{false, true} {
				c := &attentionCase{heads: s[0], kvHeads: s[1], queries: s[2], keys: s[3], d: s[4], dv: s[5], dtype: tensor.F32,
					aside: aside}
				c.set = func(a *lower.Attention) { a.Causal, a.Past = causal, graph.Known(s[3]-min(s[2], s[3])) }
				c.check(t, r, pool, fmt.Sprint(s, " aside ", aside, " causal ", causal))
			}
		}
	}
}

// TestAttentionScales uses scales that reverse the order of scores or are close to 0.
func TestAttentionScales(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(35, 36))
	for _, scale := range []float32{-0.5, 0, 0x1p-120, 30} {
		for _, queries := range []int{1, 40} {
			c := &attentionCase{heads: 2, kvHeads: 1, queries: queries, keys: 1100, d: 16, dv: 16, dtype: tensor.F32,
				set: func(a *lower.Attention) { a.Scale = &scale }}
			c.check(t, r, pool, fmt.Sprint("scale ", scale, " queries ", queries))
		}
	}
}

func TestAttentionLengths(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(23, 24))
	for _, queries := range []int{1, 9} {
		c := &attentionCase{heads: 4, kvHeads: 2, queries: queries, keys: 40, d: 8, dv: 8, dtype: tensor.F32, lengths: []int64{20, 5, int64(20 + queries), int64(5 + queries), 30},
			sink: true, set: func(a *lower.Attention) { a.Causal = true }}
		c.check(t, r, pool, fmt.Sprint("causal, queries ", queries))
		c.set, c.lengths = nil, []int64{0, 0, 0, 17, 40}
		c.check(t, r, pool, fmt.Sprint("no keys, queries ", queries))
		c.keys, c.lengths = 1500, []int64{1, 2, 1400, 700, 1500}
		c.check(t, r, pool, fmt.Sprint("blocks, queries ", queries))
	}
}

// scoreBytes returns addends of scores in type d. Some are -Inf or false.
func scoreBytes(r *rand.Rand, d tensor.DType, n int) []byte {
	list := attentionNormals(r, n)
	for i := range list {
		if r.IntN(5) == 0 {
			list[i] = math.Inf(-1)
		}
	}
	switch d {
	case tensor.Bool:
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.IntN(2))
		}
		return b
	case tensor.I32:
		b := int32Bytes(make([]int32, n)...)
		for i := range n {
			viewAs[int32](b)[i] = int32(r.IntN(5) - 2)
		}
		return b
	}
	return stored(d, list)
}

func TestAttentionScores(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(25, 26))
	for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16, tensor.F64, tensor.Bool, tensor.I32} {
		for _, dims := range [][]int{{2, 4, 6, 33}, {4, 1, 33}, {6, 30}, {2, 1, 1, 33}, {6, 1}} {
			for stage := attention.ScoresProduct; stage <= attention.ScoresWeights; stage++ {
				c := &attentionCase{heads: 4, kvHeads: 4, queries: 6, keys: 33, d: 5, dv: 3, dtype: tensor.F32, scores: valueOf(d, dims...), shown: true,
					scoreData: scoreBytes(r, d, volume(dims)), set: func(a *lower.Attention) { a.Stage, a.Cap = stage, 4 }}
				c.check(t, r, pool, fmt.Sprint(d, dims, " stage ", stage))
				if d == tensor.F16 {
					c.dtype = tensor.BF16
					c.check(t, r, pool, fmt.Sprint("bfloat16 ", dims, " stage ", stage))
				}
			}
		}
	}
}

func TestAttentionMasks(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(27, 28))
	const queries, keys, past = 5, 21, 16
	random := func(n, most int) []int64 {
		list := make([]int64, n)
		for i := range list {
			list[i] = int64(r.IntN(most))
		}
		return list
	}
	for _, m := range []struct {
		dims []int
		data []int64
	}{
		{[]int{2}, []int64{9, 21}}, {[]int{8}, []int64{9, 21, 0, 0, 0, 0, 0, 0}}, {[]int{4}, []int64{9, 21, 3, 20}},
		{[]int{2, keys}, random(2*keys, 2)}, {[]int{2, queries}, random(2*queries, 2)},
		{[]int{2, queries, keys}, random(2*queries*keys, 2)}, {[]int{2, 1, 24, 24}, random(2*24*24, 2)},
	} {
		for _, d := range []tensor.DType{tensor.I32, tensor.I64} {
			for _, causal := range []bool{false, true} {
				for _, scores := range []*op.Value{nil, valueOf(tensor.F32, 1, 3, queries, keys)} {
					c := &attentionCase{heads: 3, kvHeads: 3, queries: queries, keys: keys, d: 4, dv: 4, dtype: tensor.F32, mask: valueOf(d, m.dims...), scores: scores,
						set: func(a *lower.Attention) { a.Causal, a.Filter, a.Past = causal, -64, graph.Known(past) }}
					c.maskData = int64Bytes(m.data...)
					if d == tensor.I32 {
						c.maskData = int32Bytes(make([]int32, len(m.data))...)
						for i, v := range m.data {
							viewAs[int32](c.maskData)[i] = int32(v)
						}
					}
					if scores != nil {
						c.scoreData = stored(tensor.F32, attentionNormals(r, 3*queries*keys))
					}
					c.check(t, r, pool, fmt.Sprint(m.dims, d, causal, scores != nil))
				}
			}
		}
	}
}

// TestAttentionFailures checks masks that do not match the number of keys.
func TestAttentionFailures(t *testing.T) {
	pool := testPool(t)
	base := attentionCase{heads: 1, kvHeads: 1, queries: 2, keys: 8, d: 4, dv: 4, dtype: tensor.F32,
		lengths: []int64{3, 3, 5, 5, 5}}
	wide, short, square := base, base, base
	wide.scores, wide.scoreData = valueOf(tensor.F32, 2, 8), stored(tensor.F32, make([]float64, 16))
	short.mask, short.maskData = valueOf(tensor.I32, 2, 4), int32Bytes(make([]int32, 8)...)
	square.mask, square.maskData = valueOf(tensor.I32, 2, 1, 4, 4), int32Bytes(make([]int32, 32)...)
	for _, c := range []*attentionCase{&wide, &short, &square} {
		x := stored(tensor.F32, make([]float64, 64))
		y := stored(tensor.F32, make([]float64, 16))
		for _, k := range append(runnable(t, "f32_attention"), runnable(t, "f64_attention")...) {
			f, failed := runCommand(t, k, c.words(t, bindings.DetectISA()), pool, x, x, x, int64Bytes(c.lengths...),
				c.scoreData, c.maskData, nil, y, nil)
			if !failed || !strings.Contains(failure(f).Error(), "mask") {
				t.Errorf("%s: no failure for a mask %v and scores %v of 5 keys", k.Variant(), c.mask, c.scores)
			}
		}
	}
}

// TestAttentionSpecial uses a NaN in a query and infinite keys.
func TestAttentionSpecial(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(29, 30))
	const heads, keys, d = 1, 1100, 3
	for queries, causal := range map[int]bool{6: false, 7: true, 3: false, 4: true} {
		c := &attentionCase{heads: heads, kvHeads: heads, queries: queries, keys: keys, d: d, dv: d, dtype: tensor.F32,
			set: func(a *lower.Attention) { a.Causal = causal }}
		q, k, v := attentionNormals(r, 2*queries*d), attentionNormals(r, 2*keys*d), attentionNormals(r, 2*keys*d)
		q[2*d] = math.NaN()
		k[3*d] = math.Inf(1)
		v[2*d] = math.NaN()
		operands := [][]byte{stored(tensor.F32, q), stored(tensor.F32, k), stored(tensor.F32, v), nil, nil, nil, nil, nil,
			nil}
		outs := []output{{at: 7, dtype: tensor.F32, n: 2 * queries * d}}
		checkVariants(t, "f32_attention", fmt.Sprint("special, queries ", queries, " causal ", causal),
			c.words(t, bindings.DetectISA()), pool, 1e-5, 1e-5, outs, operands...)
	}
}

// appendCase is a growing cache of a batch of 2.
type appendCase struct {
	heads, rows, d, past, room int
	dtype, xType               tensor.DType
	biased, sideBySide         bool
	lengths                    []int64
}

func (c *appendCase) words(t *testing.T) words {
	t.Helper()
	b := testBinder(t, bindings.DetectISA(), nil, nil)
	h := attention.WholeHeads(graph.DimsOf(tensor.Shape{2, c.heads, c.rows, c.d}))
	if c.sideBySide {
		h = attention.HeadsSideBySide(graph.DimsOf(tensor.Shape{2, c.rows, c.heads * c.d}), graph.Known(0), c.heads,
			graph.Known(c.d))
	}
	a := &lower.Append{PastRows: graph.Known(c.past), Kept: graph.Known(c.past), DType: c.dtype, Room: graph.Known(c.room),
		Bias: lower.Value{DType: c.xType}}
	return wordsOf(t, b, func() error {
		_, err := b.Append(lower.Heads{HeadRows: h, DType: c.xType}, a)
		return err
	})
}

// kept returns how many rows of the past of batch b count.
func (c *appendCase) kept(b int) int {
	if c.lengths == nil {
		return c.past
	}
	return int(c.lengths[b])
}

// want returns the cache: the past's rows, x plus bias, and then rows of rest.
func (c *appendCase) want(past, x, bias, rest []float64) []float64 {
	list := slices.Clone(rest)
	for b := range 2 {
		for h := range c.heads {
			for row := range c.room {
				for e := range c.d {
					n := c.kept(b)
					to := &list[((b*c.heads+h)*c.room+row)*c.d+e]
					switch {
					case row < n:
						*to = past[((b*c.heads+h)*c.past+row)*c.d+e]
					case row < n+c.rows:
						from := ((b*c.heads+h)*c.rows+row-n)*c.d + e
						if c.sideBySide {
							from = ((b*c.rows+row-n)*c.heads+h)*c.d + e
						}
						*to = x[from]
						if bias != nil {
							*to += bias[h*c.d+e]
						}
					}
				}
			}
		}
	}
	return list
}

func TestAppend(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(31, 32))
	k := runnable(t, "attention_append")[0]
	for _, c := range []appendCase{
		{heads: 3, rows: 2, d: 5, past: 4, room: 6, dtype: tensor.F32, xType: tensor.F32},
		{heads: 2, rows: 3, d: 64, past: 1100, room: 1300, dtype: tensor.F16, xType: tensor.F16, sideBySide: true},
		{heads: 2, rows: 1, d: 7, past: 9, room: 9, dtype: tensor.F32, xType: tensor.F32, lengths: []int64{2, 8}},
		{heads: 2, rows: 3, d: 8, past: 0, room: 3, dtype: tensor.BF16, xType: tensor.F32, biased: true, sideBySide: true},
		{heads: 2, rows: 3, d: 8, past: 5, room: 12, dtype: tensor.F32, xType: tensor.F16, biased: true, lengths: []int64{0, 5}},
		{heads: 1, rows: 2, d: 3, past: 2, room: 4, dtype: tensor.F64, xType: tensor.F64},
	} {
		past, x := quarters(r, 2*c.heads*c.past*c.d), quarters(r, 2*c.heads*c.rows*c.d)
		var bias []float64
		if c.biased {
			bias = quarters(r, c.heads*c.d)
		}
		var lengths []byte
		if c.lengths != nil {
			lengths = int64Bytes(c.lengths...)
		}
		n := 2 * c.heads * c.room * c.d
		operands := [][]byte{nil, stored(c.xType, x), stored(c.xType, bias), lengths, nil}
		if c.past > 0 {
			operands[0] = stored(c.dtype, past)
		}
		got := runOutputs(t, k, c.words(t), pool, []output{{at: 4, dtype: c.dtype, n: n}}, operands...)
		if i := differ(got, c.want(past, x, bias, make([]float64, n)), 0, 0); i >= 0 {
			t.Fatalf("%+v: element %d is %v", c, i, got[i])
		}
	}
}

// TestAppendInPlace appends to a cache with room, in its own memory. The new rows equal those of a
// copy, and no other byte changes.
func TestAppendInPlace(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(33, 34))
	k := runnable(t, "attention_append")[0]
	for _, lengths := range [][]int64{nil, {3, 7}} {
		c := appendCase{heads: 3, rows: 2, d: 6, past: 16, room: 16, dtype: tensor.F32, xType: tensor.F32, biased: true,
			lengths: lengths}
		w := c.words(t)
		if lengths == nil {
			c.past = 9
			b := appendCase{heads: 3, rows: 2, d: 6, past: 9, room: 16, dtype: tensor.F32, xType: tensor.F32}
			w = b.inRoom(t)
		}
		before := quarters(r, 2*c.heads*c.room*c.d)
		x, bias := quarters(r, 2*c.heads*c.rows*c.d), quarters(r, c.heads*c.d)
		var list []byte
		if lengths != nil {
			list = int64Bytes(lengths...)
		}
		in := c
		in.past = c.room // the past and the cache have the same rows in memory
		in.lengths = []int64{int64(c.kept(0)), int64(c.kept(1))}
		want := in.want(before, x, bias, before)
		for _, p := range []*bindings.Pool{nil, pool} {
			cache := stored(tensor.F32, before)
			if f, failed := runCommand(t, k, w, p, cache, stored(tensor.F32, x), stored(tensor.F32, bias), list, cache); failed {
				t.Fatal(failure(f))
			}
			if i := differ(loaded(tensor.F32, cache), want, 0, 0); i >= 0 {
				t.Fatalf("lengths %v: element %d is %v, not %v", lengths, i, loaded(tensor.F32, cache)[i], want[i])
			}
		}
	}
}

// inRoom returns the words for a past with heads as far apart as the cache's.
func (c *appendCase) inRoom(t *testing.T) words {
	t.Helper()
	b := testBinder(t, bindings.DetectISA(), nil, nil)
	h := attention.WholeHeads(graph.DimsOf(tensor.Shape{2, c.heads, c.rows, c.d}))
	a := &lower.Append{PastRows: graph.Known(c.room), Kept: graph.Known(c.past), DType: c.dtype, Room: graph.Known(c.room),
		Bias: lower.Value{DType: c.xType}}
	return wordsOf(t, b, func() error {
		_, err := b.Append(lower.Heads{HeadRows: h, DType: c.xType}, a)
		return err
	})
}

func TestLengths(t *testing.T) {
	pool := testPool(t)
	k := runnable(t, "attention_lengths")[0]
	known := func(n int) graph.Dim { return graph.Known(n) }
	for _, c := range []struct {
		l    lower.Lengths
		x, y []int32
		want []int64 // nil for a failure
	}{
		{lower.Lengths{Kind: lower.LengthsLast, Tokens: known(1), Room: known(9), Past: known(8)}, []int32{5, 3}, []int32{6}, []int64{5, 3, 6, 4, 6}},
		{lower.Lengths{Kind: lower.LengthsLast, Tokens: known(6), Room: known(9), Past: known(8)}, []int32{5, 3}, []int32{6}, []int64{0, 0, 6, 6, 6}},
		{lower.Lengths{Kind: lower.LengthsLast, Tokens: known(1), Room: known(5), Past: known(5)}, []int32{5, 3}, []int32{6}, nil},
		{lower.Lengths{Kind: lower.LengthsLast, Tokens: known(1), Room: known(9), Past: known(8)}, []int32{5, 6}, []int32{6}, nil},
		{lower.Lengths{Kind: lower.LengthsLast, Tokens: known(1), Room: known(9), Past: known(8)}, []int32{5, -1}, []int32{6}, nil},
		{lower.Lengths{Kind: lower.LengthsLast, Tokens: known(5), Room: known(9), Past: known(8)}, []int32{5, 3}, []int32{6}, nil},
		{lower.Lengths{Kind: lower.LengthsLast, Tokens: known(1), Room: known(9), Past: known(4)}, []int32{5, 3}, []int32{6}, nil},
		{lower.Lengths{Kind: lower.LengthsKeys, Tokens: known(2), Room: known(9), Past: known(7)}, []int32{9, 0}, nil, []int64{7, 7, 9, 0, 9}},
		{lower.Lengths{Kind: lower.LengthsKeys, Tokens: known(2), Room: known(9), Ends: true}, []int32{9, 4}, nil, []int64{7, 2, 9, 4, 9}},
		{lower.Lengths{Kind: lower.LengthsKeys, Tokens: known(2), Room: known(9), Ends: true}, []int32{9, 10}, nil, nil},
		{lower.Lengths{Kind: lower.LengthsPast, Tokens: known(2), Room: known(9), Past: known(9)}, []int32{7}, nil, []int64{7, 7, 9, 9, 9}},
		{lower.Lengths{Kind: lower.LengthsPast, Tokens: known(2), Room: known(9), Past: known(9)}, []int32{8}, nil, nil},
		{lower.Lengths{Kind: lower.LengthsPast, Tokens: known(2), Room: known(9), Past: known(9)}, []int32{-1}, nil, nil},
	} {
		c.l.Batch, c.l.Counts.DType, c.l.All.DType = known(2), tensor.I32, tensor.I32
		b := testBinder(t, 0, nil, nil)
		w := wordsOf(t, b, func() error {
			_, err := b.Lengths(&c.l)
			return err
		})
		out := int64Bytes(make([]int64, 5)...)
		_, failed := runCommand(t, k, w, pool, int32Bytes(c.x...), int32Bytes(c.y...), out)
		if failed != (c.want == nil) {
			t.Errorf("%+v of %v: failed is %v", c.l, c.x, failed)
		} else if !failed && !slices.Equal(viewAs[int64](out), c.want) {
			t.Errorf("%+v of %v: %v, not %v", c.l, c.x, viewAs[int64](out), c.want)
		}
	}
}

func TestTensorScatter(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(35, 36))
	k := runnable(t, "tensor_scatter")[0]
	for _, c := range []struct {
		circular, fails bool
		index           []int64
	}{{false, false, []int64{0, 4}}, {true, false, []int64{5, -2}}, {false, true, []int64{0, 5}}, {false, true, []int64{-1, 0}}} {
		const outer, room, rows, inner = 3, 7, 3, 2
		mode := map[bool]string{true: "circular", false: "linear"}[c.circular]
		n := &graph.Node{Op: "TensorScatter", Version: 24, Inputs: []string{"a", "b", "c"}, Outputs: []string{"d"},
			Attrs: []*graph.Attr{{Name: "mode", Kind: graph.AttrString, Str: []byte(mode)}}}
		o, _, err := standard.Registry().New(n)
		if err != nil {
			t.Fatal(err)
		}
		b := testBinder(t, 0, []*op.Value{valueOf(tensor.F32, 2, outer, room, inner), valueOf(tensor.F32, 2, outer, rows, inner), valueOf(tensor.I64, 2)},
			[]*op.Value{valueOf(tensor.F32, 2, outer, room, inner)})
		w := wordsOf(t, b, func() error { return bindTensorScatter(o.(*attention.TensorScatter), b) })
		cache, update := quarters(r, 2*outer*room*inner), quarters(r, 2*outer*rows*inner)
		want := slices.Clone(cache)
		for i := range update {
			at, e := i/inner, i%inner
			row, head := at%rows, at/rows
			if start := int(c.index[head/outer]); !c.fails {
				want[(head*room+((start+row)%room+room)%room)*inner+e] = update[i]
			}
		}
		x, u := stored(tensor.F32, cache), stored(tensor.F32, update)
		if c.fails {
			y := bytes.Clone(x)
			if _, failed := runCommand(t, k, w, pool, x, u, int64Bytes(c.index...), y); !failed {
				t.Errorf("index %v does not fail", c.index)
			}
			continue
		}
		for _, over := range []bool{false, true} {
			got := runOutputs(t, k, w, pool, []output{{at: 3, dtype: tensor.F32, n: len(cache), over: over}}, x, u,
				int64Bytes(c.index...), nil)
			if i := differ(got, want, 0, 0); i >= 0 {
				t.Errorf("%+v: element %d is %v, not %v", c, i, got[i], want[i])
			}
		}
	}
}
