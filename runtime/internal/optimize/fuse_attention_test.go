package optimize_test

import (
	"math"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// heads splits [batch,rows,n·size] and orders the axes.
func (b *net) heads(x string, n, size int, perm ...int64) string {
	return b.op("Transpose", b.op("Reshape", x, b.ints(0, 0, n, size)), attrInts("perm", perm...))
}

// extent adds a vector with one extent of a value.
func (b *net) extent(x string, axis int) string {
	return b.op("Unsqueeze", b.op("Gather", b.op("Shape", x), b.one(axis)), b.ints(0))
}

// joined reshapes heads of [batch,n,rows,size] to [batch,rows,n·size].
func (b *net) joined(x string, width int) string {
	x = b.op("Transpose", x, attrInts("perm", 0, 2, 1, 3))
	return b.op("Reshape", x, b.op("Concat", b.extent(x, 0), b.extent(x, 1), b.ints(width), attrInt("axis", 0)))
}

// softmax adds a softmax over the last axis.
func (b *net) softmax(x string) string { return b.op("Softmax", x, attrInt("axis", -1)) }

// qkv adds inputs of two heads with four elements each.
func (b *net) qkv() (q, k, v string) {
	return b.in("q", "batch", "tokens", 8), b.in("k", "batch", "keys", 8), b.in("v", "batch", "keys", 8)
}

// split returns q, k and v with their heads before their rows, k transposed.
func (b *net) split() (q, k, v string) {
	q, k, v = b.qkv()
	return b.heads(q, 2, 4, 0, 2, 1, 3), b.heads(k, 2, 4, 0, 2, 3, 1), b.heads(v, 2, 4, 0, 2, 1, 3)
}

// mask adds an input that is 0 for most keys and low for others.
func (b *net) mask(low float64, list ...any) string {
	shape, _ := b.dims(list)
	at := func(i int) float64 {
		if i%3 == 1 {
			return low
		}
		return 0
	}
	return b.given("mask", b.floats(at, shape...), list...)
}

var attended = []string{"ComposedAttention"}

func TestFuseAttention(t *testing.T) {
	check(t, []pattern{
		{name: "bert", want: attended, build: func(b *net) {
			q, k, v := b.split()
			s := b.op("Add", b.op("Div", b.op("MatMul", q, k), b.c(2)), b.mask(-1e4, "batch", 1, 1, "keys"))
			b.out(b.joined(b.op("MatMul", b.softmax(s), v), 8))
		}},
		{name: "scaled on both sides, split from one product", want: []string{"MatMul", "Split", "ComposedAttention"}, build: func(b *net) {
			x := b.op("MatMul", b.in("x", "batch", "tokens", 8), b.weight(8, 24))
			split := b.op("Split", x, b.ints(8, 8, 8), attrInt("axis", 2))
			n := b.g.Nodes[len(b.g.Nodes)-1]
			n.Outputs = []string{split, "k", "v"}
			q, k, v := b.heads(split, 2, 4, 0, 2, 1, 3), b.heads("k", 2, 4, 0, 2, 3, 1), b.heads("v", 2, 4, 0, 2, 1, 3)
			s := b.op("MatMul", b.op("Mul", q, b.c(math.Sqrt(0.5))), b.op("Mul", k, b.c(math.Sqrt(0.5))))
			b.out(b.joined(b.op("MatMul", b.softmax(s), v), 8))
		}},
		{name: "whisper", want: attended, build: func(b *net) {
			q, k, v := b.qkv()
			q = b.op("Mul", q, b.c(0.5))
			q, k, v = b.heads(q, 2, 4, 0, 2, 1, 3), b.heads(k, 2, 4, 0, 2, 3, 1), b.heads(v, 2, 4, 0, 2, 1, 3)
			b.out(b.joined(b.op("MatMul", b.softmax(b.op("MatMul", q, k)), v), 8))
		}},
		{name: "keys turned with their heads joined", want: attended, build: func(b *net) {
			q, k, v := b.qkv()
			q, k, v = b.heads(q, 2, 4, 0, 2, 1, 3), b.heads(k, 2, 4, 0, 2, 1, 3), b.heads(v, 2, 4, 0, 2, 1, 3)
			flat := b.op("Reshape", k, b.op("Concat", b.ints(-1), b.extent(k, 2), b.extent(k, 3), attrInt("axis", 0)))
			turned := b.op("Transpose", flat, attrInts("perm", 0, 2, 1))
			k = b.op("Reshape", turned, b.op("Concat", b.extent(k, 0), b.extent(k, 1), b.extent(k, 3), b.extent(k, 2),
				attrInt("axis", 0)))
			b.out(b.joined(b.op("MatMul", b.softmax(b.op("MatMul", q, k)), v), 8))
		}},
		{name: "shared keys", want: attended, build: func(b *net) {
			repeat := func(x string) string {
				x = b.heads(x, 2, 4, 0, 2, 1, 3)
				e := b.op("Expand", b.op("Unsqueeze", x, b.ints(2)), b.ints(1, 1, 3, 1, 1))
				return b.op("Reshape", e, b.op("Concat", b.extent(x, 0), b.ints(6), b.extent(x, 2), b.ints(4), attrInt("axis", 0)))
			}
			q, k, v := b.in("q", "batch", "tokens", 24), b.in("k", "batch", "keys", 8), b.in("v", "batch", "keys", 8)
			turned := b.op("Transpose", repeat(k), attrInts("perm", 0, 1, 3, 2))
			s := b.op("MatMul", b.heads(q, 6, 4, 0, 2, 1, 3), turned)
			b.out(b.joined(b.op("MatMul", b.softmax(s), repeat(v)), 24))
		}},
		{name: "two masks and a cap", want: []string{"Add", "ComposedAttention"}, build: func(b *net) {
			q, k, v := b.split()
			s := b.op("Mul", b.op("Tanh", b.op("Div", b.op("MatMul", q, k), b.c(5))), b.c(5))
			s = b.op("Add", b.mask(-50, "batch", 1, 1, "keys"), b.op("Add", s, b.in("places", 1, 2, "tokens", "keys")))
			b.out(b.joined(b.op("MatMul", b.softmax(s), v), 8))
		}},
		{name: "keys and values with a cache, no heads to join", want: []string{"Concat", "Concat", "ComposedAttention"}, build: func(b *net) {
			q, k, v := b.in("q", "batch", 2, "tokens", 4), b.in("k", "batch", 2, "tokens", 4), b.in("v", "batch", 2, "tokens", 4)
			k = b.op("Concat", b.in("past_k", "batch", 2, 3, 4), k, attrInt("axis", 2))
			v = b.op("Concat", b.in("past_v", "batch", 2, 3, 4), v, attrInt("axis", 2))
			s := b.op("MatMul", q, b.op("Transpose", k, attrInts("perm", 0, 1, 3, 2)))
			b.out(b.op("MatMul", b.softmax(b.op("Mul", s, b.c(0.5))), v), k, v)
		}},
		{name: "one head", want: []string{"Unsqueeze", "ComposedAttention"}, build: func(b *net) {
			q, k, v := b.qkv()
			s := b.op("MatMul", q, b.op("Transpose", k, attrInts("perm", 0, 2, 1)))
			b.out(b.op("MatMul", b.softmax(b.op("Add", s, b.mask(-1e4, "batch", "tokens", "keys"))), v))
		}},
		{name: "lowest scores by Where", types: []tensor.DType{tensor.F32}, want: []string{"Where", "ComposedAttention"}, build: func(b *net) {
			q, k, v := b.split()
			causal := tensor.New(tensor.Bool, 1, 1, 5, 7)
			for i := range causal.Len() {
				tensor.View[bool](causal)[i] = i%7 <= i/7
			}
			s := b.op("Where", b.given("causal", causal, 1, 1, "tokens", "keys"), b.op("MatMul", q, k), b.c(-math.MaxFloat32))
			b.out(b.joined(b.op("MatMul", b.softmax(s), v), 8))
		}},
		{name: "no keys at all give zeros", types: []tensor.DType{tensor.F32}, want: attended, build: func(b *net) {
			q, k, v := b.split()
			nothing := b.given("mask", b.floats(func(i int) float64 { return math.Inf(-(i % 2)) }, 2, 1, 1, 7), "batch", 1, 1,
				"keys")
			for i := range 7 {
				tensor.View[float32](b.feeds["mask"])[i] = float32(math.Inf(-1))
				tensor.View[float32](b.feeds["mask"])[7+i] = 0
			}
			w := b.softmax(b.op("Add", b.op("MatMul", q, k), nothing))
			w = b.op("Where", b.op("IsNaN", w), b.c(0), w)
			b.out(b.joined(b.op("MatMul", w, v), 8))
		}},
		{name: "softmax of half in float32", types: []tensor.DType{tensor.F16}, want: attended, build: func(b *net) {
			q, k, v := b.split()
			w := b.softmax(b.op("Cast", b.op("MatMul", q, k), attrInt("to", 1)))
			b.out(b.joined(b.op("MatMul", b.op("Cast", w, attrInt("to", 10)), v), 8))
		}},
		{name: "queries scaled by a vector", want: []string{"Reshape", "Transpose", "Reshape", "Reshape", "Transpose", "Mul", "Transpose", "ComposedAttention"}, build: func(b *net) {
			q, k, v := b.split()
			b.out(b.op("MatMul", b.softmax(b.op("MatMul", b.op("Mul", q, b.weight(4)), k)), v))
		}},
		{name: "heads stay apart", want: []string{"ComposedAttention", "Reshape"}, build: func(b *net) {
			q, k, v := b.split()
			b.out(b.op("Transpose", b.op("MatMul", b.softmax(b.op("MatMul", q, k)), v), attrInts("perm", 0, 2, 1, 3)))
		}},
	})
}

func TestAttentionLookAlikes(t *testing.T) {
	parts := func(list ...string) []string {
		return slices.Concat([]string{"Reshape", "Transpose", "Reshape", "Transpose", "Reshape", "Transpose"}, list)
	}
	check(t, []pattern{
		{name: "weights are read elsewhere", want: parts("MatMul", "Softmax", "MatMul"), build: func(b *net) {
			q, k, v := b.split()
			w := b.softmax(b.op("MatMul", q, k))
			b.out(b.op("MatMul", w, v), w)
		}},
		{name: "keys not turned", want: []string{"MatMul", "Softmax", "MatMul"}, build: func(b *net) {
			q, k := b.in("q", "batch", 2, 4, 4), b.in("k", "batch", 2, 4, 4)
			b.out(b.op("MatMul", b.softmax(b.op("MatMul", q, k)), k))
		}},
		{name: "a mask that stretches the batch", want: []string{"Transpose", "MatMul", "Add", "Softmax", "MatMul"}, build: func(b *net) {
			q, k := b.in("q", 1, 2, "tokens", 4), b.in("k", 1, 2, "tokens", 4)
			s := b.op("MatMul", q, b.op("Transpose", k, attrInts("perm", 0, 1, 3, 2)))
			b.out(b.op("MatMul", b.softmax(b.op("Add", s, b.mask(-9, "batch", 1, 1, "tokens"))), k))
		}},
		{name: "keys that stretch to the batch", want: []string{"Transpose", "MatMul", "Softmax", "MatMul"}, build: func(b *net) {
			q, k := b.in("q", "batch", 2, "tokens", 4), b.in("k", 1, 2, "tokens", 4)
			s := b.op("MatMul", q, b.op("Transpose", k, attrInts("perm", 0, 1, 3, 2)))
			b.out(b.op("MatMul", b.softmax(s), k))
		}},
		{name: "scaled after the mask", want: parts("MatMul", "Add", "Mul", "Softmax", "MatMul"), build: func(b *net) {
			q, k, v := b.split()
			s := b.op("Mul", b.op("Add", b.op("MatMul", q, k), b.mask(-9, "batch", 1, 1, "keys")), b.c(0.5))
			b.out(b.op("MatMul", b.softmax(s), v))
		}},
		{name: "scores that are not low enough by Where", want: parts("MatMul", "Where", "Softmax", "MatMul"), build: func(b *net) {
			q, k, v := b.split()
			flags := tensor.New(tensor.Bool, 5, 7)
			s := b.op("Where", b.given("flags", flags, "tokens", "keys"), b.op("MatMul", q, k), b.c(-1e4))
			b.out(b.op("MatMul", b.softmax(s), v))
		}},
		{name: "float64", types: []tensor.DType{tensor.F64}, want: parts("MatMul", "Softmax", "MatMul"), build: func(b *net) {
			q, k, v := b.split()
			b.out(b.op("MatMul", b.softmax(b.op("MatMul", q, k)), v))
		}},
	})
}

// TestAttentionOfNothing compares attention with its nodes if masks leave some queries no key.
// Masks are additive or by Where, with -Inf or the lowest number, alone or added up.
func TestAttentionOfNothing(t *testing.T) {
	const lowest = -math.MaxFloat32
	mask := func(b *net, name string, low float64, row int) string {
		return b.given(name, b.floats(func(i int) float64 {
			if i/7 == row || i%7 == row {
				return low
			}
			return 0
		}, 5, 7), "tokens", "keys")
	}
	flags := func(b *net, name string, row int) string {
		f := tensor.New(tensor.Bool, 5, 7)
		for i := range tensor.View[bool](f) {
			tensor.View[bool](f)[i] = i/7 != row && i%7 != row
		}
		return b.given(name, f, "tokens", "keys")
	}
	for _, tt := range []struct {
		name  string
		masks func(b *net, s string) string
	}{
		{"added", func(b *net, s string) string { return b.op("Add", s, mask(b, "m", math.Inf(-1), 1)) }},
		{"two added", func(b *net, s string) string {
			return b.op("Add", b.op("Add", s, mask(b, "m", math.Inf(-1), 1)), mask(b, "n", math.Inf(-1), 3))
		}},
		{"two of the least number", func(b *net, s string) string {
			return b.op("Add", b.op("Add", s, mask(b, "m", lowest, 1)), mask(b, "n", lowest, 1))
		}},
		{"chosen", func(b *net, s string) string { return b.op("Where", flags(b, "f", 1), s, b.c(math.Inf(-1))) }},
		{"chosen least number", func(b *net, s string) string { return b.op("Where", flags(b, "f", 1), s, b.c(lowest)) }},
		{"the least number, chosen after it is added", func(b *net, s string) string {
			return b.op("Where", flags(b, "f", 1), b.op("Add", s, mask(b, "m", lowest, 1)), b.c(lowest))
		}},
		{"the least number, added after it is chosen", func(b *net, s string) string {
			return b.op("Add", b.op("Where", flags(b, "f", 1), s, b.c(lowest)), mask(b, "m", lowest, 1))
		}},
		{"chosen twice", func(b *net, s string) string {
			return b.op("Where", flags(b, "f", 1), b.op("Where", flags(b, "g", 3), s, b.c(math.Inf(-1))), b.c(lowest))
		}},
	} {
		for _, zeroed := range []bool{false, true} {
			b := newNet(tensor.F32, true)
			q, k, v := b.split()
			w := b.softmax(tt.masks(b, b.op("MatMul", q, k)))
			if zeroed {
				w = b.op("Where", b.op("IsNaN", w), b.c(0), w)
			}
			b.out(b.joined(b.op("MatMul", w, v), 8))
			if !slices.ContainsFunc(b.optimized(t).Graph.Nodes,
				func(n *graph.Node) bool { return n.Op == "ComposedAttention" }) {
				t.Errorf("%s: no attention is found", tt.name)
			}
			want, got := tensor.View[float32](b.run(t, false)[0]), tensor.View[float32](b.run(t, true)[0])
			for i, x := range want {
				if d := math.Abs(float64(x - got[i])); !(d < 1e-5) && (x == x || got[i] == got[i]) {
					t.Errorf("%s, zeroed %v: element %d is %v, want %v", tt.name, zeroed, i, got[i], x)
					break
				}
			}
		}
	}
}
