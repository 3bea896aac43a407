package nacre_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// rowInput describes an input of float32 with these extents; a name is a symbol.
func rowInput(name string, extents ...any) *graph.Value {
	dims := make(graph.Dims, len(extents))
	for k, e := range extents {
		switch e := e.(type) {
		case int:
			dims[k] = graph.Known(e)
		case string:
			dims[k] = graph.Symbol(e)
		}
	}
	return &graph.Value{Name: name, Type: graph.TensorOf(tensor.F32, dims)}
}

// batcherOf makes a batcher of a session.
func batcherOf(t testing.TB, s *nacre.Session, o nacre.BatcherOptions) *nacre.Batcher {
	t.Helper()
	b, err := nacre.NewBatcher(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// gate is an operator that computes y = 2x. Its run waits for the gate, and fails for a negative
// element.
type gate struct {
	open    chan struct{}
	running atomic.Int64
}

func (g *gate) Infer(c *op.Infer) error {
	c.Out[0].Type = c.In[0].Type
	return nil
}

func (g *gate) Run(c *op.Run) error {
	g.running.Add(1)
	defer g.running.Add(-1)
	select {
	case <-g.open:
	case <-c.Context().Done():
		return op.ErrStopped
	}
	x, y := tensor.View[float32](c.In[0]), tensor.View[float32](c.Out[0])
	for i, v := range x {
		if v < 0 {
			return graph.Errorf(graph.ErrShape, "element %d is negative", i)
		}
		y[i] = 2 * v
	}
	return nil
}

// gated makes a session of a model that is a gate over [n,2], with these options.
func gated(t *testing.T, o nacre.Options) (*gate, *nacre.Session) {
	t.Helper()
	g := &gate{open: make(chan struct{})}
	o.Operators = standard.Registry()
	if err := o.Operators.Register(op.Row{Domain: "test", Name: "Gate", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1},
		Elementwise: true, New: func(*op.Node) (op.Op, error) { return g, nil }}); err != nil {
		t.Fatal(err)
	}
	return g, ready(t, opened(t, &graph.Graph{
		Inputs: []*graph.Value{rowInput("x", "n", 2)}, Outputs: []*graph.Value{{Name: "y"}},
		Nodes: []*graph.Node{{Domain: "test", Op: "Gate", Version: 1, Inputs: []string{"x"}, Outputs: []string{"y"}}},
	}), o)
}

// answer is the result of a run in a goroutine.
type answer struct {
	y   []float32
	err error
}

// begin runs rows of x, which has two columns, in a goroutine.
func begin(ctx context.Context, t *testing.T, b *nacre.Batcher, x ...float32) chan answer {
	in := tensorOf(t, x, len(x)/2, 2)
	done := make(chan answer, 1)
	go func() {
		out, err := b.Run(ctx, map[string]*nacre.Tensor{"x": in})
		y, _ := nacre.Data[float32](out["y"])
		done <- answer{y, err}
	}()
	return done
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not so after 20 s: %s", what)
		}
	}
}

func checkRows(t *testing.T, what string, got answer, want ...float32) {
	t.Helper()
	if got.err != nil || !slices.Equal(got.y, want) {
		t.Errorf("%s: %v, %v, want %v", what, got.y, got.err, want)
	}
}

// TestBatcherGathers joins the callers that come during a run: one leaves, and one has an input that
// fails.
func TestBatcherGathers(t *testing.T) {
	g, s := gated(t, nacre.Options{})
	b := batcherOf(t, s, nacre.BatcherOptions{MaxRows: 5})
	ctx := t.Context()
	first := begin(ctx, t, b, 1, 2)
	eventually(t, "the first runs", func() bool { return g.running.Load() == 1 })
	leaving, leave := context.WithCancel(ctx)
	left := begin(leaving, t, b, 9, 9)
	two, one, bad := begin(ctx, t, b, 3, 4, 5, 6), begin(ctx, t, b, 7, 8), begin(ctx, t, b, 1, -1)
	time.Sleep(20 * time.Millisecond)
	leave()
	if a := <-left; !errors.Is(a.err, context.Canceled) {
		t.Errorf("the caller that left: %v", a.err)
	}
	close(g.open)
	checkRows(t, "first", <-first, 2, 4)
	checkRows(t, "two rows", <-two, 6, 8, 10, 12)
	checkRows(t, "one row", <-one, 14, 16)
	if a := <-bad; !errors.Is(a.err, nacre.ErrShape) {
		t.Errorf("the caller with a negative element: %v", a.err)
	}
	if st := s.Stats(); st.Runs < 3 || st.Runs > 6 || st.Failed < 1 {
		t.Errorf("%d runs and %d failed", st.Runs, st.Failed)
	}
	checkRows(t, "afterwards", <-begin(ctx, t, b, 1, 1), 2, 2)
}

