package nacre_test

import (
	"context"
	"errors"
	"io"
	"runtime"
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

// opened decodes a graph of opset 21 and closes the model with the test.
func opened(t testing.TB, g *graph.Graph) *nacre.Model {
	t.Helper()
	m, err := nacre.Decode("test.onnx", encoded(g))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// ready makes a session and closes it with the test.
func ready(t testing.TB, m *nacre.Model, o nacre.Options) *nacre.Session {
	t.Helper()
	s, err := m.NewSession(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func standardNode(name, in, out string, attrs ...*graph.Attr) *graph.Node {
	return &graph.Node{Op: name, Version: 21, Inputs: strings.Fields(in), Outputs: strings.Fields(out), Attrs: attrs}
}

func vectorOf(name, symbol string) *graph.Value {
	return &graph.Value{Name: name, Type: graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol(symbol)})}
}

// twoHeads computes sum = a + b, high = exp(sum), and low = -c.
func twoHeads() *graph.Graph {
	return &graph.Graph{
		Inputs:  []*graph.Value{vectorOf("a", "n"), vectorOf("b", "n"), vectorOf("c", "m")},
		Outputs: []*graph.Value{{Name: "high"}, {Name: "low"}},
		Nodes:   []*graph.Node{standardNode("Add", "a b", "sum"), standardNode("Exp", "sum", "high"), standardNode("Neg", "c", "low")},
	}
}

func TestChosenOutputs(t *testing.T) {
	m := opened(t, twoHeads())
	x := made(t)(nacre.NewTensor([]float32{1, 2}, 2))
	for _, c := range []struct {
		outputs  []string
		required string
		steps    string
	}{
		{nil, "a b c", "Add-21 Exp-21 Neg-21"},
		{[]string{"low"}, "c", "Neg-21"},
		{[]string{"high"}, "a b", "Add-21 Exp-21"},
		{[]string{"sum"}, "a b", "Add-21"},
		{[]string{"low", "sum"}, "a b c", "Add-21 Neg-21"},
	} {
		t.Run(strings.Join(c.outputs, " "), func(t *testing.T) {
			s := ready(t, m, nacre.Options{Outputs: c.outputs, NoOptimize: true, Threads: 1})
			in := map[string]*nacre.Tensor{}
			for _, v := range s.Inputs() {
				if v.Required {
					in[v.Name] = x
				}
			}
			if len(s.Inputs()) != 3 || len(in) != len(strings.Fields(c.required)) {
				t.Errorf("the session takes %v", s.Inputs())
			}
			for name := range in {
				less := map[string]*nacre.Tensor{}
				for other := range in {
					if other != name {
						less[other] = x
					}
				}
				if _, err := s.Run(context.Background(), less); !errors.Is(err, nacre.ErrMissingInput) || !strings.Contains(err.Error(), `"`+name+`"`) {
					t.Errorf("without %s: %v", name, err)
				}
			}
			pl, err := s.Plan(context.Background(), in)
			if err != nil {
				t.Fatal(err)
			}
			var steps []string
			for _, st := range pl.Steps() {
				steps = append(steps, st.Op)
			}
			slices.Sort(steps)
			if strings.Join(steps, " ") != c.steps {
				t.Errorf("steps are %v, want %s", steps, c.steps)
			}
			in["a"], in["b"], in["c"] = x, x, x
			out, err := s.Run(context.Background(), in)
			if err != nil {
				t.Fatal(err)
			}
			want := c.outputs
			if want == nil {
				want = []string{"high", "low"}
			}
			for i, v := range s.Outputs() {
				if v.Name != want[i] || out[v.Name] == nil || v.Type() == "unknown" {
					t.Errorf("output %d is %v", i, v)
				}
			}
			if len(out) != len(want) {
				t.Errorf("outputs are %v", out)
			}
		})
	}
}

// TestListedConstant lists an initialiser among the inputs.
func TestListedConstant(t *testing.T) {
	w, err := tensor.From([]float32{1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	m := opened(t, &graph.Graph{
		Inputs: []*graph.Value{vectorOf("x", "n"), vectorOf("w", "k")}, Outputs: []*graph.Value{{Name: "y"}},
		Initializers: []*graph.Initializer{{Name: "w", Tensor: w}}, Nodes: []*graph.Node{standardNode("Add", "x w", "y")},
	})
	list := m.Inputs()
	if len(list) != 2 || !list[0].Required || list[1].Required {
		t.Errorf("inputs are %+v", list)
	}
	list[0] = nacre.Info{}
	if m.Inputs()[0].Name != "x" {
		t.Error("the list of inputs is shared")
	}
	s := ready(t, m, nacre.Options{})
	if in := s.Inputs(); len(in) != 1 || in[0].Name != "x" || !in[0].Required {
		t.Errorf("the session takes %v", in)
	}
	x := made(t)(nacre.NewTensor([]float32{1, 2}, 2))
	if _, err := s.Run(context.Background(), map[string]*nacre.Tensor{"x": x}); err != nil {
		t.Error(err)
	}
	weight := made(t)(m.Weight("w"))
	data, err := nacre.Data[float32](weight)
	if err != nil {
		t.Fatal(err)
	}
	data[0] = 5
	if again := made(t)(m.Weight("w")); again.Text(0) != "1" || m.Weights()[0].Type() != "float32[1]" {
		t.Errorf("the weight is %s of type %s", again.Text(0), m.Weights()[0].Type())
	}
	if _, err := m.Weight("v"); !errors.Is(err, nacre.ErrOption) {
		t.Errorf("a weight that is not there: %v", err)
	}
}

func TestContext(t *testing.T) {
	s := open(t, nacre.Options{})
	in := map[string]*nacre.Tensor{"image": zeros(t, nacre.Float32, 1, 1, 8, 8)}
	var none context.Context
	if _, err := s.Run(none, in); !errors.Is(err, nacre.ErrOption) {
		t.Errorf("a nil context: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Run(ctx, in); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context: %v", err)
	}
	ctx, cancel = context.WithTimeout(context.Background(), -time.Second)
	defer cancel()
	if _, err := s.Run(ctx, in); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a deadline that has passed: %v", err)
	}
}

// TestMemoryLimit exceeds the limit, once visibly in the plan and once only while running.
func TestMemoryLimit(t *testing.T) {
	m := opened(t, &graph.Graph{
		Inputs:  []*graph.Value{{Name: "shape", Type: graph.TensorOf(tensor.I64, graph.Dims{graph.Known(1)})}},
		Outputs: []*graph.Value{{Name: "y"}}, Nodes: []*graph.Node{standardNode("ConstantOfShape", "shape", "y")},
	})
	s := ready(t, m, nacre.Options{MemoryLimit: 1 << 20})
	for n, kind := range map[int64]error{1000: nil, 1 << 20: nacre.ErrMemory} {
		in := map[string]*nacre.Tensor{"shape": made(t)(nacre.NewTensor([]int64{n}, 1))}
		if _, err := s.Run(context.Background(), in); !errors.Is(err, kind) {
			t.Errorf("%d elements: got %v, want %v", n, err, kind)
		}
	}
	x := zeros(t, nacre.Float32, 1<<20)
	s = ready(t, opened(t, twoHeads()), nacre.Options{MemoryLimit: 1 << 20})
	in := map[string]*nacre.Tensor{"a": x, "b": x, "c": x}
	if _, err := s.Run(context.Background(), in); !errors.Is(err, nacre.ErrMemory) {
		t.Errorf("got %v", err)
	}
	if p, err := s.Plan(context.Background(), in); err != nil || p.PeakBytes() < 8<<20 || p.OutputBytes() != 8<<20 {
		t.Errorf("the plan is %v (%v)", p, err)
	}
}

func TestValues(t *testing.T) {
	vector := graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol("n")})
	m := opened(t, &graph.Graph{
		Inputs:  []*graph.Value{{Name: "list", Type: graph.Type{Kind: graph.SequenceType, Elem: &vector}}, vectorOf("x", "n")},
		Outputs: []*graph.Value{{Name: "longer"}, {Name: "length"}},
		Nodes:   []*graph.Node{standardNode("SequenceInsert", "list x", "longer"), standardNode("SequenceLength", "longer", "length")},
	})
	s := ready(t, m, nacre.Options{})
	if in := s.Inputs(); in[0].Type() != "sequence(float32[n])" || in[0].Elem.DType != nacre.Float32 {
		t.Errorf("the session takes %v", in)
	}
	x := made(t)(nacre.NewTensor([]float32{1, 2}, 2))
	in := map[string]nacre.Value{"list": &nacre.Sequence{Items: []nacre.Value{x}}, "x": x}
	out, err := s.RunValues(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	if got := out["longer"].String(); got != "sequence(float32[2], float32[2])" ||
		out["length"].(*nacre.Tensor).Text(0) != "2" {
		t.Errorf("got %v", out)
	}
	again, profile, err := s.Profile(context.Background(), in)
	if err != nil || len(again) != 2 || len(profile.Steps()) != 2 || len(profile.Operators()) != 2 {
		t.Errorf("profile %v (%v)", profile, err)
	}
	if _, err := s.Run(context.Background(),
		map[string]*nacre.Tensor{"list": x, "x": x}); !errors.Is(err, nacre.ErrShape) {
		t.Errorf("a tensor for a sequence: %v", err)
	}
	deep := &nacre.Sequence{}
	deep.Items = []nacre.Value{deep}
	for name, v := range map[string]nacre.Value{
		"item nil": &nacre.Sequence{Items: []nacre.Value{nil}}, "item a nil tensor": &nacre.Sequence{Items: []nacre.Value{(*nacre.Tensor)(nil)}},
		"optional": &nacre.Optional{}, "optional of nothing": &nacre.Optional{Item: (*nacre.Tensor)(nil)},
		"map": &nacre.Map{}, "map of floats": &nacre.Map{Keys: x, Values: x}, "itself": deep,
	} {
		if _, err := s.RunValues(context.Background(),
			map[string]nacre.Value{"list": v, "x": x}); !errors.Is(err, nacre.ErrShape) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, v := range []nacre.Value{nil, (*nacre.Tensor)(nil), (*nacre.Sequence)(nil), (*nacre.Optional)(nil),
		(*nacre.Map)(nil)} {
		if _, err := s.RunValues(context.Background(),
			map[string]nacre.Value{"list": v, "x": x}); !errors.Is(err, nacre.ErrMissingInput) {
			t.Errorf("%T: got %v", v, err)
		}
		if v != nil && v.String() != "none" {
			t.Errorf("%T: no value is %v", v, v)
		}
	}
	only := ready(t, m, nacre.Options{Outputs: []string{"longer"}})
	if _, err := only.ZeroInputs(map[string]int{"n": 1}); !errors.Is(err, nacre.ErrUnsupported) {
		t.Errorf("zeros for a sequence: %v", err)
	}
}

// TestSequenceOutput calls Run for a model that returns a sequence.
func TestSequenceOutput(t *testing.T) {
	s := ready(t, opened(t, &graph.Graph{
		Inputs: []*graph.Value{vectorOf("x", "n")}, Outputs: []*graph.Value{{Name: "list"}}, Nodes: []*graph.Node{standardNode("SequenceConstruct", "x x", "list")},
	}), nacre.Options{})
	_, err := s.Run(context.Background(), map[string]*nacre.Tensor{"x": zeros(t, nacre.Float32, 2)})
	if !errors.Is(err, nacre.ErrUnsupported) || !strings.Contains(err.Error(), "RunValues") {
		t.Errorf("got %v", err)
	}
}

func TestZeroInputs(t *testing.T) {
	g := twoHeads()
	g.Inputs[2].Type.Dims[0] = graph.Unknown()
	s := ready(t, opened(t, g), nacre.Options{})
	in, err := s.ZeroInputs(map[string]int{"n": 3, "c[0]": 0})
	if err != nil {
		t.Fatal(err)
	}
	if len(in) != 3 || in["a"].String() != "float32[3]" || in["c"].String() != "float32[0]" {
		t.Errorf("got %v", in)
	}
	for name, c := range map[string]struct {
		sizes map[string]int
		kind  error
		say   string
	}{
		"missing":  {map[string]int{"n": 1}, nacre.ErrOption, "c[0]"},
		"negative": {map[string]int{"n": -1, "c[0]": 1}, nacre.ErrOption, "negative"},
		"unknown":  {map[string]int{"n": 1, "c[0]": 1, "m": 1}, nacre.ErrOption, `"m"`},
		"huge":     {map[string]int{"n": 1 << 55, "c[0]": 1}, nacre.ErrMemory, "bytes"},
	} {
		if _, err := s.ZeroInputs(c.sizes); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// watched returns a registry that calls f whenever it makes a Snake operator.
func watched(t *testing.T, f func() error) *op.Registry {
	t.Helper()
	row := snakeRow
	row.New = func(n *op.Node) (op.Op, error) {
		n.Ignore("alpha")
		return &snake{1}, f()
	}
	r := standard.Registry()
	if err := r.Register(row); err != nil {
		t.Fatal(err)
	}
	return r
}

func decodeSnake(t *testing.T) *nacre.Model {
	t.Helper()
	m, err := nacre.Decode("snake.onnx", snakeModel())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func closeAll(t *testing.T, list ...io.Closer) {
	t.Helper()
	for _, c := range list {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSessionsAtOnce makes sessions while another is being made. Sessions with other options do not
// wait; sessions with the same options share one construction.
func TestSessionsAtOnce(t *testing.T) {
	var alone, constructed atomic.Int32
	m := decodeSnake(t)
	closeAll(t, ready(t, m, nacre.Options{Operators: watched(t, func() error { alone.Add(1); return nil })}), m)
	m = decodeSnake(t)
	entered, let := make(chan struct{}), make(chan struct{})
	var enter sync.Once
	slow := watched(t, func() error {
		constructed.Add(1)
		enter.Do(func() { close(entered) })
		<-let
		return nil
	})
	const callers = 8
	var wg sync.WaitGroup
	sessions := make([]*nacre.Session, callers)
	for i := range sessions {
		wg.Go(func() {
			s, err := m.NewSession(nacre.Options{Operators: slow, Threads: 1})
			if err != nil {
				t.Error(err)
			}
			sessions[i] = s
		})
	}
	<-entered
	closeAll(t, ready(t, m, nacre.Options{Operators: withSnake(t), Threads: 1}))
	if err := m.Close(); !errors.Is(err, nacre.ErrInUse) {
		t.Errorf("Close while a session was being made: %v", err)
	}
	close(let)
	wg.Wait()
	again := ready(t, m, nacre.Options{Operators: slow, Threads: 1})
	if constructed.Load() != alone.Load() {
		t.Errorf("%d sessions made %d operators, and one alone makes %d", callers+1, constructed.Load(), alone.Load())
	}
	for _, s := range sessions {
		closeAll(t, s)
	}
	closeAll(t, again, m)
}

// TestSessionAgain makes a session after one that could not be made.
func TestSessionAgain(t *testing.T) {
	m := decodeSnake(t)
	refused := errors.New("not today")
	r := watched(t, func() error { return refused })
	if _, err := m.NewSession(nacre.Options{Operators: r}); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
	refused = nil
	closeAll(t, ready(t, m, nacre.Options{Operators: r}), m)
}

// TestSessionDropped drops sessions without closing them. Collecting them does not end the program.
func TestSessionDropped(t *testing.T) {
	drop := func() {
		_, s, in := openDigits(t)
		if _, err := s.Run(context.Background(), in); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Bind(context.Background(), in); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		drop()
	}
	for range 5 {
		runtime.GC()
		time.Sleep(10 * time.Millisecond) // finalizers run in the background
	}
}
