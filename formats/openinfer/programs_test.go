package openinfer_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// want is the expected shape and elements of a value.
type want struct {
	shape []int
	data  []float64
}

// written is a program with the expected values of its steps.
type written struct {
	name    string
	program string
	sizes   map[string]uint64
	weights map[string]*tensor.Tensor
	meta    []graph.Pair
	steps   []stepWant
}

type stepWant struct {
	in  map[string]*nacre.Tensor
	out map[string]want
	err string // part of the error; empty for none
}

func f32(shape []int, list ...float32) *tensor.Tensor {
	t, err := tensor.From(list, shape...)
	if err != nil {
		panic(err)
	}
	return t
}

func in(shape []int, list ...float32) *nacre.Tensor {
	t, err := nacre.NewTensor(list, shape...)
	if err != nil {
		panic(err)
	}
	return t
}

// open opens a program in the text language, with weights in a file.
func (w *written) open(t testing.TB) (*nacre.Model, error) {
	t.Helper()
	dir := t.TempDir()
	weights := &graph.Model{Format: "oinf", Graph: &graph.Graph{}, Meta: w.meta}
	for name, n := range w.sizes {
		weights.Sizes = append(weights.Sizes, graph.Size{Name: name, Value: n})
	}
	for name, x := range w.weights {
		weights.Graph.Initializers = append(weights.Graph.Initializers, &graph.Initializer{Name: name, Tensor: x})
	}
	program, file := filepath.Join(dir, "program.oig"), filepath.Join(dir, "weights.oinf")
	if err := formats.SaveAs(file, "oinf", weights, formats.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte(w.program), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := openProgram(program, file)
	if err == nil {
		t.Cleanup(func() { m.Close() })
	}
	return m, err
}

// openProgram opens a program with the file of its tensors.
func openProgram(program, weights string) (*nacre.Model, error) {
	m, err := formats.LoadProgram(program, weights)
	if err != nil {
		return nil, err
	}
	return nacre.NewModel(m)
}

func (w *written) run(t *testing.T, o nacre.Options) {
	m, err := w.open(t)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newStepper(t, m, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range w.steps {
		out, err := p.step(context.Background(), step.in)
		if step.err != "" {
			if err == nil || !strings.Contains(err.Error(), step.err) {
				t.Fatalf("step %d: error %v, want one that says %q", i, err, step.err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		for name, x := range step.out {
			got, err := p.fetch(out, name)
			if err != nil {
				t.Errorf("step %d: %v", i, err)
				continue
			}
			if g := numbers(got); !slices.Equal(got.Shape(), x.shape) && len(got.Shape())+len(x.shape) > 0 || !slices.Equal(g, x.data) {
				t.Errorf("step %d: %s is %v %v, want %v %v", i, name, got.Shape(), g, x.shape, x.data)
			}
		}
	}
}

// TestPrograms runs programs with results computed by hand.
func TestPrograms(t *testing.T) {
	testenv.Need(t, bindings.Available())
	for _, w := range slices.Concat(cachePrograms, flowPrograms) {
		for name, o := range ways() {
			t.Run(w.name+"/"+name, func(t *testing.T) { w.run(t, o) })
		}
	}
}

var scalar = []int{}

var cachePrograms = []written{
	{
		name: "counters",
		program: `volatile { a: i32; b: f32; c: u8; }
persistent { n: i32 @init(5); f: f32; w: u8 @init(254); }
block entry {
  cache.increment n;
  cache.increment 3 n;
  cache.decrement f;
  cache.increment 3 w;
  cache.read n >> a;
  cache.read f >> b;
  cache.read w >> c;
  return;
}`,
		steps: []stepWant{
			{out: map[string]want{"a": {scalar, []float64{9}}, "b": {scalar, []float64{-1}}, "c": {scalar, []float64{1}}}},
			{out: map[string]want{"a": {scalar, []float64{13}}, "b": {scalar, []float64{-2}}, "c": {scalar, []float64{4}}, "n": {scalar, []float64{13}}}},
		},
	},
	{
		name: "reset of a tensor",
		program: `dynamic { x: f32[2]; r: bool; }
volatile { y: f32[2]; before: f32[2]; }
persistent { s: f32[2] @init(1.5); }
block entry {
  cache.read s >> before;
  op add(before, x) >> y;
  cache.write y >> s;
  branch r clear keep;
  return;
}
block clear { cache.reset s; return; }
block keep { return; }`,
		steps: []stepWant{
			{in: map[string]*nacre.Tensor{"x": in([]int{2}, 1, 2), "r": nacre.Scalar(false)}, out: map[string]want{"before": {[]int{2}, []float64{1.5, 1.5}}, "y": {[]int{2}, []float64{2.5, 3.5}}}},
			{in: map[string]*nacre.Tensor{"x": in([]int{2}, 1, 2), "r": nacre.Scalar(true)}, out: map[string]want{"y": {[]int{2}, []float64{3.5, 5.5}}, "s": {[]int{2}, []float64{1.5, 1.5}}}},
			{in: map[string]*nacre.Tensor{"x": in([]int{2}, 0, 0), "r": nacre.Scalar(true)}, out: map[string]want{"y": {[]int{2}, []float64{1.5, 1.5}}}},
		},
	},
	{
		name: "table that grows",
		program: `dynamic { x: f32[2]; }
volatile { all: f32[1, 2]; last: f32[2]; }
persistent { t: i64; K(i): f32[2] @table; }
block entry {
  cache.write x >> K[t];
  cache.read K[t] >> last;
  cache.read K >> all;
  cache.increment 2 t;
  return;
}`,
		steps: []stepWant{
			{in: map[string]*nacre.Tensor{"x": in([]int{2}, 1, 2)}, out: map[string]want{"all": {[]int{1, 2}, []float64{1, 2}}, "last": {[]int{2}, []float64{1, 2}}}},
			{in: map[string]*nacre.Tensor{"x": in([]int{2}, 3, 4)}, out: map[string]want{"all": {[]int{3, 2}, []float64{1, 2, 0, 0, 3, 4}}}},
			{in: map[string]*nacre.Tensor{"x": in([]int{2}, 5, 6)}, out: map[string]want{"all": {[]int{5, 2}, []float64{1, 2, 0, 0, 3, 4, 0, 0, 5, 6}}}},
		},
	},
	{
		name: "table of two indices, with ranges",
		program: `volatile { v: f32 @init(7.0); part: f32[2]; row: f32[1]; but: f32[1, 1]; one: f32; tail: f32[1]; }
persistent { K(l, i): f32 @table @init(-1.0) @fixed(l=2); }
block entry {
  loop heads (l in 0..2) {
    cache.write v >> K[l, 1];
    op add(v, v) >> v;
  }
  cache.read K[1, 0..2] >> part;
  cache.read K[0] >> row;
  cache.read K[.., ..-1] >> but;
  cache.read K[1, 4] >> one;
  cache.read K[0, 1..] >> tail;
  return;
}`,
		steps: []stepWant{
			{out: map[string]want{
				"part": {[]int{2}, []float64{-1, 14}}, "row": {[]int{2}, []float64{-1, 7}}, "but": {[]int{2, 1}, []float64{-1, -1}},
				"one": {scalar, []float64{-1}}, "tail": {[]int{4}, []float64{7, -1, -1, -1}}, "v": {scalar, []float64{28}},
			}},
			{out: map[string]want{"row": {[]int{5}, []float64{-1, 7, -1, -1, -1}}, "v": {scalar, []float64{28}}}},
		},
	},
	{
		name: "reset of a prefix",
		program: `dynamic { x: f32; clear: bool; }
volatile { all: f32[1, 1]; }
persistent { K(l, i): f32 @table; t: i32; }
block entry {
  cache.write x >> K[0, t];
  cache.write x >> K[1, 0];
  cache.increment t;
  branch clear zero none;
  cache.read K[,] >> all;
}
block zero { cache.reset K[0]; }
block none { }`,
		steps: []stepWant{
			{in: map[string]*nacre.Tensor{"x": in(nil, 1), "clear": nacre.Scalar(false)}, out: map[string]want{"all": {[]int{2, 1}, []float64{1, 1}}}},
			{in: map[string]*nacre.Tensor{"x": in(nil, 2), "clear": nacre.Scalar(false)}, out: map[string]want{"all": {[]int{2, 2}, []float64{1, 2, 2, 0}}}},
			{in: map[string]*nacre.Tensor{"x": in(nil, 3), "clear": nacre.Scalar(true)}, out: map[string]want{"all": {[]int{2, 1}, []float64{0, 3}}}},
		},
	},
	{
		name: "window of a table of fixed size",
		program: `dynamic { x: f32[1]; }
volatile { w: f32[2, 1]; all: f32[6, 1]; }
persistent { start: i32; end: i32 @init(2); K(i): f32[1] @table @fixed(i=6) @init(0.5); }
block entry {
  cache.write x >> K[end];
  cache.read K[start..end] >> w;
  cache.read K[] >> all;
  cache.increment start;
  cache.increment end;
  return;
}`,
		steps: []stepWant{
			{in: map[string]*nacre.Tensor{"x": in([]int{1}, 1)}, out: map[string]want{"w": {[]int{2, 1}, []float64{0.5, 0.5}}, "all": {[]int{6, 1}, []float64{0.5, 0.5, 1, 0.5, 0.5, 0.5}}}},
			{in: map[string]*nacre.Tensor{"x": in([]int{1}, 2)}, out: map[string]want{"w": {[]int{2, 1}, []float64{0.5, 1}}}},
			{in: map[string]*nacre.Tensor{"x": in([]int{1}, 3)}, out: map[string]want{"w": {[]int{2, 1}, []float64{1, 2}}}},
			{in: map[string]*nacre.Tensor{"x": in([]int{1}, 4)}, out: map[string]want{"w": {[]int{2, 1}, []float64{2, 3}}}},
			{in: map[string]*nacre.Tensor{"x": in([]int{1}, 5)}, err: `entry.0 cache.write x >> K[end]`},
		},
	},
	{
		name: "growing extents",
		program: `volatile { m: f32[1, 2]; }
persistent { M(r, c): f32[1, 2] @auto_dim(r, c) @init(3.0) @fixed(c=1); n: i32; }
block entry {
  cache.read M[n, 0] >> m;
  op add(m, m) >> m;
  cache.write m >> M;
  cache.increment n;
  return;
}`,
		steps: []stepWant{
			{out: map[string]want{"m": {[]int{1, 2}, []float64{6, 6}}}},
			{out: map[string]want{"m": {[]int{2, 2}, []float64{12, 12, 0, 0}}}},
			{out: map[string]want{"m": {[]int{3, 2}, []float64{24, 24, 0, 0, 0, 0}}}},
		},
	},
	{
		name: "persistent elements narrower than a byte",
		program: `volatile { a: i4[3]; b: i32[3]; one: i4[3] @init(3); signs: t1[2]; }
persistent { p: i4[3] @init(-2); s: t1[2]; }
block entry {
  loop twice (i in 0..2) {
    cache.read p >> a;
    op add(a, one) >> a;
    cache.write a >> p;
  }
  cache.read s >> signs;
}`,
		steps: []stepWant{
			{out: map[string]want{"a": {[]int{3}, []float64{4, 4, 4}}, "signs": {[]int{2}, []float64{-1, -1}}}},
			{out: map[string]want{"a": {[]int{3}, []float64{-6, -6, -6}}, "signs": {[]int{2}, []float64{-1, -1}}}},
		},
	},
	{
		name: "fixed size of a growing extent",
		program: `volatile { m: f32[1]; }
persistent { M(r): f32[1] @auto_dim(r) @fixed(r=1); n: i32; }
block entry { cache.read M[n] >> m; cache.increment n; }`,
		steps: []stepWant{
			{out: map[string]want{"m": {[]int{1}, []float64{0}}}},
			{out: map[string]want{"m": {[]int{2}, []float64{0, 0}}}},
			{err: "size is fixed as 1"},
		},
	},
}

var flowPrograms = []written{
	{
		name: "inputs left out",
		program: `dynamic { z: f32[2]; n: i16[3] @init(-7); w: f32[2] @init(9.0); other: f32[2] @ref("w"); m: f32; p: i4[3] @init(-3); unused: f32 @init(1.0); }
volatile { y: f32[2]; y2: f32[2]; k: i16[3]; s: f32; q: i4[3]; }
block entry {
  op add(z, w) >> y;
  op add(z, other) >> y2;
  op add(n, n) >> k;
  op add(m, m) >> s;
  op add(p, p) >> q;
}`,
		weights: map[string]*tensor.Tensor{"w": f32([]int{2}, 3, 4)},
		meta:    []graph.Pair{{Key: "m", Kind: "f32", Data: f32(nil, 2.5)}},
		steps: []stepWant{
			{out: map[string]want{
				"y": {[]int{2}, []float64{3, 4}}, "y2": {[]int{2}, []float64{3, 4}}, "k": {[]int{3}, []float64{-14, -14, -14}},
				"s": {scalar, []float64{5}}, "q": {[]int{3}, []float64{-6, -6, -6}},
			}},
			{in: map[string]*nacre.Tensor{"z": in([]int{2}, 1, 1), "w": in([]int{2}, 0, 1)}, out: map[string]want{"y": {[]int{2}, []float64{1, 2}}, "y2": {[]int{2}, []float64{4, 5}}}},
			{out: map[string]want{"y": {[]int{2}, []float64{3, 4}}}},
		},
	},
	{
		name:  "prefix tables, references, metadata",
		sizes: map[string]uint64{"D": 2, "layers": 2},
		weights: map[string]*tensor.Tensor{
			"w.0.b": f32([]int{2}, 1, 2), "w.1.b": f32([]int{2}, 10, 20), "bias.0": f32([]int{2}, 100, 200), "y": f32([]int{2}, 1, 1),
		},
		meta: []graph.Pair{{Key: "alpha", Kind: "f32", Data: f32(nil, 0.5)}},
		program: `dynamic { x: f32[D]; }
constant { alpha: f32; b: f32[D] @ref("bias.0"); }
volatile { w(l): f32[D] @pattern("w.{l}.b"); y: f32[D]; z: f32[D] @init(-4.0); }
block entry {
  assign t: f32[D];
  loop each (l in 0..layers) {
    op add(y, w[l]) >> y;
  }
  op add(y, b) >> t;
  op add(t, x) >> y;
  op relu(z, alpha=alpha) >> z;
  op sub(x, z) >> z;
  return;
  op add(y, y) >> y;
}`,
		steps: []stepWant{
			{in: map[string]*nacre.Tensor{"x": in([]int{2}, 1000, 0)}, out: map[string]want{"y": {[]int{2}, []float64{1112, 223}}, "z": {[]int{2}, []float64{1002, 2}}}},
			{in: map[string]*nacre.Tensor{"x": in([]int{2}, 0, 0)}, out: map[string]want{"y": {[]int{2}, []float64{112, 223}}, "z": {[]int{2}, []float64{2, 2}}}},
		},
	},
	{
		name:    "loops that a run counts",
		weights: map[string]*tensor.Tensor{"w.0": f32(nil, 1), "w.1": f32(nil, 10), "w.2": f32(nil, 100)},
		program: `dynamic { n: i32; x: f32; }
constant { w(l): f32 @pattern("w.{l}"); }
volatile { y: f32; once: f32; }
persistent { K(i): f32 @table @fixed(i=3); total: f32; }
block entry {
  loop each (l in 0..n) {
    op add(y, w[l]) >> y;
    cache.write y >> K[l];
    branch more;
  }
  loop first (l in 0..n) {
    op add(once, x) >> once;
    return;
    op add(once, x) >> once;
  }
}
block more { cache.increment total; }`,
		steps: []stepWant{
			{in: map[string]*nacre.Tensor{"n": nacre.Scalar(int32(2)), "x": in(nil, 3)}, out: map[string]want{"y": {scalar, []float64{11}}, "once": {scalar, []float64{3}}, "K": {[]int{3}, []float64{1, 11, 0}}, "total": {scalar, []float64{2}}}},
			{in: map[string]*nacre.Tensor{"n": nacre.Scalar(int32(0)), "x": in(nil, 3)}, out: map[string]want{"y": {scalar, []float64{0}}, "once": {scalar, []float64{0}}}},
			{in: map[string]*nacre.Tensor{"n": nacre.Scalar(int32(3)), "x": in(nil, 3)}, out: map[string]want{"y": {scalar, []float64{111}}, "K": {[]int{3}, []float64{1, 11, 111}}, "total": {scalar, []float64{5}}}},
		},
	},
	{
		name: "prefix table at indices that a run counts",
		weights: map[string]*tensor.Tensor{
			"w.0.0.1": f32(nil, 1), "w.0.1.1": f32(nil, 10), "w.0.2.1": f32(nil, 100), "w.1.0.1": f32(nil, 1000), "w.1.1.1": f32(nil, 10000), "w.1.2.1": f32(nil, 100000),
		},
		program: `dynamic { n: i32; m: i64; }
constant { w(l, h, k): f32 @pattern("w.{l}.{h}.{k}"); }
volatile { y: f32; }
block entry {
  loop layers (l in 0..n) {
    loop heads (h in 0..m) {
      op add(y, w[l, h, 1]) >> y;
    }
  }
}`,
		steps: []stepWant{
			{in: map[string]*nacre.Tensor{"n": nacre.Scalar(int32(2)), "m": nacre.Scalar(int64(3))}, out: map[string]want{"y": {scalar, []float64{111111}}}},
			{in: map[string]*nacre.Tensor{"n": nacre.Scalar(int32(2)), "m": nacre.Scalar(int64(2))}, out: map[string]want{"y": {scalar, []float64{11011}}}},
			{in: map[string]*nacre.Tensor{"n": nacre.Scalar(int32(1)), "m": nacre.Scalar(int64(4))}, err: "SequenceAt"},
			{in: map[string]*nacre.Tensor{"n": nacre.Scalar(int32(3)), "m": nacre.Scalar(int64(1))}, err: "SequenceAt"},
		},
	},
	{
		name: "long loops and nested ones",
		program: `volatile { a: i64; b: i64; one: i64 @init(1); }
block entry {
  loop many (i in 0..10000) { op add(a, one) >> a; }
  loop outer (i in 0..3) {
    loop inner (j in 0..4) { op add(b, one) >> b; }
    op add(b, b) >> b;
  }
}`,
		steps: []stepWant{{out: map[string]want{"a": {scalar, []float64{10000}}, "b": {scalar, []float64{56}}}}},
	},
	{
		name: "branches in branches",
		program: `dynamic { p: bool; q: u8; }
volatile { y: f32 @init(1.0); two: f32 @init(2.0); }
block entry { branch p left right; op mul(y, two) >> y; return; }
block left { branch q deep right; op add(y, two) >> y; return; }
block right { op sub(y, two) >> y; }
block deep { op mul(y, two) >> y; op mul(y, two) >> y; }`,
		steps: []stepWant{
			{in: map[string]*nacre.Tensor{"p": nacre.Scalar(true), "q": nacre.Scalar(uint8(9))}, out: map[string]want{"y": {scalar, []float64{12}}}},
			{in: map[string]*nacre.Tensor{"p": nacre.Scalar(true), "q": nacre.Scalar(uint8(0))}, out: map[string]want{"y": {scalar, []float64{2}}}},
			{in: map[string]*nacre.Tensor{"p": nacre.Scalar(false), "q": nacre.Scalar(uint8(9))}, out: map[string]want{"y": {scalar, []float64{-2}}}},
		},
	},
	{
		name: "yield and await",
		program: `dynamic { x: f32[2]; }
constant { bias: f32[2] @init(1.0); }
volatile { y: f32[2]; z: f32[2]; }
block entry {
  op add(x, bias) >> x;
  yield x;
  await x;
  op add(x, x) >> z;
  return;
}
block writer { await x; op add(x, bias) >> x; yield x; }
block reader { await x; op relu(x) >> y; yield x; }`,
		steps: []stepWant{{
			in:  map[string]*nacre.Tensor{"x": in([]int{2}, -3, 3)},
			out: map[string]want{"y": {[]int{2}, []float64{0, 4}}, "z": {[]int{2}, []float64{-2, 10}}, "x": {[]int{2}, []float64{-1, 5}}},
		}},
	},
	{
		name: "operands that are the output",
		program: `dynamic { a: f32; b: f32; }
volatile { y: f32; }
block entry { op sub(a, b) >> b; transfer b >> y; op add(y, a) >> a; }`,
		steps: []stepWant{{
			in:  map[string]*nacre.Tensor{"a": in(nil, 5), "b": in(nil, 3)},
			out: map[string]want{"b": {scalar, []float64{2}}, "y": {scalar, []float64{2}}, "a": {scalar, []float64{7}}},
		}},
	},
}