// TestBatcherLeaves has callers leave a joined run: it ends when all have left.
func TestBatcherLeaves(t *testing.T) {
	g, s := gated(t, nacre.Options{})
	b := batcherOf(t, s, nacre.BatcherOptions{MaxRows: 3, MaxDelay: time.Hour})
	for _, leave := range []int{1, 2, 3} {
		ctx, cancel := context.WithCancel(t.Context())
		var list []chan answer
		for i := range 3 {
			own := t.Context()
			if i < leave {
				own = ctx
			}
			list = append(list, begin(own, t, b, float32(i), 1))
		}
		eventually(t, "three run as one", func() bool { return g.running.Load() == 1 })
		cancel()
		for i := range leave {
			if a := <-list[i]; !errors.Is(a.err, context.Canceled) {
				t.Errorf("%d of 3 leave: %v", leave, a.err)
			}
		}
		if leave < 3 {
			g.open <- struct{}{}
		}
		for i := leave; i < 3; i++ {
			checkRows(t, fmt.Sprintf("%d of 3 leave", leave), <-list[i], 2*float32(i), 2)
		}
		eventually(t, "the run ended", func() bool { return g.running.Load() == 0 })
	}
	eventually(t, "3 runs ended, of which 1 failed", func() bool {
		st := s.Stats()
		return st.Runs == 3 && st.Failed == 1
	})
}

func TestBatcherWaits(t *testing.T) {
	g, s := gated(t, nacre.Options{MaxWaiting: 1})
	b := batcherOf(t, s, nacre.BatcherOptions{})
	first := begin(t.Context(), t, b, 1, 2)
	eventually(t, "the first runs", func() bool { return g.running.Load() == 1 })
	second, third := begin(t.Context(), t, b, 3, 4), begin(t.Context(), t, b, 3, 4)
	var busy answer
	other := second
	select {
	case busy = <-second:
		other = third
	case busy = <-third:
	}
	if !errors.Is(busy.err, nacre.ErrBusy) {
		t.Errorf("a second run that gathers: %v", busy.err)
	}
	close(g.open)
	checkRows(t, "first", <-first, 2, 4)
	checkRows(t, "the one that gathers", <-other, 6, 8)

	g, s = gated(t, nacre.Options{MaxWait: 10 * time.Millisecond})
	b = batcherOf(t, s, nacre.BatcherOptions{})
	first = begin(t.Context(), t, b, 1, 2)
	eventually(t, "the first runs", func() bool { return g.running.Load() == 1 })
	if a := <-begin(t.Context(), t, b, 3, 4); !errors.Is(a.err, nacre.ErrBusy) {
		t.Errorf("a run that gathers too long: %v", a.err)
	}
	close(g.open)
	checkRows(t, "first", <-first, 2, 4)
}

// TestBatcherClosed closes the session while callers gather: behind a run that is under way, and within
// MaxDelay. Their runs end before Close returns.
func TestBatcherClosed(t *testing.T) {
	for _, o := range []nacre.BatcherOptions{{MaxRows: 3}, {MaxDelay: time.Hour}} {
		g, s := gated(t, nacre.Options{})
		b := batcherOf(t, s, o)
		var first chan answer
		if o.MaxDelay == 0 {
			first = begin(t.Context(), t, b, 1, 2)
			eventually(t, "the first runs", func() bool { return g.running.Load() == 1 })
		}
		var list []chan answer
		for i := range 7 {
			list = append(list, begin(t.Context(), t, b, float32(i), 1))
		}
		eventually(t, "seven gather", func() bool { return b.Stats().Gathering == 7 })
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		eventually(t, "the session takes no runs", func() bool {
			_, err := b.Run(t.Context(), nil)
			return errors.Is(err, nacre.ErrClosed)
		})
		eventually(t, "a run is under way", func() bool { return g.running.Load() == 1 })
		select {
		case err := <-closed:
			t.Errorf("%+v: Close returns %v before the runs end", o, err)
		default:
		}
		close(g.open)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if st := b.Stats(); st.Gathering != 0 {
			t.Errorf("%+v: %d gather after Close", o, st.Gathering)
		}
		if first != nil {
			checkRows(t, "first", <-first, 2, 4)
		}
		for i, a := range list {
			checkRows(t, fmt.Sprintf("%+v: caller %d, who gathers", o, i), <-a, 2*float32(i), 2)
		}
		if _, err := nacre.NewBatcher(t.Context(), s, o); !errors.Is(err, nacre.ErrClosed) {
			t.Errorf("a batcher after Close: %v", err)
		}
		if a := <-begin(t.Context(), t, b, 1, 2); !errors.Is(a.err, nacre.ErrClosed) {
			t.Errorf("a run after Close: %v", a.err)
		}
	}
}

