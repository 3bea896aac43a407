package optimize_test

import "testing"

// angles adds the products of positions and frequencies, [1,tokens,n].
func (b *net) angles(n int) string {
	return b.op("MatMul", b.in("positions", 1, "tokens", 1), b.weight(1, n))
}

// caches adds cosines and sines of angles, each number twice, with an axis of heads.
func (b *net) caches(angles string, axis int) (cos, sin string) {
	both := b.op("Concat", angles, angles, attrInt("axis", -1))
	return b.op("Unsqueeze", b.op("Cos", both), b.ints(axis)), b.op("Unsqueeze", b.op("Sin", both), b.ints(axis))
}

// slice adds a part of the last axis.
func (b *net) slice(x string, start, end, step int) string {
	return b.op("Slice", x, b.ints(start), b.ints(end), b.ints(-1), b.ints(step))
}

const far = 1<<63 - 1

// turned exchanges the halves of x and negates the second.
func (b *net) turned(x string, half int) string {
	return b.op("Concat", b.op("Neg", b.slice(x, half, far, 1)), b.slice(x, 0, half, 1), attrInt("axis", -1))
}

// neighbours exchanges neighbours and negates the second.
func (b *net) neighbours(x string, shape ...int) string {
	odd, even := b.op("Neg", b.slice(x, 1, far, 2)), b.slice(x, 0, far, 2)
	pairs := b.op("Concat", b.op("Unsqueeze", odd, b.ints(-1)), b.op("Unsqueeze", even, b.ints(-1)), attrInt("axis", -1))
	return b.op("Reshape", pairs, b.ints(shape...))
}

// rotate adds x·cos + y·sin.
func (b *net) rotate(x, cos, y, sin string) string {
	return b.op("Add", b.op("Mul", x, cos), b.op("Mul", y, sin))
}

// made lists the operators that compute the caches.
func made(more ...string) []string {
	return append([]string{"MatMul", "Concat", "Cos", "Unsqueeze", "Sin", "Unsqueeze", "Slice", "Squeeze", "Slice",
		"Squeeze"}, more...)
}

