package gguf_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/gguf"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// answer is a model of the samples with its logits.
type answer struct {
	Kind, Arch string
	Tokens     []int64
	Logits     string
	Greedy     []int64
}

// answers returns the folder of the samples, and the decoders by file name.
func answers(t *testing.T) (dir string, list map[string]*answer) {
	t.Helper()
	dir = fixtures.Dir(t, gguf.Name)
	var m struct{ Files map[string]*answer }
	fixtures.JSON(t, filepath.Join(dir, "manifest.json"), &m)
	for name, a := range m.Files {
		if a.Kind != "model" || a.Logits == "" {
			delete(m.Files, name)
		}
	}
	if len(m.Files) == 0 {
		t.Fatal("the manifest has no decoder")
	}
	return dir, m.Files
}

// sample returns a decoder of the samples and its model, which stays open until the test ends.
func sample(t *testing.T, dir string, list map[string]*answer, name string) (*answer, *graph.Model) {
	t.Helper()
	a := list[name]
	if a == nil {
		t.Fatalf("the samples have no %s", name)
	}
	m, err := formats.Load(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return a, m
}

// floats reads a file of NumPy with float32 elements.
func floats(t *testing.T, path string) []float32 {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, data, ok := bytes.Cut(data, []byte("\n"))
	if !ok || !bytes.Contains(head, []byte("'<f4'")) {
		t.Fatalf("%s is no file of float32", path)
	}
	list := make([]float32, len(data)/4)
	for i := range list {
		list[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return list
}

// logits runs tokens in a stream.
func logits(t *testing.T, st *nacre.Stream, tokens ...int64) []float32 {
	t.Helper()
	in, err := nacre.NewTensor(tokens, 1, len(tokens))
	if err != nil {
		t.Fatal(err)
	}
	out, err := st.Run(t.Context(), map[string]*nacre.Tensor{"input_ids": in})
	if err != nil {
		t.Fatal(err)
	}
	list, err := nacre.Float32s(out["logits"])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestAnswers compares the logits of decoders, at once and token by token, and the tokens that
// follow.
func TestAnswers(t *testing.T) {
	dir, list := answers(t)
	met := map[string]bool{}
	for name, a := range list {
		if !slices.Contains(gguf.Architectures(), a.Arch) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			met[a.Arch] = true
			want := floats(t, filepath.Join(dir, a.Logits))
			for _, o := range []nacre.Options{{Threads: 1}, {Threads: 2, NoOptimize: true}} {
				a.check(t, filepath.Join(dir, name), want, tolerance(a.Arch), o)
			}
		})
	}
	if len(met) < 8 {
		t.Errorf("decoders of %d architectures", len(met))
	}
}

// TestContext gives a decoder with long factors contexts below and above its original window.
func TestContext(t *testing.T) {
	dir, list := answers(t)
	a := list["phi3_long.Q8_0.gguf"]
	if a == nil {
		t.Fatal("the samples have no phi3_long")
	}
	want := floats(t, filepath.Join(dir, a.Logits))
	m, err := nacre.Open(filepath.Join(dir, "phi3_long.Q8_0.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for context, same := range map[int]bool{0: true, 128: true, 256: true, 257: false, 4096: false} {
		s, err := m.NewSession(nacre.Options{Threads: 1, Lowering: formats.Lowering{Context: context}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		st, err := s.NewStream(t.Context(), nacre.StreamOptions{Room: 4})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		if worst := distance(logits(t, st, a.Tokens...), want); (worst <= 1e-4) != same {
			t.Errorf("context %d: logits differ by %v", context, worst)
		}
	}
}

// session returns a session of a file, closed when the test ends.
func session(t *testing.T, path string, o nacre.Options) *nacre.Session {
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
	return s
}

func (a *answer) check(t *testing.T, path string, want []float32, most float64, o nacre.Options) {
	t.Helper()
	st, err := session(t, path, o).NewStream(t.Context(), nacre.StreamOptions{Room: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	compare := func(what string, got []float32) {
		t.Helper()
		worst := distance(got, want)
		if len(got) != len(want) || !(worst <= most) {
			t.Errorf("%s: %d logits differ by up to %v, want %d within %v", what, len(got), worst, len(want), most)
		}
	}
	got := logits(t, st, a.Tokens...)
	compare("at once", got)
	vocab := len(want) / len(a.Tokens)
	var next []int64
	for len(next) < len(a.Greedy) {
		last := got[len(got)-vocab:]
		next = append(next, int64(slices.Index(last, slices.Max(last))))
		got = logits(t, st, next[len(next)-1])
	}
	if !slices.Equal(next, a.Greedy) {
		t.Errorf("tokens %v follow, want %v", next, a.Greedy)
	}
	st.Reset()
	got = nil
	for _, id := range a.Tokens {
		got = append(got, logits(t, st, id)...)
	}
	compare("token by token", got)
}

// TestUnsupported opens a model of an architecture that is not known.
func TestUnsupported(t *testing.T) {
	dir, list := answers(t)
	for name, a := range list {
		if a.Arch != "llama" || strings.Contains(name, "wide") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "x.gguf")
		if err := os.WriteFile(path, bytes.Replace(data, []byte("llama"), []byte("lhama"), 1), 0o666); err != nil {
			t.Fatal(err)
		}
		m, err := nacre.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if _, err := m.NewSession(nacre.Options{}); err == nil || !strings.Contains(err.Error(), `"lhama"`) || !strings.Contains(err.Error(), "qwen3moe") {
			t.Errorf("%v, want the architecture and those that are known", err)
		}
		return
	}
}

// encoded is an encoder of the samples with its rows, and their mean.
type encoded struct {
	Tokens     []int64
	Embeddings string
	Pooled     []float32 `json:"pooled_mean"`
}

// TestEmbeddings compares the rows and the mean of encoders, of their folders, and of the files of
// these.
func TestEmbeddings(t *testing.T) {
	dir := fixtures.Dir(t, gguf.Name)
	var m struct{ Files map[string]encoded }
	fixtures.JSON(t, filepath.Join(dir, "manifest.json"), &m)
	n := 0
	for name, a := range m.Files {
		if a.Embeddings == "" {
			continue
		}
		n++
		f := folder(t, filepath.Join(dir, name))
		for _, path := range []string{filepath.Join(dir, name), f, file(t, f)} {
			a.check(t, path, floats(t, filepath.Join(dir, a.Embeddings)))
		}
	}
	if n == 0 {
		t.Error("the manifest has no encoder")
	}
}

func (a *encoded) check(t *testing.T, path string, rows []float32) {
	t.Helper()
	in, err := nacre.NewTensor(a.Tokens, 1, len(a.Tokens))
	if err != nil {
		t.Fatal(err)
	}
	out, err := session(t, path, nacre.Options{Threads: 1}).Run(t.Context(), map[string]*nacre.Tensor{"input_ids": in})
	if err != nil {
		t.Fatal(err)
	}
	for output, want := range map[string][]float32{"last_hidden_state": rows, "sentence_embedding": a.Pooled} {
		got, err := nacre.Float32s(out[output])
		if err != nil {
			t.Fatal(err)
		}
		if worst := distance(got, want); len(got) != len(want) || !(worst <= 2.1e-3) {
			t.Errorf("%s: %s differs by up to %v", path, output, worst)
		}
	}
}

// distance returns the largest difference between two lists.
func distance(got, want []float32) float64 {
	worst := 0.0
	for i := range min(len(got), len(want)) {
		if d := math.Abs(float64(got[i] - want[i])); !(d <= worst) {
			worst = d
		}
	}
	return worst
}
