package generate_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// joinedDecoder is a decoder with caches that are past and new rows joined by Concat.
type joinedDecoder struct {
	attention string // the operator; products and a softmax if it is ""
	shared    bool   // two heads of queries share keys and values
	axis      int    // of the rows: 2 of [batch,heads,rows,size], 1 of [batch,rows,heads,size]
	flat      bool   // with axis 1, heads and sizes are one axis
	scaled    bool   // the scale is computed from the shape of the past
	twice     bool   // another node reads the elements of keys
	captured  bool   // the body of an If reads the elements of keys
	moved     bool   // the past is gathered before it is joined
	columns   bool   // keys are [batch,heads,size,rows]
}

const (
	joinedHeads = 4
	joinedSize  = 40
)

// joinedBuilder builds a joinedDecoder.
type joinedBuilder struct {
	joinedDecoder
	*graph.Builder
	random *rand.Rand
	x      string
}

func (b *joinedBuilder) dims(text ...string) (d graph.Dims) {
	for _, x := range text {
		d = append(d, graph.ParseDim(x))
	}
	return d
}

func (b *joinedBuilder) weights(scale float64, shape ...int) string {
	w := tensor.New(tensor.F32, shape...)
	for i := range tensor.View[float32](w) {
		tensor.View[float32](w)[i] = float32(scale * b.random.NormFloat64())
	}
	return b.Constant(w)
}

func (b *joinedBuilder) ints(list ...int64) string {
	x, err := tensor.From(list, len(list))
	if err != nil {
		panic(err)
	}
	return b.Constant(x)
}

func (b *joinedBuilder) transposed(x string, perm ...int64) string {
	return b.Op("Transpose", []string{x}, graph.IntsAttr("perm", perm...))
}

func (b *joinedBuilder) reshaped(x string, shape ...int64) string {
	return b.Op("Reshape", []string{x, b.ints(shape...)})
}

// heads returns the projection of the hidden state to that many heads, [batch,rows,heads,size].
func (b *joinedBuilder) heads(n int64) string {
	y := b.Op("MatMul", []string{b.x, b.weights(0.1, 96, int(n)*joinedSize)})
	return b.reshaped(y, 0, 0, n, joinedSize)
}

// cache joins past and new rows, and returns the result as [batch,heads,rows,size].
func (b *joinedBuilder) cache(name string, heads int64) string {
	n := strconv.FormatInt(heads, 10)
	past, present := "past_key_values.0."+name, "present.0."+name
	rows := b.heads(heads)
	var before, after graph.Dims
	axis := int64(b.axis)
	columns := b.columns && name == "key"
	switch {
	case columns:
		rows, axis = b.transposed(rows, 0, 2, 3, 1), 3
		before, after = b.dims("batch", n, "40", "past_sequence"), b.dims("batch", n, "40", "past_sequence + sequence")
	case b.flat:
		rows = b.reshaped(rows, 0, 0, -1)
		before, after = b.dims("batch", "past_sequence", "40*"+n), b.dims("batch", "past_sequence + sequence", "40*"+n)
	case axis == 1:
		before, after = b.dims("batch", "past_sequence", n, "40"), b.dims("batch", "past_sequence + sequence", n, "40")
	default:
		rows = b.transposed(rows, 0, 2, 1, 3)
		before, after = b.dims("batch", n, "past_sequence", "40"), b.dims("batch", n, "past_sequence + sequence", "40")
	}
	b.Input(past, graph.TensorOf(tensor.F32, before))
	if b.moved {
		past = b.Op("Gather", []string{past, b.ints(0)}, graph.IntAttr("axis", 0))
	}
	b.Output(b.Op("Concat", []string{past, rows}, graph.IntAttr("axis", axis)), present, graph.TensorOf(tensor.F32, after))
	switch {
	case columns:
		return b.transposed(present, 0, 1, 3, 2)
	case b.flat:
		return b.transposed(b.reshaped(present, 0, 0, heads, joinedSize), 0, 2, 1, 3)
	case axis == 1:
		return b.transposed(present, 0, 2, 1, 3)
	}
	return present
}