// TestBatcherRows joins rows along several axes, of several types, beside an input without rows.
func TestBatcherRows(t *testing.T) {
	text := &graph.Value{Name: "text", Type: graph.TensorOf(tensor.String, graph.Dims{graph.Symbol("n"), graph.Symbol("m")})}
	s := ready(t, opened(t, &graph.Graph{
		Inputs:  []*graph.Value{rowInput("a", "n", 2), rowInput("b", 2, "n"), rowInput("c", "k"), text},
		Outputs: []*graph.Value{{Name: "sum"}, {Name: "square"}, {Name: "twice"}, {Name: "same"}},
		Nodes: []*graph.Node{standardNode("Transpose", "b", "bt"), standardNode("Add", "a bt", "sum"),
			standardNode("Mul", "b b", "square"), standardNode("Add", "c c", "twice"), standardNode("Identity", "text", "same")},
	}), nacre.Options{})
	b := batcherOf(t, s, nacre.BatcherOptions{MaxRows: 4, MaxDelay: time.Hour})
	var wait sync.WaitGroup
	for i, n := range []int{1, 3} {
		wait.Go(func() {
			x := make([]float32, 2*n)
			for k := range x {
				x[k] = float32(10*i + k)
			}
			words, _ := nacre.Strings(slices.Repeat([]string{fmt.Sprint(i)}, n), n, 1)
			in := map[string]*nacre.Tensor{"a": tensorOf(t, x, n, 2), "b": tensorOf(t, x, 2, n), "c": tensorOf(t, []float32{1, 2, 3}, 3),
				"text": words}
			want, err := s.Run(t.Context(), in)
			if err != nil {
				t.Error(err)
				return
			}
			got, err := b.Run(t.Context(), in)
			if err != nil {
				t.Error(err)
				return
			}
			for name, y := range want {
				if got[name].String() != y.String() || !slices.Equal(got[name].Bytes(), y.Bytes()) ||
					!slices.Equal(got[name].Strings(), y.Strings()) {
					t.Errorf("%d rows, %s: %v, want %v", n, name, got[name], y)
				}
			}
		})
	}
	wait.Wait()
	if st := s.Stats(); st.Runs != 3 {
		t.Errorf("%d runs, want 2 alone and 1 joined", st.Runs)
	}
	if got, want := b.Stats(), (nacre.BatcherStats{Calls: 2, Joined: 2, JoinedRuns: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestBatcherProof lists models, and the node that mixes their rows; "" for none.
func TestBatcherProof(t *testing.T) {
	ints := func(name string, list ...int64) *graph.Attr {
		return &graph.Attr{Name: name, Kind: graph.AttrInts, Ints: list}
	}
	number := func(name string, n int64) *graph.Attr { return &graph.Attr{Name: name, Kind: graph.AttrInt, Int: n} }
	constant := func(name string, shape []int, list ...int64) *graph.Initializer {
		x, err := tensor.From(list, shape...)
		if err != nil {
			t.Fatal(err)
		}
		return &graph.Initializer{Name: name, Tensor: x}
	}
	x := rowInput("x", "n", 4)
	for _, c := range []struct {
		name, node string
		inputs     []*graph.Value
		constants  []*graph.Initializer
		nodes      []*graph.Node
	}{
		{name: "elementwise", nodes: []*graph.Node{standardNode("Exp", "x", "y")}},
		{name: "heads", nodes: []*graph.Node{
			standardNode("Reshape", "x heads", "a"), standardNode("Transpose", "a", "b", ints("perm", 0, 2, 1)),
			standardNode("MatMul", "a b", "c"), standardNode("Softmax", "c", "y", number("axis", -1)),
		}, constants: []*graph.Initializer{constant("heads", []int{3}, 0, 2, -1)}},
		{name: "extents computed", nodes: []*graph.Node{
			standardNode("Shape", "x", "s"), standardNode("Gather", "s zero", "n"), standardNode("Unsqueeze", "n axis", "m"),
			standardNode("Concat", "m minus", "t", number("axis", 0)), standardNode("Reshape", "x t", "y"),
		}, constants: []*graph.Initializer{constant("zero", nil, 0), constant("axis", []int{1}, 0), constant("minus", []int{1}, -1)}},
		{name: "a token for all", nodes: []*graph.Node{
			standardNode("Shape", "x", "s"), standardNode("ConstantOfShape", "s", "o"), standardNode("Concat", "o x", "y", number("axis", 1)),
		}},
		{name: "windows in the batch", nodes: []*graph.Node{
			standardNode("Reshape", "x two", "a"), standardNode("Softmax", "a", "b", number("axis", 1)), standardNode("Reshape", "b four", "y"),
		}, constants: []*graph.Initializer{constant("two", []int{2}, -1, 2), constant("four", []int{2}, -1, 4)}},
		{name: "a mean of all", node: "ReduceMean", nodes: []*graph.Node{standardNode("ReduceMean", "x", "m", number("keepdims", 1)),
			standardNode("Sub", "x m", "y")}},
		{name: "softmax over rows", node: "Softmax", nodes: []*graph.Node{standardNode("Softmax", "x", "y", number("axis", 0))}},
		{name: "scales of all", node: "DynamicQuantizeLinear", nodes: []*graph.Node{standardNode("DynamicQuantizeLinear", "x", "q s z"),
			standardNode("DequantizeLinear", "q s z", "y")}},
		{name: "a number of rows", node: "Mul", nodes: []*graph.Node{standardNode("Size", "x", "s"),
			standardNode("Cast", "s", "f", number("to", 1)), standardNode("Mul", "x f", "y")}},
		{name: "a computed end", node: "Slice", nodes: []*graph.Node{standardNode("Shape", "x", "s"),
			standardNode("Cast", "s", "f", number("to", 1)), standardNode("Sqrt", "f", "r"), standardNode("Cast", "r", "e", number("to", 7)),
			standardNode("Slice", "x zeros e", "y")}, constants: []*graph.Initializer{constant("zeros", []int{2}, 0, 0)}},
		{name: "rows times rows", node: "MatMul", nodes: []*graph.Node{standardNode("Transpose", "x", "t"),
			standardNode("MatMul", "x t", "y")}},
		{name: "rows in the columns", node: "Reshape", nodes: []*graph.Node{standardNode("Reshape", "x two", "y")},
			constants: []*graph.Initializer{constant("two", []int{2}, 2, -1)}},
		{name: "a row of its own", node: "Add", inputs: []*graph.Value{x, rowInput("z", "k", 4)},
			nodes: []*graph.Node{standardNode("Add", "x z", "y")}},
		{name: "random", node: "RandomNormalLike", nodes: []*graph.Node{standardNode("RandomNormalLike", "x", "r"),
			standardNode("Add", "x r", "y")}},
		{name: "which rows", node: "NonZero", nodes: []*graph.Node{standardNode("NonZero", "x", "y")}},
		{name: "no rows", node: "no input", inputs: []*graph.Value{rowInput("x", 1, "n")}, nodes: []*graph.Node{standardNode("Exp", "x", "y")}},
	} {
		for _, plain := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, " ", plain), func(t *testing.T) {
				if c.inputs == nil {
					c.inputs = []*graph.Value{x}
				}
				s := ready(t, opened(t, &graph.Graph{Inputs: c.inputs, Outputs: []*graph.Value{{Name: "y"}}, Nodes: c.nodes,
					Initializers: c.constants}), nacre.Options{NoOptimize: plain})
				b, err := nacre.NewBatcher(t.Context(), s, nacre.BatcherOptions{MaxRows: 3, MaxDelay: time.Hour})
				switch {
				case c.node != "" && (!errors.Is(err, nacre.ErrOption) || !strings.Contains(err.Error(), c.node)):
					t.Errorf("%v, want an error that names %s", err, c.node)
				case c.node == "" && err != nil:
					t.Error(err)
				case c.node == "":
					checkJoined(t, s, b, tensorOf(t, []float32{1, 2, 3, 4}, 1, 4), tensorOf(t, []float32{5, -6, 7, 0.5, -1, 0, 2, 3}, 2, 4))
				}
			})
		}
	}
}

