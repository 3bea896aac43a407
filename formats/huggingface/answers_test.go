package huggingface_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// answer is a file of testdata, written by oracles/hugging/answers.py.
type answer struct {
	Config  map[string]any
	DType   string
	Shards  int
	Offset  bool
	Tensors map[string][]int
	Prompt  []int64
	Chunks  []int
	Logits  []float32
	Chunked []float32 // nil if equal to Logits
	Steps   []float32 // nil if equal to Logits
	Next    []int64
}

// answers reads testdata, by name.
func answers(t testing.TB) map[string]*answer {
	t.Helper()
	all := map[string]*answer{}
	for _, file := range testenv.Files(t, "testdata", "*.json") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		a := &answer{}
		if err := json.Unmarshal(data, a); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = a
	}
	return all
}

// weight returns element i of a tensor by the formula of oracles/hugging/weights.py.
func weight(name string, shape []int, i int, offset bool) float32 {
	h := uint32(2166136261)
	for _, b := range []byte(name) {
		h = (h ^ uint32(b)) * 16777619
	}
	x := uint32(i)*0x9E3779B1 ^ h
	x ^= x >> 16
	x *= 0x85EBCA6B
	x ^= x >> 13
	x *= 0xC2B2AE35
	x ^= x >> 16
	v := float64(x>>8)/(1<<23) - 1
	if len(shape) > 1 {
		return float32(v * (2 / math.Sqrt(float64(shape[len(shape)-1]))))
	}
	v *= 0.25
	if strings.Contains(name, "norm") && strings.HasSuffix(name, "weight") && !offset {
		v++
	}
	return float32(v)
}

// dtypes maps names in safetensors files to element types.
var dtypes = map[string]tensor.DType{"F32": tensor.F32, "F16": tensor.F16, "BF16": tensor.BF16}

// constant returns a tensor filled by the formula.
func (a *answer) constant(name string) *graph.Initializer {
	shape := a.Tensors[name]
	t := tensor.New(tensor.F32, shape...)
	for i := range t.Len() {
		tensor.View[float32](t)[i] = weight(name, shape, i, a.Offset)
	}
	return &graph.Initializer{Name: name, Tensor: t}
}

