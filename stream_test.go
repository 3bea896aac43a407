package nacre_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// decoder returns a file with the inputs of a decoder. It returns its inputs, counts, and remembers
// tokens.
func decoder() []byte {
	ints := func(name string, dims ...string) *graph.Value {
		d := graph.Dims{}
		for _, x := range dims {
			d = append(d, graph.ParseDim(x))
		}
		return &graph.Value{Name: name, Type: graph.TensorOf(tensor.I64, d)}
	}
	axis := &graph.Attr{Name: "axis", Kind: graph.AttrInt, Int: 1}
	return encoded(&graph.Graph{
		Inputs: []*graph.Value{
			ints("input_ids", "batch", "sequence"), ints("attention_mask", "batch", "past_sequence_length + sequence"),
			ints("position_ids", "batch", "sequence"), ints("past_key_values.0.key", "batch", "past_sequence_length"),
		},
		Outputs: []*graph.Value{ints("present.0.key", "batch", "total_sequence_length"), ints("seen"), ints("positions", "batch", "sequence"), ints("sum"), ints("places")},
		Nodes: []*graph.Node{
			standardNode("Concat", "past_key_values.0.key input_ids", "present.0.key", axis),
			standardNode("ReduceSum", "attention_mask", "seen", &graph.Attr{Name: "keepdims", Kind: graph.AttrInt}),
			standardNode("Identity", "position_ids", "positions"),
			standardNode("ReduceSum", "input_ids", "sum", &graph.Attr{Name: "keepdims", Kind: graph.AttrInt}),
			standardNode("Constant", "", "zero", &graph.Attr{Name: "value_int", Kind: graph.AttrInt}),
			standardNode("Constant", "", "one", &graph.Attr{Name: "value_int", Kind: graph.AttrInt, Int: 1}),
			standardNode("Size", "present.0.key", "total"), standardNode("Range", "zero total one", "range"),
			standardNode("ReduceSum", "range", "places", &graph.Attr{Name: "keepdims", Kind: graph.AttrInt}),
		},
	})
}