// checkJoined runs inputs together, and compares the results with single runs.
func checkJoined(t *testing.T, s *nacre.Session, b *nacre.Batcher, list ...*nacre.Tensor) {
	t.Helper()
	var wait sync.WaitGroup
	for _, x := range list {
		wait.Go(func() {
			in := map[string]*nacre.Tensor{"x": x}
			want, err := s.Run(t.Context(), in)
			if err != nil {
				t.Error(err)
				return
			}
			got, err := b.Run(t.Context(), in)
			if err != nil {
				t.Error(err)
				return
			}
			g, _ := nacre.Data[float32](got["y"])
			w, _ := nacre.Data[float32](want["y"])
			if got["y"].String() != want["y"].String() {
				t.Errorf("got %v, want %v", got["y"], want["y"])
				return
			}
			for i := range w {
				if math.Abs(float64(g[i]-w[i])) > 1e-6*math.Abs(float64(w[i])) {
					t.Errorf("element %d is %v, want %v", i, g[i], w[i])
				}
			}
		})
	}
	wait.Wait()
	if st := b.Stats(); st.Joined != len(list) || st.JoinedRuns != 1 {
		t.Errorf("%+v; %d calls were to be joined", st, len(list))
	}
}

func TestBatcherOptions(t *testing.T) {
	s := ready(t, opened(t, &graph.Graph{Inputs: []*graph.Value{rowInput("x", "n")}, Outputs: []*graph.Value{{Name: "y"}},
		Nodes: []*graph.Node{standardNode("Exp", "x", "y")}}), nacre.Options{})
	for _, o := range []nacre.BatcherOptions{{MaxRows: -1}, {MaxDelay: -1}} {
		if _, err := nacre.NewBatcher(t.Context(), s, o); !errors.Is(err, nacre.ErrOption) {
			t.Errorf("%v: %v", o, err)
		}
	}
	b := batcherOf(t, s, nacre.BatcherOptions{MaxRows: 2})
	for rows, want := range map[int]error{0: nil, 1: nil, 5: nil} {
		if _, err := b.Run(t.Context(), map[string]*nacre.Tensor{"x": zeros(t, nacre.Float32, rows)}); !errors.Is(err, want) {
			t.Errorf("%d rows: %v", rows, err)
		}
	}
	for name, x := range map[string]*nacre.Tensor{"x": zeros(t, nacre.Int64, 1), "z": zeros(t, nacre.Float32, 1)} {
		if _, err := b.Run(t.Context(), map[string]*nacre.Tensor{name: x}); !errors.Is(err, nacre.ErrShape) && !errors.Is(err, nacre.ErrUnknownInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBatcherNetwork runs a real network by many callers, some of which leave, and compares their
// results with those of single runs.
func TestBatcherNetwork(t *testing.T) {
	m, err := nacre.Open("cmd/nacre/demo/digits.onnx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	s := ready(t, m, nacre.Options{})
	b := batcherOf(t, s, nacre.BatcherOptions{MaxRows: 8})
	const callers, each = 16, 40
	in, want := make([]map[string]*nacre.Tensor, callers), make([][]float32, callers)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range in {
		if in[i], err = s.ZeroInputs(map[string]int{"batch": 1 + i%3}); err != nil {
			t.Fatal(err)
		}
		x, _ := nacre.Data[float32](in[i]["image"])
		for k := range x {
			x[k] = random.Float32() * 16
		}
		out, err := s.Run(t.Context(), in[i])
		if err != nil {
			t.Fatal(err)
		}
		want[i], _ = nacre.Data[float32](out["probabilities"])
	}
	before := s.Stats().Runs
	var differs, left atomic.Int64
	var wait sync.WaitGroup
	for i := range callers {
		wait.Go(func() {
			for k := range each {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				if (i+k)%7 == 0 {
					cancel()
				}
				out, err := b.Run(ctx, in[i])
				cancel()
				if errors.Is(err, context.Canceled) {
					left.Add(1)
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				got, _ := nacre.Data[float32](out["probabilities"])
				for j, v := range got {
					if v != want[i][j] {
						differs.Add(1)
					}
					if math.Abs(float64(v-want[i][j])) > 2e-6 {
						t.Errorf("caller %d: element %d is %v, want %v", i, j, v, want[i][j])
						return
					}
				}
			}
		})
	}
	wait.Wait()
	// On one CPU a run may end before the next caller comes.
	if runs := s.Stats().Runs - before; runs > callers*each {
		t.Errorf("%d runs for %d callers", runs, callers*each)
	} else {
		t.Logf("%d calls, of which %d left, in %d runs; %d elements differ in their last digits", callers*each, left.Load(), runs, differs.Load())
	}
}
