package openinfer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// refused is a program that fails before anything runs.
type refused struct{ name, program, err string }

var refusals = []refused{
	{"block that runs itself", `block entry { branch a; } block a { branch entry; }`, `block "entry" runs itself: entry → a → entry`},
	{"missing block", `block entry { branch nowhere; }`, `block "entry", node 0 (branch nowhere): there is no block "nowhere"`},
	{"no entry", `block main { }`, `there is no block "entry"`},
	{"no block", `volatile { x: f32; }`, `there is no block; a program begins`},
	{"missing variable", `volatile { y: f32; } block entry { op add(y, z) >> y; }`, `block "entry", node 0 (op add(y, z) >> y): there is no variable "z"`},
	{"missing size", `volatile { y: f32[Q]; } block entry { }`, `variable "y": there is no size variable "Q"`},
	{"large extents", `volatile { y: f32[4611686018427387904 * 2]; } block entry { }`, `variable "y": extent 4611686018427387904*2 is too large`},
	{"many elements", `volatile { y: f32[1000000000000, 1000000000]; } block entry { }`, `variable "y": shape`},
	{"unknown operator", `volatile { y: f32; } block entry { op conv(y) >> y; }`, `there is no operator "conv"`},
	{"operand that is persistent", `persistent { p: f32; } volatile { y: f32; } block entry { op relu(p) >> y; }`, `"p" is persistent; cache.read gives its value`},
	{"constant output", `constant { c: f32; } block entry { op relu(c) >> c; }`, `"c" is constant and cannot be written`},
	{"shapes that differ", `volatile { a: f32[2]; b: f32[3]; } block entry { op relu(a) >> b; }`, `the output has shape [3]; the result has shape [2]`},
	{"types that differ", `volatile { a: f32[2]; b: i8[2]; } block entry { op relu(a) >> b; }`, `the output is of type i8`},
	{"condition", `volatile { a: f32[2]; } block entry { branch a x x; } block x { }`, `the condition "a" is f32[2]; it must be a scalar`},
	{"loop bound", `volatile { a: f32; } block entry { loop l (i in 0..a) { } }`, `bound "a": it is of type f32`},
	{"assign twice", `block entry { assign t: f32; assign t: f32; }`, `"t" is assigned already`},
	{"assign of a variable", `volatile { t: f32; } block entry { assign t: f32; }`, `"t" is a variable already`},
	{"index of a plain variable", `persistent { p: f32; } volatile { y: f32; } block entry { cache.read p[0] >> y; }`, `"p" has no indices`},
	{"index beyond a fixed size", `persistent { p(i): f32 @table @fixed(i=4); } volatile { y: f32; } block entry { cache.read p[4] >> y; }`, `index "i" of "p": it is 4, and the size is fixed as 4`},
	{"loop beyond a fixed size", `persistent { p(i): f32 @table @fixed(i=4); } volatile { y: f32; } block entry { loop l (i in 0..5) { cache.read p[i] >> y; } }`, `index "i" of "p" is 4, and the size is fixed as 4`},
	{"negative index", `persistent { p(i): f32 @table; } volatile { y: f32; } block entry { cache.read p[-1] >> y; }`, `it is -1; it must not be negative`},
	{"too many indices", `persistent { p(i): f32 @table; } volatile { y: f32; } block entry { cache.read p[1, 2] >> y; }`, `"p" has the indices [i], and 2 are given`},
	{"write of a range", `persistent { p(i): f32 @table; } volatile { y: f32; } block entry { cache.write y >> p[0..2]; }`, `a write takes one entry`},
	{"table of packed elements", `persistent { p(i): i4 @table; } block entry { }`, `narrower than a byte`},
	{"pattern without its index", `volatile { w(l): f32 @pattern("w.{m}"); } block entry { }`, `places [m], and its indices are [l]`},
	{"missing tensor of a table", `volatile { w(l): f32 @pattern("w.{l}"); y: f32; } block entry { loop i (l in 0..2) { op relu(w[l]) >> y; } }`, `the model has no tensor "w.0"`},
	{"open index of a table without tensors", `dynamic { n: i32; } volatile { w(l): f32 @pattern("w.{l}"); y: f32; } block entry { loop i (l in 0..n) { op relu(w[l]) >> y; } }`, `the model has no tensor "w.0"`},
	{"missing reference", `constant { c: f32 @ref("other"); } block entry { }`, `the model has no tensor "other"`},
	{"two that change", `volatile { x: f32; } block entry { yield x; await x; } block a { await x; op relu(x) >> x; yield x; } block b { await x; op relu(x) >> x; yield x; }`, `blocks "a" and "b" both change "x"`},
	{"use of what is yielded", `volatile { x: f32; } block entry { yield x; op relu(x) >> x; await x; } block a { await x; yield x; }`, `"x" was yielded; it must be awaited`},
	{"yield twice", `volatile { x: f32; y: f32; } block entry { yield x; yield y; await x; } block a { await x; yield x; }`, `are yielded already`},
	{"await of what is not yielded", `volatile { x: f32; y: f32; } block entry { yield x; await x; } block a { await y; yield y; }`, `"y" is awaited, and entry yields [x]`},
	{"yield that is not last", `volatile { x: f32; } block entry { yield x; await x; } block a { await x; yield x; barrier; }`, `must be the last of the block`},
	{"counter of a tensor", `persistent { p: f32[2]; } block entry { cache.increment p; }`, `"p" is no scalar`},
	{"input that is not there", `volatile { y: f32[1]; } block entry { op add(y) >> y; }`, `add takes 2 inputs, not 1`},
	{"loops that multiply", `volatile { y: f32; } block entry { ` + strings.Repeat("branch a; ", 60) + `} ` + doubling(), `make more than`},
	{"element type that an operator does not take", `volatile { a: bool[2]; } block entry { op neg(a) >> a; }`, `block "entry", node 0 (op neg(a) >> a): neg does not take elements of type bool`},
	{"accumulator that is not wider", `volatile { a: i8[2]; b: i8[2]; } block entry { op add(a, a acc=i8) >> b; }`, `block "entry", node 0 (op add(a, a, acc=i8) >> b): add: acc=i8 does not widen elements of type i8`},
	{"accumulator of floats", `volatile { a: f32[2]; b: f64[2]; } block entry { op add(a, a acc=f64) >> b; }`, `acc=f64 does not widen elements of type f32`},
	{"unknown attribute", `volatile { a: f32[2]; } block entry { op relu(a slope=1.0) >> a; }`, `block "entry", node 0 (op relu(a, slope=1.0) >> a): relu: attribute "slope" is not one of [alpha clamp_max]`},
	{"attribute of another kind", `volatile { a: f32[2]; } block entry { op relu(a alpha="text") >> a; }`, `attribute "alpha" is text (string); it must be a number`},
	{"attribute that names a tensor", `volatile { a: f32[2]; b: f32[2]; } block entry { op relu(a alpha=b) >> a; }`, `attribute "alpha" is a variable of type f32[2]; it must be a scalar`},
	{"attribute that names nothing", `volatile { a: f32[2]; } block entry { op relu(a alpha=b) >> a; }`, `attribute "alpha": there is no variable "b"`},
	{"over its input", `volatile { a: f32[2, 2]; } block entry { op sum_axis(a axes=[0] keepdims=true) >> a; }`, `sum_axis: the output is an input, which the operator does not allow`},
	{"extents that do not stretch", `volatile { a: f32[2]; b: f32[3]; } block entry { op add(a, b) >> b; }`, `add: shapes [2] and [3] do not broadcast`},
	{"inputs of two types", `volatile { a: f32[2]; b: f64[2]; } block entry { op add(a, b) >> b; }`, `input 1 is of type f64 and input 0 of type f32`},
	{"output that is persistent", `volatile { a: f32; } persistent { p: f32; } block entry { op relu(a) >> p; }`, `"p" is persistent; cache.read gives its value`},
	{"transfer of another shape", `volatile { a: f32[2]; b: f32[3]; } block entry { transfer a >> b; }`, `block "entry", node 0 (transfer a >> b): "a" is f32[2] and "b" is f32[3]`},
	{"await of a constant", `constant { c: f32; } block entry { yield c; await c; }`, `block "entry", node 1 (await c): "c" is constant and cannot be awaited`},
	{"loop in a loop of its index", `volatile { a: f32; } block entry { loop x (i in 0..2) { loop y (i in 0..2) { op relu(a) >> a; } } }`, `block "entry", node 1 (loop y (i in 0..2)): index "i" is already the index of an outer loop`},
	{"bound that is not there", `block entry { loop x (i in 0..n) { } }`, `bound "n": it is no number, no size variable and no variable`},
	{"counter that is not persistent", `volatile { a: i32; } block entry { cache.increment a; }`, `"a" is volatile; caches are persistent variables`},
	{"counter of packed elements", `persistent { p: i4; } block entry { cache.increment p; }`, `"p" is of type i4; only integers of whole bytes and floats can be counted`},
	{"read into another shape", `persistent { p: f32[2]; } volatile { y: f32[3]; } block entry { cache.read p >> y; }`, `"y" is declared with shape [3], and p has shape [2]`},
	{"write of another type", `persistent { p: f32[2]; } volatile { y: f64[2]; } block entry { cache.write y >> p; }`, `"y" is of type f64 and "p" of type f32`},
	{"yield of a persistent", `persistent { p: f32; } block entry { yield p; await p; }`, `block "entry", node 0 (yield p): "p" is persistent; cache.read gives its value`},
	{"names that do not fit", `volatile { y: f32; } block entry { op relu(y[0]) >> y; }`, `"y" takes 0 indices, not 1`},
}