// folder writes the folder of an answer. change may change the tensors of the first shard.
func (a *answer) folder(t testing.TB, change func(g *graph.Graph)) string {
	t.Helper()
	dir := t.TempDir()
	config, err := json.Marshal(a.Config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), config, 0o666); err != nil {
		t.Fatal(err)
	}
	shards := make([]*graph.Graph, a.Shards)
	names := make([]string, 0, len(a.Tensors))
	for name := range a.Tensors {
		names = append(names, name)
	}
	sort.Strings(names)
	for i, name := range names {
		if shards[i%a.Shards] == nil {
			shards[i%a.Shards] = &graph.Graph{}
		}
		g := shards[i%a.Shards]
		g.Initializers = append(g.Initializers, a.constant(name))
	}
	for i, g := range shards {
		if change != nil && i == 0 {
			change(g)
		}
		if err := formats.Save(filepath.Join(dir, fmt.Sprintf("model-%d.safetensors", i)), &graph.Model{Graph: g}, formats.Options{DType: dtypes[a.DType]}); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// session opens a model, a session and a stream.
func session(t *testing.T, path string, o nacre.Options) (*nacre.Session, *nacre.Stream) {
	t.Helper()
	m, err := nacre.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	s, err := m.NewSession(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	st, err := s.NewStream(context.Background(), nacre.StreamOptions{Room: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return s, st
}

// run gives a stream tokens and returns the logits.
func run(t *testing.T, st *nacre.Stream, ids []int64) []float32 {
	t.Helper()
	return runRows(t, st, ids, 1)
}

// runRows is run for this many sequences; ids holds one after the other.
func runRows(t *testing.T, st *nacre.Stream, ids []int64, rows int) []float32 {
	t.Helper()
	in, err := nacre.NewTensor(ids, rows, len(ids)/rows)
	if err != nil {
		t.Fatal(err)
	}
	out, err := st.Run(context.Background(), map[string]*nacre.Tensor{"input_ids": in})
	if err != nil {
		t.Fatal(err)
	}
	list, err := nacre.Float32s(out["logits"])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// inChunks runs a prompt in chunks.
func inChunks(t *testing.T, st *nacre.Stream, ids []int64, chunks []int) (logits []float32) {
	t.Helper()
	for _, n := range chunks {
		logits = append(logits, run(t, st, ids[:n])...)
		ids = ids[n:]
	}
	return logits
}

// same compares logits.
func same(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d logits, want %d", what, len(got), len(want))
		return
	}
	for i := range got {
		if d := math.Abs(float64(got[i] - want[i])); !(d <= 1e-4) {
			t.Errorf("%s: logit %d is %v, want %v", what, i, got[i], want[i])
			return
		}
	}
}

// greedy returns the next n tokens after logits.
func greedy(t *testing.T, st *nacre.Stream, logits []float32, vocab, n int) (tokens []int64) {
	t.Helper()
	for len(tokens) < n {
		last := logits[len(logits)-vocab:]
		next := int64(slices.Index(last, slices.Max(last)))
		tokens = append(tokens, next)
		if len(tokens) < n {
			logits = run(t, st, []int64{next})
		}
	}
	return tokens
}

func (a *answer) vocab() int { return len(a.Logits) / len(a.Prompt) }

// check runs the prompt in every way that the answer covers.
func (a *answer) check(t *testing.T, st *nacre.Stream) {
	t.Helper()
	whole := run(t, st, a.Prompt)
	same(t, "at once", whole, a.Logits)
	if got := greedy(t, st, whole, a.vocab(), len(a.Next)); !slices.Equal(got, a.Next) {
		t.Errorf("tokens %v follow, want %v", got, a.Next)
	}
	st.Reset()
	want := a.Logits
	if a.Chunked != nil {
		want = a.Chunked
	}
	same(t, "in chunks", inChunks(t, st, a.Prompt, a.Chunks), want)
	st.Reset()
	want = a.Logits
	if a.Steps != nil {
		want = a.Steps
	}
	same(t, "token by token", inChunks(t, st, a.Prompt, slices.Repeat([]int{1}, len(a.Prompt))), want)
}

// TestBatch runs two prompts at once.
func TestBatch(t *testing.T) {
	for _, name := range []string{"gemma2", "gemma2_head_dim", "llama_bf16"} {
		a := answers(t)[name]
		if a == nil {
			t.Fatalf("there is no testdata/%s.json", name)
		}
		_, st := session(t, a.folder(t, nil), nacre.Options{Threads: 2})
		other := slices.Clone(a.Prompt)
		slices.Reverse(other)
		want := slices.Clone(run(t, st, other))
		st.Reset()
		var got [2][]float32
		for _, part := range [][2]int{{0, 7}, {7, 8}, {8, len(other)}} {
			n := part[1] - part[0]
			list := runRows(t, st, slices.Concat(a.Prompt[part[0]:part[1]], other[part[0]:part[1]]), 2)
			got[0], got[1] = append(got[0], list[:n*a.vocab()]...), append(got[1], list[n*a.vocab():]...)
		}
		same(t, name+", the first", got[0], a.Logits)
		same(t, name+", the second", got[1], want)
	}
}

// TestAnswers compares decoders with the answers of the package transformers.
func TestAnswers(t *testing.T) {
	for name, a := range answers(t) {
		t.Run(name, func(t *testing.T) {
			dir := a.folder(t, nil)
			for _, o := range []nacre.Options{{Threads: 1}, {Threads: 2}, {Threads: 1, NoOptimize: true}} {
				_, st := session(t, dir, o)
				a.check(t, st)
			}
		})
	}
}

// TestSaved runs decoders that were saved as ONNX.
func TestSaved(t *testing.T) {
	for _, name := range []string{"gemma3_text", "llama_bf16", "phi3_beyond"} {
		a := answers(t)[name]
		if a == nil {
			t.Fatalf("there is no testdata/%s.json", name)
		}
		m, err := nacre.Open(a.folder(t, nil))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "model.onnx")
		err = formats.Save(path, m.Source(), formats.Options{})
		m.Close()
		if err != nil {
			t.Fatal(err)
		}
		_, st := session(t, path, nacre.Options{Threads: 1})
		a.check(t, st)
	}
}
