package nacre_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// affine returns a file of y = x * scale + shift, row by row of x. The values of scale, [2, 3], and
// of shift, [1, 0] in coordinate form, are defaults of inputs. No node needs the input extra.
func affine(t *testing.T, ir int64) []byte {
	t.Helper()
	scale := made2(t)(tensor.From([]float32{2, 3}, 2))
	extra := made2(t)(tensor.From([]float32{9}, 1))
	values, at := made2(t)(tensor.From([]float32{1}, 1)), made2(t)(tensor.From([]int64{0}, 1))
	pairs := graph.Dims{graph.Symbol("n"), graph.Known(2)}
	of := func(name string, d graph.Dims) *graph.Value {
		return &graph.Value{Name: name, Type: graph.TensorOf(tensor.F32, d)}
	}
	var file bytes.Buffer
	err := onnx.Write(&file, &graph.Model{IR: ir, Opsets: []graph.Opset{{Version: 21}}, Graph: &graph.Graph{
		Inputs:       []*graph.Value{of("scale", pairs[1:]), of("x", pairs), of("shift", pairs[1:]), of("extra", graph.Dims{graph.Known(1)})},
		Outputs:      []*graph.Value{of("y", pairs)},
		Initializers: []*graph.Initializer{{Name: "scale", Tensor: scale}, {Name: "extra", Tensor: extra}},
		Sparse:       []*graph.SparseInitializer{{Name: "shift", Tensor: &graph.SparseTensor{Values: values, Indices: at, Shape: tensor.Shape{2}}}},
		Nodes: []*graph.Node{
			standardNode("Exp", "scale", "power"), standardNode("Log", "power", "factor"),
			standardNode("Mul", "x factor", "scaled"), standardNode("Add", "scaled shift", "y"),
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func made2(t *testing.T) func(*tensor.Tensor, error) *tensor.Tensor {
	return func(x *tensor.Tensor, err error) *tensor.Tensor {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
}

func decoded(t *testing.T, file []byte) *nacre.Model {
	t.Helper()
	m, err := nacre.Decode("test.onnx", file)
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

// texts returns the elements of a tensor to three digits.
func texts(x *nacre.Tensor) string {
	list, err := nacre.Data[float32](x)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%.3g", list)
}

// TestOverriddenInputs gives inputs other values than the model's defaults, in every combination
// and way to run, optimised and not.
func TestOverriddenInputs(t *testing.T) {
	ctx := context.Background()
	x := made(t)(nacre.NewTensor([]float32{1, 1, 10, 10}, 2, 2))
	scale := made(t)(nacre.NewTensor([]float32{4, 5}, 2))
	shift := made(t)(nacre.NewTensor([]float32{-1, -2}, 2))
	for _, plain := range []bool{false, true} {
		s := ready(t, decoded(t, affine(t, 4)), nacre.Options{NoOptimize: plain, Threads: 1})
		if got := fmt.Sprint(s.Inputs(),
			s.Overridable()); got != "[x float32[n,2]] [scale float32[2] shift float32[2] extra float32[1]]" {
			t.Errorf("the session takes %s", got)
		}
		for _, c := range []struct {
			given map[string]*nacre.Tensor
			want  string
		}{
			{map[string]*nacre.Tensor{}, "[3 3 21 30]"},
			{map[string]*nacre.Tensor{"scale": scale}, "[5 5 41 50]"},
			{map[string]*nacre.Tensor{"shift": shift}, "[1 1 19 28]"},
			{map[string]*nacre.Tensor{"scale": scale, "shift": shift}, "[3 3 39 48]"},
			{map[string]*nacre.Tensor{"scale": nil, "shift": shift, "extra": made(t)(nacre.NewTensor([]float32{0}, 1))}, "[1 1 19 28]"},
		} {
			c.given["x"] = x
			for range 2 {
				out, err := s.Run(ctx, c.given)
				if err != nil {
					t.Fatalf("%v: %v", c.given, err)
				}
				if got := texts(out["y"]); got != c.want {
					t.Errorf("optimised %v: Run gives %s, want %s", !plain, got, c.want)
				}
			}
			b, err := s.Bind(context.Background(), c.given)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if err := b.Run(ctx); err != nil || texts(b.Output("y")) != c.want {
				t.Errorf("Bound gives %s, want %s (%v)", texts(b.Output("y")), c.want, err)
			}
			last, err := s.LastRows(ctx, "y")
			if err != nil {
				t.Fatal(err)
			}
			out, prof, err := last.Profile(ctx,
				map[string]nacre.Value{"x": x, "scale": c.given["scale"], "shift": c.given["shift"]})
			if row, ok := out["y"].(*nacre.Tensor); err != nil || prof == nil || !ok ||
				!strings.HasSuffix(c.want, strings.TrimPrefix(texts(row), "[")) {
				t.Errorf("the last row is %v of %s (%v)", out["y"], c.want, err)
			}
			if _, err := s.Plan(context.Background(), c.given); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestOverriddenErrors gives an input of a wrong shape, an input that the model keeps constant, and
// inputs after Close or with a cancelled context.
func TestOverriddenErrors(t *testing.T) {
	ctx := context.Background()
	in := map[string]*nacre.Tensor{"x": made(t)(nacre.NewTensor([]float32{1, 1}, 1, 2)),
		"scale": made(t)(nacre.NewTensor([]float32{4, 5, 6}, 3))}
	s := ready(t, decoded(t, affine(t, 11)), nacre.Options{})
	if _, err := s.Run(ctx, in); !errors.Is(err, nacre.ErrShape) || !strings.Contains(err.Error(), `"scale"`) {
		t.Errorf("a wrong shape: %v", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	in["scale"], in["shift"] = made(t)(nacre.NewTensor([]float32{4, 5}, 2)), made(t)(nacre.NewTensor([]float32{4, 5}, 2))
	if _, err := s.Run(cancelled, in); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context: %v", err)
	}
	if _, err := s.Run(ctx, in); err != nil {
		t.Error(err)
	}
	s.Close()
	if _, err := s.Run(ctx, in); !errors.Is(err, nacre.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	old := ready(t, decoded(t, affine(t, 3)), nacre.Options{})
	if list := old.Overridable(); len(list) != 0 {
		t.Errorf("of IR version 3, runs override %v", list)
	}
	if _, err := old.Run(ctx, in); !errors.Is(err, nacre.ErrUnknownInput) ||
		!strings.Contains(err.Error(), "IR version 4") {
		t.Errorf("a constant is given: %v", err)
	}
}

// TestOverriddenSets overrides more sets of inputs than have programs of their own.
func TestOverriddenSets(t *testing.T) {
	const n = 5
	g := &graph.Graph{Outputs: []*graph.Value{{Name: "sum"}}}
	sum := standardNode("Sum", "", "sum")
	for i := range n {
		name := fmt.Sprint("w", i)
		g.Inputs = append(g.Inputs, vectorOf(name, "n"))
		g.Initializers = append(g.Initializers,
			&graph.Initializer{Name: name, Tensor: made2(t)(tensor.From([]float32{1}, 1))})
		sum.Inputs = append(sum.Inputs, name)
	}
	g.Nodes = []*graph.Node{sum}
	s := ready(t, opened(t, g), nacre.Options{Threads: 1})
	for set := range 1 << n {
		in, want := map[string]*nacre.Tensor{}, n
		for i := range n {
			if set>>i&1 == 1 {
				in[fmt.Sprint("w", i)] = made(t)(nacre.NewTensor([]float32{100}, 1))
				want += 99
			}
		}
		out, err := s.Run(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		if got := texts(out["sum"]); got != fmt.Sprintf("[%.3g]", float32(want)) {
			t.Errorf("set %b gives %s, want %d", set, got, want)
		}
	}
}

// TestOverriddenStream runs a stream with a state that has a default in the model. Reset restores
// the default. The stream also overrides the step of a count.
func TestOverriddenStream(t *testing.T) {
	ctx := context.Background()
	one := func(name string) *graph.Value {
		return &graph.Value{Name: name, Type: graph.TensorOf(tensor.F32, graph.Dims{graph.Known(1)})}
	}
	m := opened(t, &graph.Graph{
		Inputs: []*graph.Value{one("h"), one("step")}, Outputs: []*graph.Value{one("hn"), one("y")},
		Initializers: []*graph.Initializer{{Name: "h", Tensor: made2(t)(tensor.From([]float32{50}, 1))}, {Name: "step", Tensor: made2(t)(tensor.From([]float32{1}, 1))}, {Name: "zero", Tensor: made2(t)(tensor.From([]float32{0}, 1))}},
		Nodes:        []*graph.Node{standardNode("Add", "h step", "hn"), standardNode("Sub", "hn zero", "y")},
	})
	s := ready(t, m, nacre.Options{Threads: 1})
	ten := map[string]*nacre.Tensor{"step": made(t)(nacre.NewTensor([]float32{10}, 1))}
	states := []nacre.State{{Input: "h", Output: "hn", Axis: -1}}
	plain, err := s.NewStream(context.Background(), nacre.StreamOptions{States: states})
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if _, err := plain.Run(ctx, ten); !errors.Is(err, nacre.ErrUnknownInput) ||
		!strings.Contains(err.Error(), "StreamOptions.Override") {
		t.Errorf("a value without Override: %v", err)
	}
	if _, err := s.NewStream(context.Background(),
		nacre.StreamOptions{States: states, Override: []string{"none"}}); !errors.Is(err, nacre.ErrOption) {
		t.Errorf("an unknown name: %v", err)
	}
	st, err := s.NewStream(context.Background(), nacre.StreamOptions{States: states, Override: []string{"step"}})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var got []string
	run := func(st *nacre.Stream, in map[string]*nacre.Tensor) {
		out, err := st.Run(ctx, in)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, texts(out["y"]))
	}
	run(plain, nil)
	run(st, nil)
	run(st, ten)
	fork, err := st.Fork()
	if err != nil {
		t.Fatal(err)
	}
	defer fork.Close()
	run(st, nil)
	run(fork, ten)
	st.Reset()
	fork.Reset()
	run(st, ten)
	run(fork, nil)
	if all := strings.Join(got, " "); all != "[51] [51] [61] [62] [71] [60] [51]" {
		t.Errorf("the runs give %s", all)
	}
}