// doubling returns blocks that each run the next block many times.
func doubling() string {
	var b strings.Builder
	names := "abcdefghijklmnop"
	for i := range len(names) - 1 {
		fmt.Fprintf(&b, "block %c { %s } ", names[i], strings.Repeat(fmt.Sprintf("branch %c; ", names[i+1]), 60))
	}
	return b.String() + "block p { op relu(y) >> y; }"
}

// TestRefusals checks that opening or lowering every program in refusals fails, and that the error
// names the file.
func TestRefusals(t *testing.T) {
	for _, r := range refusals {
		t.Run(r.name, func(t *testing.T) {
			w := written{program: r.program}
			m, err := w.open(t)
			if err == nil {
				_, err = m.Network()
			}
			if err == nil || !strings.Contains(err.Error(), r.err) {
				t.Fatalf("error %v, want one that says %q", err, r.err)
			}
			if !strings.Contains(err.Error(), "program.oig") {
				t.Errorf("error %v does not name the file", err)
			}
		})
	}
}

// TestEndless runs programs that do not end, or grow without bound, under a deadline and a memory
// limit.
func TestEndless(t *testing.T) {
	testenv.Need(t, bindings.Available())
	for name, program := range map[string]string{
		"loop of 2^60":     `volatile { y: f32 @init(1.0); } block entry { loop l (i in 0..1152921504606846976) { op add(y, y) >> y; } }`,
		"loops in loops":   `volatile { y: f32 @init(1.0); } block entry { loop a (i in 0..1000000000) { loop b (j in 0..1000000000) { loop c (k in 0..1000000000) { op add(y, y) >> y; } } } }`,
		"table that grows": `volatile { y: f32[1000]; } persistent { K(i): f32[1000] @table; } block entry { op add(y, y) >> y; loop l (i in 0..1152921504606846976) { cache.write y >> K[i]; } }`,
		"read of a vast table": `volatile { y: f32[1000]; all: f32[1, 1000]; } persistent { K(i): f32[1000] @table; n: i64 @init(1152921504606846976); }
			block entry { cache.write y >> K[n]; cache.read K >> all; }`,
		"vast growing extent": `volatile { m: f32[1, 1]; } persistent { M(r, c): f32[1, 1] @auto_dim(r, c); n: i64 @init(4611686018427387904); } block entry { cache.read M[n, n] >> m; }`,
		"vast zeros":          `volatile { m: f32[1000000000, 100]; y: f32[1000000000, 100]; } block entry { op relu(m) >> y; }`,
		"vast input":          `dynamic { x: f32[1000000000, 100]; } volatile { y: f32[1000000000, 100]; } block entry { op relu(x) >> y; }`,
		"vast state":          `volatile { m: f32[1000000000, 100]; } persistent { s: f32[1000000000, 100] @init(1.0); } block entry { cache.read s >> m; }`,
	} {
		t.Run(name, func(t *testing.T) {
			w := written{program: program}
			m, err := w.open(t)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			defer cancel()
			begin := time.Now()
			err = runUnder(ctx, t, m)
			if err == nil || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, nacre.ErrMemory) && !errors.Is(err, nacre.ErrShape) {
				t.Errorf("error %v, want one of memory or of the deadline", err)
			}
			t.Log(err)
			if d := time.Since(begin); d > 10*time.Second {
				t.Errorf("it took %v to end", d)
			}
		})
	}
}

func runUnder(ctx context.Context, t *testing.T, m *nacre.Model) error {
	s, err := m.NewSessionContext(ctx, nacre.Options{MemoryLimit: 64 << 20, Threads: 1})
	if err != nil {
		return err
	}
	defer s.Close()
	if len(m.States()) == 0 {
		_, err = s.Run(ctx, nil)
		return err
	}
	st, err := s.NewStream(context.Background(), nacre.StreamOptions{})
	if err != nil {
		return err
	}
	defer st.Close()
	_, err = st.Run(ctx, nil)
	return err
}