func openStream(t *testing.T, file []byte, o nacre.StreamOptions) (*nacre.Session, *nacre.Stream) {
	t.Helper()
	m, err := nacre.Decode("decoder.onnx", file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	s, err := m.NewSession(nacre.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	st, err := s.NewStream(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return s, st
}

func tokens(t *testing.T, list ...int64) *nacre.Tensor {
	t.Helper()
	x, err := nacre.NewTensor(list, 1, len(list))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func numbers(t *testing.T, x *nacre.Tensor) []int64 {
	t.Helper()
	list, err := nacre.Data[int64](x)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestStreamInputs checks the inputs that a stream lists for its runs, also after Close.
func TestStreamInputs(t *testing.T) {
	s, st := openStream(t, decoder(), nacre.StreamOptions{})
	for range 2 {
		var got []string
		for _, in := range st.Inputs() {
			if in.Required {
				in.Name += "!"
			}
			got = append(got, in.Name)
		}
		if want := []string{"input_ids!", "attention_mask", "position_ids"}; !slices.Equal(got, want) {
			t.Errorf("a stream takes %q, want %q", got, want)
		}
		closeAll(t, st)
	}
	other, err := s.NewStream(context.Background(), nacre.StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Run(context.Background(), nil); !errors.Is(err, nacre.ErrMissingInput) ||
		strings.Contains(err.Error(), "past_key_values") {
		t.Errorf("a run without inputs: %v", err)
	}
	closeAll(t, s)
	if _, err := other.Run(context.Background(), nil); !errors.Is(err, nacre.ErrClosed) ||
		!strings.Contains(err.Error(), "the session is closed") {
		t.Errorf("a run of a closed session: %v", err)
	}
}

// TestStreamImplied leaves out the inputs that follow from the others.
func TestStreamImplied(t *testing.T) {
	_, st := openStream(t, decoder(), nacre.StreamOptions{Room: 2})
	for _, list := range [][]int64{{3, 4, 5}, {6}, {7}, {8, 9}} {
		before, sum := st.Len(), int64(0)
		out, err := st.Run(context.Background(), map[string]*nacre.Tensor{"input_ids": tokens(t, list...)})
		if err != nil {
			t.Fatal(err)
		}
		if st.Len() != before+len(list) {
			t.Fatalf("%d rows after %d more than %d", st.Len(), len(list), before)
		}
		for i, p := range numbers(t, out["positions"]) {
			if p != int64(before+i) {
				t.Errorf("position %d of row %d", p, before+i)
			}
			sum += list[i]
		}
		if got := numbers(t, out["seen"]); got[0] != int64(st.Len()) {
			t.Errorf("%d rows are seen of %d", got[0], st.Len())
		}
		if got := numbers(t, out["sum"]); got[0] != sum {
			t.Errorf("the sum is %d, not %d", got[0], sum)
		}
	}
	past, err := st.State("past_key_values.0.key")
	if err != nil || !slices.Equal(numbers(t, past), []int64{3, 4, 5, 6, 7, 8, 9}) {
		t.Fatal(past, err)
	}
}

// TestStreamBind continues a bound stream with implied inputs.
func TestStreamBind(t *testing.T) {
	_, st := openStream(t, decoder(), nacre.StreamOptions{Room: 2})
	b, err := st.Bind(context.Background(), map[string]*nacre.Tensor{"input_ids": tokens(t, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ids := numbers(t, b.Input("input_ids"))
	for i := range int64(20) {
		ids[0] = i * i
		if err := b.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, name := range []string{"seen", "positions", "sum", "places"} {
			got = append(got, numbers(t, b.Output(name))[0])
		}
		if want := []int64{i + 1, i, i * i, i * (i + 1) / 2}; !slices.Equal(got, want) {
			t.Fatalf("run %d gives %v, not %v", i, got, want)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Run(context.Background()); !errors.Is(err, nacre.ErrClosed) {
		t.Error("after Close of the stream:", err)
	}
	if b.Output("present.0.key") != nil || b.Input("past_key_values.0.key") != nil {
		t.Error("a state is among inputs or outputs")
	}
}

// TestStreamStateInSequence puts a state in a sequence. The run then updates the state in place.
func TestStreamStateInSequence(t *testing.T) {
	_, st := openStream(t, encoded(&graph.Graph{
		Inputs:  []*graph.Value{vectorOf("h", "n"), vectorOf("x", "n")},
		Outputs: []*graph.Value{vectorOf("next", "n"), {Name: "y"}},
		Nodes: []*graph.Node{
			standardNode("Constant", "", "first", &graph.Attr{Name: "value_int", Kind: graph.AttrInt}),
			standardNode("SequenceConstruct", "h", "s"), standardNode("Add", "h x", "next"),
			standardNode("SequenceAt", "s first", "y"),
		},
	}), nacre.StreamOptions{States: []nacre.State{{Input: "h", Output: "next", Axis: -1}}})
	x, err := nacre.NewTensor([]float32{1, 2}, 2)
	if err != nil {
		t.Fatal(err)
	}
	for run := range 3 {
		out, err := st.Run(context.Background(), map[string]*nacre.Tensor{"x": x})
		if err != nil {
			t.Fatal(err)
		}
		want := []float32{float32(run), float32(2 * run)}
		if got, err := nacre.Data[float32](out["y"]); err != nil || !slices.Equal(got, want) {
			t.Fatalf("run %d gives %v, %v; want %v", run, got, err, want)
		}
	}
}

// TestStreamErrors calls streams in ways that they refuse.
func TestStreamErrors(t *testing.T) {
	s, st := openStream(t, decoder(), nacre.StreamOptions{})
	ctx := context.Background()
	ids := map[string]*nacre.Tensor{"input_ids": tokens(t, 1, 2)}
	if _, err := st.Run(ctx, ids); err != nil {
		t.Fatal(err)
	}
	var none context.Context
	for _, tt := range []struct {
		name string
		want error
		call func() error
	}{
		{"no context", nacre.ErrOption, func() error { _, err := st.Run(none, ids); return err }},
		{"no input", nacre.ErrMissingInput, func() error { _, err := st.Run(ctx, nil); return err }},
		{"an unknown input", nacre.ErrUnknownInput, func() error {
			_, err := st.Run(ctx, map[string]*nacre.Tensor{"x": ids["input_ids"]})
			return err
		}},
		{"a state among the inputs", nacre.ErrState, func() error {
			_, err := st.Run(ctx, map[string]*nacre.Tensor{"input_ids": ids["input_ids"],
				"past_key_values.0.key": ids["input_ids"]})
			return err
		}},
		{"another batch", nacre.ErrShape, func() error {
			x, err := nacre.NewTensor([]int64{1, 2}, 2, 1)
			if err != nil {
				return err
			}
			_, err = st.Run(ctx, map[string]*nacre.Tensor{"input_ids": x})
			return err
		}},
		{"too many rows", nacre.ErrState, func() error { return st.Truncate(3) }},
		{"a negative number of rows", nacre.ErrState, func() error { return st.Truncate(-1) }},
		{"no such state", nacre.ErrUnknownInput, func() error { _, err := st.State("input_ids"); return err }},
		{"a state of another type", nacre.ErrShape, func() error {
			x, err := nacre.Zeros(nacre.Float32, 1, 2)
			if err != nil {
				return err
			}
			return st.SetState("past_key_values.0.key", x)
		}},
		{"a nil state", nacre.ErrShape, func() error { return st.SetState("past_key_values.0.key", nil) }},
		{"a negative room", nacre.ErrOption, func() error { _, err := s.NewStream(context.Background(), nacre.StreamOptions{Room: -1}); return err }},
		{"a state twice", nacre.ErrOption, func() error {
			cache := nacre.State{Input: "past_key_values.0.key", Output: "present.0.key", Axis: 1}
			_, err := s.NewStream(context.Background(), nacre.StreamOptions{States: []nacre.State{cache, cache}})
			return err
		}},
		{"a state with an output of fewer axes", nacre.ErrOption, func() error {
			_, err := s.NewStream(context.Background(),
				nacre.StreamOptions{States: []nacre.State{{Input: "position_ids", Output: "sum", Axis: -1}}})
			return err
		}},
		{"a state that is no input", nacre.ErrOption, func() error {
			_, err := s.NewStream(context.Background(),
				nacre.StreamOptions{States: []nacre.State{{Input: "x", Output: "sum", Axis: -1}}})
			return err
		}},
	} {
		if err := tt.call(); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if st.Len() != 2 {
		t.Errorf("%d rows after errors", st.Len())
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Run(ctx, ids); !errors.Is(err, nacre.ErrClosed) {
		t.Error("after Close:", err)
	}
}

// TestStatesOfFolder reads the names of states from a file beside the model.
func TestStatesOfFolder(t *testing.T) {
	file := encoded(&graph.Graph{
		Inputs:  []*graph.Value{{Name: "x", Type: graph.TensorOf(tensor.F32, graph.Dims{graph.Known(1)})}, {Name: "k_0", Type: graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol("p")})}},
		Outputs: []*graph.Value{{Name: "c_0", Type: graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol("t")})}},
		Nodes:   []*graph.Node{standardNode("Concat", "k_0 x", "c_0", &graph.Attr{Name: "axis", Kind: graph.AttrInt})},
	})
	config := `{"model": {"decoder": {"filename": "model.onnx", "num_hidden_layers": 2,
		"inputs": {"past_key_names": "k_%d"}, "outputs": {"present_key_names": "c_%d"}}}}`
	for _, tt := range []struct {
		name, config string
		want         []nacre.State
	}{
		{"named", config, []nacre.State{{Input: "k_0", Output: "c_0", Axis: 0}}},
		{"of another model", strings.Replace(config, "model.onnx", "other.onnx", 1), []nacre.State{}},
		{"damaged", config[:40], []nacre.State{}},
	} {
		files := nacre.Files{"model.onnx": file, "genai_config.json": []byte(tt.config)}
		m, err := nacre.Decode("model.onnx", file, files)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.States(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, not %v", tt.name, got, tt.want)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLargeFilesBeside opens models beside files of settings that are beyond a limit. The error
// names the file and the limit.
func TestLargeFilesBeside(t *testing.T) {
	onnx := encoded(&graph.Graph{Outputs: []*graph.Value{{Name: "y"}}, Nodes: []*graph.Node{standardNode("ConstantOfShape", "x", "y",
		&graph.Attr{Name: "value_int", Kind: graph.AttrInt})}})
	header := `{"w":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`
	weights := append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), 0, 0, 0, 0)
	large := func(n int) []byte { return append([]byte("{}"), bytes.Repeat([]byte(" "), n)...) }
	for _, c := range []struct {
		name, beside string
		model, file  []byte
		limit        string
	}{
		{"model.onnx", "genai_config.json", onnx, large(1 << 20), "1048576"},
		{"model.onnx", "genai_config.json", onnx, []byte(`{"model":{"decoder":{"filename":"model.onnx","num_hidden_layers":5000}}}`), "4096"},
		{"model.safetensors", "config.json", weights, large(1 << 24), "16777216"},
		{"model.safetensors", "generation_config.json", weights, large(1 << 24), "16777216"},
	} {
		dir := t.TempDir()
		for name, data := range map[string][]byte{c.name: c.model, c.beside: c.file} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, c.name)
		if c.name == "model.safetensors" {
			path = dir
		}
		m, err := nacre.Open(path)
		if err == nil {
			m.Close()
		}
		if !errors.Is(err, nacre.ErrFormat) || !strings.Contains(err.Error(), c.beside) ||
			!strings.Contains(err.Error(), c.limit) {
			t.Errorf("%s: %v", c.beside, err)
		}
	}
}

// TestStreamProfile compares the steps of a stream's profile with its plan, and the results with a
// stream that is not profiled.
func TestStreamProfile(t *testing.T) {
	_, st := openStream(t, decoder(), nacre.StreamOptions{})
	in := map[string]*nacre.Tensor{"input_ids": tokens(t, 1, 2)}
	p, err := st.Plan(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	if st.Len() != 0 {
		t.Errorf("a plan left %d rows", st.Len())
	}
	out, prof, err := st.Profile(context.Background(), map[string]nacre.Value{"input_ids": in["input_ids"]})
	if err != nil {
		t.Fatal(err)
	}
	if st.Len() != 2 || out["sum"].(*nacre.Tensor).Text(0) != "3" {
		t.Errorf("%d rows, %v", st.Len(), out)
	}
	var planned, ran []string
	for _, s := range p.Steps() {
		planned = append(planned, s.Node+" "+s.Op+" "+s.How)
	}
	for _, s := range prof.Steps() {
		ran = append(ran, s.Node+" "+s.Op+" "+s.How)
	}
	if len(ran) == 0 || !slices.Equal(planned, ran) {
		t.Errorf("ran %q, planned %q", ran, planned)
	}
	if _, _, err := st.Profile(context.Background(), nil); !errors.Is(err, nacre.ErrMissingInput) {
		t.Errorf("without inputs: %v", err)
	}
}

// TestStreamCopiesOfStates returns outputs that are views of states, one with fixed extents and one
// that grows.
func TestStreamCopiesOfStates(t *testing.T) {
	ints := func(name string, dims ...string) *graph.Value {
		d := graph.Dims{}
		for _, x := range dims {
			d = append(d, graph.ParseDim(x))
		}
		return &graph.Value{Name: name, Type: graph.TensorOf(tensor.I64, d)}
	}
	axis := &graph.Attr{Name: "axis", Kind: graph.AttrInt, Int: 1}
	file := encoded(&graph.Graph{
		Inputs:  []*graph.Value{ints("input_ids", "batch", "sequence"), ints("past_key_values.0.key", "batch", "past"), ints("h", "1", "2"), ints("step", "1", "2")},
		Outputs: []*graph.Value{ints("present.0.key", "batch", "total"), ints("all", "batch", "total"), ints("hn", "1", "2"), ints("now", "1", "2")},
		Nodes: []*graph.Node{
			standardNode("Concat", "past_key_values.0.key input_ids", "present.0.key", axis), standardNode("Identity", "present.0.key", "all"),
			standardNode("Add", "h step", "hn"), standardNode("Identity", "hn", "now"),
		},
	})
	_, st := openStream(t, file, nacre.StreamOptions{Room: 2})
	for i, want := range [][]int64{{3}, {3, 4}, {3, 4, 5}} {
		out, err := st.Run(context.Background(),
			map[string]*nacre.Tensor{"input_ids": tokens(t, int64(i+3)), "step": tokens(t, 1, 10)})
		if err != nil {
			t.Fatal(err)
		}
		if got := numbers(t, out["all"]); !slices.Equal(got, want) {
			t.Errorf("run %d: the growing state is %v, want %v", i, got, want)
		}
		if got := numbers(t, out["now"]); !slices.Equal(got, []int64{int64(i + 1), int64(10 * (i + 1))}) {
			t.Errorf("run %d: the fixed state is %v", i, got)
		}
	}
}

// TestStreamTake moves states between streams of a session and of one that it derives, back and forth.
func TestStreamTake(t *testing.T) {
	ctx := context.Background()
	s, st := openStream(t, decoder(), nacre.StreamOptions{Room: 2})
	other, err := s.NewStream(ctx, nacre.StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	want := []int64{}
	for i := range int64(9) {
		from, to := st, other
		if i%2 == 1 {
			from, to = other, st
		}
		if _, err := from.Run(ctx, map[string]*nacre.Tensor{"input_ids": tokens(t, i, i+1)}); err != nil {
			t.Fatal(err)
		}
		want = append(want, i, i+1)
		if err := to.Take(from); err != nil {
			t.Fatal(err)
		}
		past, err := to.State("past_key_values.0.key")
		if err != nil || !slices.Equal(numbers(t, past), want) || to.Len() != len(want) || from.Len() != 0 {
			t.Fatalf("after %d moves there are %v, %v and %d rows, want %v", i+1, past, err, from.Len(), want)
		}
	}
	if err := other.Take(other); err != nil || other.Len() != len(want) {
		t.Errorf("a stream that takes its own states has %d rows: %v", other.Len(), err)
	}
	_, foreign := openStream(t, decoder(), nacre.StreamOptions{})
	if err := foreign.Take(other); !errors.Is(err, nacre.ErrState) || other.Len() != len(want) {
		t.Errorf("states of another model: %v", err)
	}
	if err := other.Take(nil); !errors.Is(err, nacre.ErrOption) {
		t.Errorf("states of no stream: %v", err)
	}
	foreign.Close()
	if err := other.Take(foreign); !errors.Is(err, nacre.ErrClosed) {
		t.Errorf("states of a closed stream: %v", err)
	}
}