// repeated returns keys or values with each head for two heads of queries.
func (b *joinedBuilder) repeated(x string) string {
	more := b.Op("Unsqueeze", []string{x, b.ints(2)})
	shape := b.Op("Shape", []string{x})
	part := func(from, to int64) string { return b.Op("Slice", []string{shape, b.ints(from), b.ints(to)}) }
	parts := []string{part(0, 2), b.ints(2), part(2, 4)}
	more = b.Op("Expand", []string{more, b.Op("Concat", parts, graph.IntAttr("axis", 0))})
	return b.reshaped(more, 0, joinedHeads, -1, joinedSize)
}

// composed returns attention by products and a softmax, [batch,rows,heads*size].
func (b *joinedBuilder) composed(q, k, v string) string {
	if b.shared {
		k, v = b.repeated(k), b.repeated(v)
	}
	scale := b.weights(0.2, 1)
	if b.scaled {
		size := b.Op("Gather", []string{b.Op("Shape", []string{"past_key_values.0.key"}), b.ints(-1)})
		scale = b.Op("Reciprocal", []string{b.Op("Cast", []string{size}, graph.IntAttr("to", int64(tensor.F32.Code())))})
	}
	scores := b.Op("MatMul", []string{b.Op("Mul", []string{q, scale}), b.transposed(k, 0, 1, 3, 2)})
	y := b.Op("MatMul", []string{b.Op("Softmax", []string{scores}, graph.IntAttr("axis", -1)), v})
	return b.reshaped(b.transposed(y, 0, 2, 1, 3), 0, 0, joinedHeads*joinedSize)
}

// model returns the decoder.
func (c joinedDecoder) model() *graph.Model {
	b := &joinedBuilder{c, graph.NewBuilder("joined"), rand.New(rand.NewPCG(3, 4)), ""}
	ids := b.Input("input_ids", graph.TensorOf(tensor.I64, b.dims("batch", "sequence")))
	b.x = b.Op("Gather", []string{b.weights(1, 100, 96), ids})
	heads := int64(joinedHeads)
	if c.shared {
		heads = 2
	}
	k, v := b.cache("key", heads), b.cache("value", heads)
	q := b.transposed(b.heads(joinedHeads), 0, 2, 1, 3)
	var y string
	switch c.attention {
	case "":
		y = b.composed(q, k, v)
	case "Attention":
		y = b.Op("Attention", []string{q, k, v}, graph.FloatAttr("scale", 0.3))
		y = b.reshaped(b.transposed(y, 0, 2, 1, 3), 0, 0, joinedHeads*joinedSize)
	default:
		q = b.reshaped(b.transposed(q, 0, 2, 1, 3), 0, 0, joinedHeads*joinedSize)
		y = b.Node("com.microsoft", c.attention, []string{q, k, v}, 1, graph.IntAttr("num_heads", joinedHeads))[0]
	}
	logits := b.Op("MatMul", []string{y, b.weights(0.1, joinedHeads*joinedSize, 100)})
	if c.twice {
		mean := b.Op("ReduceMean", []string{k, b.ints(1, 2, 3)}, graph.IntAttr("keepdims", 1))
		logits = b.Op("Add", []string{logits, b.Op("Squeeze", []string{mean, b.ints(3)})})
	}
	if c.captured {
		body := graph.NewBuilder("body")
		most := body.Op("ReduceMax", []string{"past_key_values.0.key"}, graph.IntAttr("keepdims", 0))
		body.Output(most, "most", graph.TensorOf(tensor.F32, graph.Dims{}))
		g := body.Model(&graph.Model{IR: 10}).Graph
		yes, err := tensor.From([]bool{true})
		if err != nil {
			panic(err)
		}
		most = b.Op("If", []string{b.Constant(yes)}, graph.GraphAttr("then_branch", g), graph.GraphAttr("else_branch", g))
		logits = b.Op("Add", []string{logits, most})
	}
	b.Output(logits, "logits", graph.TensorOf(tensor.F32, b.dims("batch", "sequence", "100")))
	return b.Model(&graph.Model{IR: 10})
}