func TestFuseRotary(t *testing.T) {
	check(t, []pattern{
		{name: "llama", want: made("RotaryEmbedding"), build: func(b *net) {
			cos, sin := b.caches(b.angles(4), 1)
			x := b.in("x", "batch", 2, "tokens", 8)
			b.out(b.rotate(x, cos, b.turned(x, 4), sin))
		}},
		{name: "before the heads are in front", want: made("RotaryEmbedding", "Reshape", "Transpose", "Neg"), build: func(b *net) {
			cos, sin := b.caches(b.angles(4), 1)
			x := b.heads(b.in("x", "batch", "tokens", 16), 2, 8, 0, 2, 1, 3)
			b.out(b.op("Neg", b.rotate(x, cos, b.turned(x, 4), sin)))
		}},
		{name: "a table of positions, batches that differ", want: []string{"Gather", "Unsqueeze", "Gather", "Unsqueeze", "Slice", "Squeeze", "Slice", "Squeeze", "RotaryEmbedding"}, build: func(b *net) {
			table := func(seed int) string {
				at := func(i int) float64 { return float64((i%8%4*7+i/8*5+seed)%11) / 11 }
				return b.constant(b.floats(at, 9, 8))
			}
			at := b.given("at", integers(0, 3, 2, 8, 1, 1, 1, 4, 0, 7), "batch", "tokens")
			cos := b.op("Unsqueeze", b.op("Gather", table(1), at), b.ints(1))
			sin := b.op("Unsqueeze", b.op("Gather", table(2), at), b.ints(1))
			x := b.in("x", "batch", 2, "tokens", 8)
			b.out(b.rotate(x, cos, b.turned(x, 4), sin))
		}},
		{name: "a part of each head", want: made("RotaryEmbedding"), build: func(b *net) {
			cos, sin := b.caches(b.angles(2), 1)
			x := b.in("x", "batch", 2, "tokens", 6)
			first := b.slice(x, 0, 4, 1)
			b.out(b.op("Concat", b.rotate(first, cos, b.turned(first, 2), sin), b.slice(x, 4, far, 1), attrInt("axis", 3)))
		}},
		{name: "neighbours, heads behind tokens", want: []string{"MatMul", "Cos", "Unsqueeze", "Expand", "Reshape", "Sin", "Unsqueeze", "Expand", "Reshape",
			"Slice", "Squeeze", "Slice", "Squeeze", "RotaryEmbedding", "Reshape"}, build: func(b *net) {
			angles := b.angles(2)
			pairs := func(op string) string {
				twice := b.op("Expand", b.op("Unsqueeze", b.op(op, angles), b.ints(2, 4)), b.ints(1, 1, 1, 1, 2))
				return b.op("Reshape", twice, b.ints(0, 0, 0, 4))
			}
			cos, sin := pairs("Cos"), pairs("Sin")
			x := b.op("Reshape", b.in("x", "batch", "tokens", 8), b.ints(0, 0, 2, 4))
			b.out(b.rotate(x, cos, b.neighbours(x, 0, 0, 0, 4), sin))
		}},
		{name: "halves that Split makes, caches that hold numbers once", want: []string{"MatMul", "Unsqueeze", "Cos", "Sin", "Squeeze", "Squeeze", "RotaryEmbedding"}, build: func(b *net) {
			angles := b.op("Unsqueeze", b.angles(3), b.ints(1))
			cos, sin := b.op("Cos", angles), b.op("Sin", angles)
			x1 := b.op("Split", b.in("x", "batch", 2, "tokens", 6), b.ints(3, 3), attrInt("axis", 3))
			b.g.Nodes[len(b.g.Nodes)-1].Outputs = []string{x1, "x2"}
			sub := b.op("Sub", b.op("Mul", x1, cos), b.op("Mul", "x2", sin))
			add := b.op("Add", b.op("Mul", x1, sin), b.op("Mul", "x2", cos))
			b.out(b.op("Concat", sub, add, attrInt("axis", -1)))
		}},
		{name: "taken over by attention", want: made("RotaryEmbedding", "RotaryEmbedding", "ComposedAttention"), build: func(b *net) {
			b.symbols["keys"] = b.symbols["tokens"]
			cos, sin := b.caches(b.angles(2), 1)
			q, k, v := b.in("q", "batch", "tokens", 8), b.in("k", "batch", "tokens", 8), b.in("v", "batch", "tokens", 8)
			q, k, v = b.heads(q, 2, 4, 0, 2, 1, 3), b.heads(k, 2, 4, 0, 2, 1, 3), b.heads(v, 2, 4, 0, 2, 1, 3)
			q, k = b.rotate(q, cos, b.turned(q, 2), sin), b.rotate(k, cos, b.turned(k, 2), sin)
			s := b.op("MatMul", q, b.op("Transpose", k, attrInts("perm", 0, 1, 3, 2)))
			b.out(b.joined(b.op("MatMul", b.softmax(s), v), 8))
		}},
	})
}

func TestRotaryLookAlikes(t *testing.T) {
	kept := []string{"Slice", "Neg", "Slice", "Concat", "Mul", "Mul", "Add"}
	check(t, []pattern{
		{name: "cosines of which nothing is known", want: kept, build: func(b *net) {
			x := b.in("x", "batch", 2, "tokens", 8)
			b.out(b.rotate(x, b.in("cos", 1, 1, "tokens", 8), b.turned(x, 4), b.in("sin", 1, 1, "tokens", 8)))
		}},
		{name: "cosines for each head", want: kept, build: func(b *net) {
			table := b.constant(b.floats(func(i int) float64 { return float64(i % 4) }, 2, 5, 8))
			x := b.in("x", "batch", 2, "tokens", 8)
			b.out(b.rotate(x, table, b.turned(x, 4), table))
		}},
		{name: "parts that are no halves", want: kept, build: func(b *net) {
			table := b.constant(b.floats(func(i int) float64 { return float64(i % 4) }, 1, 1, 8))
			x := b.in("x", "batch", 2, 1, 8)
			b.out(b.rotate(x, table, b.turned(x, 3), table))
		}},
		{name: "of another value", want: kept, build: func(b *net) {
			table := b.constant(b.floats(func(i int) float64 { return float64(i % 4) }, 1, 1, 8))
			x, y := b.in("x", "batch", 2, 1, 8), b.in("y", "batch", 2, 1, 8)
			b.out(b.rotate(x, table, b.turned(y, 4), table))
		}},
		{name: "the swapped halves are read elsewhere", want: kept, build: func(b *net) {
			table := b.constant(b.floats(func(i int) float64 { return float64(i % 4) }, 1, 1, 8))
			x := b.in("x", "batch", 2, 1, 8)
			y := b.turned(x, 4)
			b.out(b.rotate(x, table, y, table), y)
		}},
	})
}
