package generate_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// logitsOf runs a stream of one sequence on tokens, and returns their logits.
func logitsOf(t *testing.T, st *nacre.Stream, tokens []int64) []float32 {
	t.Helper()
	x, err := nacre.NewTensor(tokens, 1, len(tokens))
	if err != nil {
		t.Fatal(err)
	}
	out, err := st.Run(t.Context(), map[string]*nacre.Tensor{"input_ids": x})
	if err != nil {
		t.Fatal(err)
	}
	logits, err := nacre.Data[float32](out["logits"])
	if err != nil {
		t.Fatal(err)
	}
	return logits
}

// cached runs a decoder on tokens, first on several and then on one at a time, and cuts and forks
// its states on the way. It returns all logits and the bytes of the states.
func cached(t *testing.T, m *nacre.Model, d nacre.DType, tokens []int64) (logits []float32, bytes int) {
	t.Helper()
	budget, err := nacre.NewMemoryBudget(1 << 30)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.NewSession(nacre.Options{Threads: 1, MemoryBudget: budget, CacheType: d})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	st, err := s.NewStream(t.Context(), nacre.StreamOptions{Room: 1024})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { st.Close() }()
	run := func(list ...int64) { logits = append(logits, logitsOf(t, st, list)...) }
	run(tokens[:6]...)
	for _, token := range tokens[6:] {
		run(token)
	}
	if err := st.Truncate(5); err != nil {
		t.Fatal(err)
	}
	fork, err := st.Fork()
	if err != nil {
		t.Fatal(err)
	}
	st.Close()
	st = fork
	for _, state := range m.States() {
		x, err := st.State(state.Input)
		if err != nil || x.Shape()[state.Axis] != 5 || d != nacre.Invalid && x.DType() != d {
			t.Fatalf("state %s is %v, %v", state.Input, x, err)
		}
		if err := st.SetState(state.Input, x); err != nil {
			t.Fatal(err)
		}
	}
	run(tokens[5:]...)
	s.Trim()
	return logits, budget.Used()
}

// cachedTokens are the tokens of tests of caches.
var cachedTokens = []int64{3, 1, 4, 1, 5, 9, 2, 6, 5, 35, 89, 79}

// checkCaches compares a decoder of heads of that size with narrow caches and with caches of float32.
// Logits differ by the rounding of keys and values, to 11 bits, or to 1/127 of the largest magnitude
// of a block: by at most halves, or at most codes. If size is 0, memory is not compared.
func checkCaches(t *testing.T, m *nacre.Model, size, halves, codes float64) {
	t.Helper()
	wide, most := cached(t, m, nacre.Invalid, cachedTokens)
	for _, c := range []struct {
		dtype            nacre.DType
		tolerance, bytes float64 // bytes of the streams, as a part of those with float32
	}{{nacre.Float16, halves, 0.5}, {nacre.Int8, codes, (size + 2*math.Ceil(size/32)) / (4 * size)}} {
		narrow, least := cached(t, m, c.dtype, cachedTokens)
		worst, differ := 0.0, false
		for i, x := range wide {
			worst = max(worst, math.Abs(float64(x-narrow[i])))
			differ = differ || x != narrow[i]
		}
		if len(wide) != len(narrow) || !(worst <= c.tolerance) || !differ {
			t.Errorf("%v: %d and %d logits differ by %g, at most %g is allowed", c.dtype, len(wide), len(narrow), worst,
				c.tolerance)
		}
		if size > 0 && float64(least) > float64(most)*c.bytes {
			t.Errorf("streams take %d bytes with %v, %d with float32", least, c.dtype, most)
		}
	}
}

func TestCacheType(t *testing.T) {
	testenv.Need(t, bindings.Available())
	t.Run("llama", func(t *testing.T) {
		m, err := nacre.NewModel(topologies.Llama(topologies.LlamaSize{Layers: 2, Width: 256, Heads: 4, KVHeads: 2,
			Hidden: 48, Words: 100}))
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		checkCaches(t, m, 64, 5e-3, 5e-2)
	})
	for _, c := range []struct {
		domain, op string
		in         func(x string, past [2]string) []string
		attrs      []*graph.Attr
	}{
		{"", "Attention", func(x string, past [2]string) []string { return []string{x, x, x, "", past[0], past[1]} },
			[]*graph.Attr{graph.IntAttr("q_num_heads", 4), graph.IntAttr("kv_num_heads", 4), graph.IntAttr("is_causal", 1)}},
		{"com.microsoft", "MultiHeadAttention", func(x string, past [2]string) []string {
			return []string{x, x, x, "", "", "", past[0], past[1]}
		}, []*graph.Attr{graph.IntAttr("num_heads", 4), graph.IntAttr("unidirectional", 1)}},
	} {
		t.Run(c.op, func(t *testing.T) {
			b := graph.NewBuilder(c.op)
			dims := func(text ...string) (d graph.Dims) {
				for _, x := range text {
					d = append(d, graph.ParseDim(x))
				}
				return d
			}
			ids := b.Input("input_ids", graph.TensorOf(tensor.I64, dims("batch", "sequence")))
			var past [2]string
			for i, name := range []string{"key", "value"} {
				past[i] = b.Input("past_key_values.0."+name, graph.TensorOf(tensor.F32, dims("batch", "4", "past_sequence", "24")))
			}
			rows := tensor.New(tensor.F32, 100, 96)
			random := rand.New(rand.NewPCG(1, 2))
			for i := range tensor.View[float32](rows) {
				tensor.View[float32](rows)[i] = float32(random.NormFloat64())
			}
			x := b.Op("Gather", []string{b.Constant(rows), ids})
			out := b.Node(c.domain, c.op, c.in(x, past), 3, c.attrs...)
			b.Output(out[0], "logits", graph.TensorOf(tensor.F32, dims("batch", "sequence", "96")))
			for i, name := range []string{"key", "value"} {
				b.Output(out[1+i], "present.0."+name,
					graph.TensorOf(tensor.F32, dims("batch", "4", "past_sequence + sequence", "24")))
			}
			m, err := nacre.NewModel(b.Model(&graph.Model{IR: 10}))
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			checkCaches(t, m, 24, 5e-3, 5e-2)
		})
	}
	t.Run("gguf", func(t *testing.T) {
		m, err := nacre.Open(filepath.Join(testenv.Samples(t, "fixtures", "gguf"), "llama.F16.gguf"))
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		checkCaches(t, m, 16, 2e-2, 2e-1)
	})
}

// TestCacheRefused makes sessions whose caches cannot have the type.
func TestCacheRefused(t *testing.T) {
	testenv.Need(t, bindings.Available())
	m, err := nacre.NewModel(topologies.Llama(topologies.LlamaSize{Layers: 1, Width: 16, Heads: 2, KVHeads: 1, Hidden: 16, Words: 50}))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := m.NewSession(nacre.Options{CacheType: nacre.Int32}); !errors.Is(err, nacre.ErrOption) {
		t.Errorf("caches of int32: %v", err)
	}
	digits, err := nacre.Open(filepath.Join(testenv.Root(t), "cmd", "nacre", "demo", "digits.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	defer digits.Close()
	_, err = digits.NewSession(nacre.Options{CacheType: nacre.Float16})
	if !errors.Is(err, nacre.ErrUnsupported) || !strings.Contains(err.Error(), "digits.onnx") {
		t.Errorf("a model without caches: %v", err)
	}
}