// TestCacheJoins compares decoders whose caches a Concat extends, as TestCacheType does. Attention
// reads narrow caches as they are, unless their rows are not next to each other.
func TestCacheJoins(t *testing.T) {
	testenv.Need(t, bindings.Available())
	for name, c := range map[string]struct {
		joinedDecoder
		widened int     // nodes that convert codes to floats
		size    float64 // of heads, if caches of all types are in memory with room
	}{
		"products":              {joinedDecoder{axis: 2}, 0, joinedSize},
		"shared heads":          {joinedDecoder{axis: 2, shared: true}, 0, joinedSize},
		"scale of a shape":      {joinedDecoder{axis: 2, scaled: true}, 0, joinedSize},
		"Attention":             {joinedDecoder{attention: "Attention", axis: 2}, 0, joinedSize},
		"Attention of groups":   {joinedDecoder{attention: "Attention", axis: 2, shared: true}, 0, joinedSize},
		"MultiHeadAttention":    {joinedDecoder{attention: "MultiHeadAttention", axis: 2}, 0, joinedSize},
		"keys are read twice":   {joinedDecoder{axis: 2, twice: true}, 1, 0},
		"rows before heads":     {joinedDecoder{axis: 1}, 2, 0},
		"heads in one axis":     {joinedDecoder{axis: 1, flat: true, shared: true}, 2, joinedSize},
		"Attention, rows first": {joinedDecoder{attention: "Attention", axis: 1}, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := nacre.NewModel(c.model())
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			checkCaches(t, m, c.size, 5e-3, 5e-2)
			checkBound(t, m, c.widened)
		})
	}
}

// checkBound compares bound runs of two sequences with runs of a stream, with caches of int8, and
// counts the nodes of the plan that widen codes.
func checkBound(t *testing.T, m *nacre.Model, widened int) {
	t.Helper()
	s, err := m.NewSession(nacre.Options{CacheType: nacre.Int8})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	st, err := s.NewStream(t.Context(), nacre.StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	fork, err := st.Fork()
	if err != nil {
		t.Fatal(err)
	}
	defer fork.Close()
	ids, err := nacre.NewTensor([]int64{1, 2}, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	in := map[string]*nacre.Tensor{"input_ids": ids}
	plan, err := st.Plan(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(plan.String(), "nacre.WidenCodes"); n != widened {
		t.Errorf("%d nodes widen codes, want %d:\n%s", n, widened, plan)
	}
	b, err := fork.Bind(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for i := range 4 {
		list, err := nacre.Data[int64](b.Input("input_ids"))
		if err != nil {
			t.Fatal(err)
		}
		copy(list, cachedTokens[2*i:])
		if ids, err = nacre.NewTensor(cachedTokens[2*i:2*i+2], 2, 1); err != nil {
			t.Fatal(err)
		}
		out, err := st.Run(t.Context(), map[string]*nacre.Tensor{"input_ids": ids})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(out["logits"].Bytes(), b.Output("logits").Bytes()) {
			t.Fatalf("run %d: logits of the stream and of the bound run differ", i)
		}
	}
}

// TestCacheJoinsRefused makes sessions of decoders with caches that a Concat extends and that cannot
// have the type.
func TestCacheJoinsRefused(t *testing.T) {
	testenv.Need(t, bindings.Available())
	for name, c := range map[string]struct {
		joinedDecoder
		want   string // words of the error
		halves bool   // float16 can be had
	}{
		"the past is moved":      {joinedDecoder{axis: 2, moved: true}, "of operator Gather reads", false},
		"a body reads the cache": {joinedDecoder{axis: 2, captured: true}, "of operator If reads", false},
		"rows are columns":       {joinedDecoder{axis: 2, columns: true}, "take float16", true},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := nacre.NewModel(c.model())
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			_, err = m.NewSession(nacre.Options{CacheType: nacre.Int8})
			if !errors.Is(err, nacre.ErrUnsupported) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("int8: %v", err)
			}
			s, err := m.NewSession(nacre.Options{CacheType: nacre.Float16})
			if err == nil {
				s.Close()
			}
			if c.halves && err != nil || !c.halves && !errors.Is(err, nacre.ErrUnsupported) {
				t.Errorf("float16: %v", err)
			}
		})
	}
}
