package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/gptrs"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// gptrsFile saves a checkpoint of gpt.rs with random tensors of the given shapes, and returns the
// path.
func gptrsFile(t *testing.T, config string, shapes map[string][]int) string {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	m := &graph.Model{Graph: &graph.Graph{}, Meta: []graph.Pair{{Key: "config", Kind: "json", Value: config}}}
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		x := tensor.New(tensor.F32, shapes[name]...)
		for i := range tensor.View[float32](x) {
			tensor.View[float32](x)[i] = float32(r.NormFloat64()) / 4
		}
		m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: name, Tensor: x})
	}
	path := filepath.Join(t.TempDir(), "m.chk")
	if err := formats.SaveAs(path, gptrs.Checkpoint.Name, m, formats.Options{}); err != nil {
		t.Fatal(err)
	}
	return path
}

// smallGPT saves a decoder of 5 tokens and a window of 6, and returns the path.
func smallGPT(t *testing.T) string {
	return gptrsFile(t, `{"kind":"gpt","config":{"vocab_size":5,"context_length":6,"embed_dim":8,"num_layers":1,"num_heads":2,"mlp_ratio":2,"dropout":0},`+
		`"runtime":{"functional_overrides":{"softmax":"force=fast"}}}`, map[string][]int{
		"tok_embeddings.weight": {5, 8}, "pos_embeddings": {6, 8}, "lm_head": {8, 5}, "final_ln.gamma": {8}, "final_ln.beta": {8},
		"blocks.0.ln_1.gamma": {8}, "blocks.0.ln_1.beta": {8}, "blocks.0.ln_2.gamma": {8}, "blocks.0.ln_2.beta": {8},
		"blocks.0.attention.w_qkv": {8, 24}, "blocks.0.attention.b_qkv": {24}, "blocks.0.attention.w_out": {8, 8}, "blocks.0.attention.b_out": {8},
		"blocks.0.feed_forward.w_in": {8, 16}, "blocks.0.feed_forward.b_in": {16}, "blocks.0.feed_forward.w_out": {16, 8}, "blocks.0.feed_forward.b_out": {8},
	})
}

// archive returns the tensors of an archive by name.
func archive(t *testing.T, path string) map[string]*tensor.Tensor {
	t.Helper()
	m, err := formats.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	list := map[string]*tensor.Tensor{}
	for _, init := range m.Graph.Initializers {
		list[init.Name] = init.Tensor
	}
	return list
}

// TestRunTokens runs a decoder and compares the printed and stored results with a run by the
// package.
func TestRunTokens(t *testing.T) {
	path := smallGPT(t)
	logits, trace := filepath.Join(t.TempDir(), "logits.ten"), filepath.Join(t.TempDir(), "trace.ten")
	code, stdout, stderr := call("run", path, "--tokens", "1, 4,2", "--out", logits, "--trace", trace, "--weight-budget",
		"1MB")
	if code != exitDone {
		t.Fatal(stderr)
	}
	for _, word := range []string{"wall_s=", "softmax", "force=fast", "not used"} {
		if !strings.Contains(stderr, word) {
			t.Errorf("%q does not say %q", stderr, word)
		}
	}
	stored := archive(t, logits)
	if len(stored) != 1 || stored["logits"] == nil || !stored["logits"].Shape().Equal(tensor.Shape{3, 5}) {
		t.Fatalf("the archive holds %v", stored)
	}
	v := slices.Clone(tensor.View[float32](stored["logits"].Aligned()))
	row := v[10:]
	best := slices.Index(row, slices.Max(row))
	if want := fmt.Sprintf("model=gpt output_shape=[3, 5]\ntop1=%d logit=%.6f\n", best, row[best]); stdout != want {
		t.Errorf("printed %q, want %q", stdout, want)
	}
	sameLogits(t, path, []int64{1, 4, 2}, v)
	want := []string{"blocks.0.attention.context", "blocks.0.attention.output", "blocks.0.attention.qkv", "blocks.0.feed_forward.output",
		"blocks.0.norm_1", "blocks.0.norm_2", "blocks.0.output", "blocks.0.residual", "final_norm", "logits", "tok_embeddings"}
	traced := archive(t, trace)
	if got := slices.Sorted(maps.Keys(traced)); !slices.Equal(got, want) {
		t.Errorf("traced %v, want %v", got, want)
	}
	if x := traced["blocks.0.attention.qkv"]; x != nil && !x.Shape().Equal(tensor.Shape{3, 24}) {
		t.Errorf("traced %v", x)
	}
	if code, text, _ := call("inspect", path); code != exitDone || !strings.Contains(text, "force=fast") ||
		!strings.Contains(text, "not used") {
		t.Errorf("inspect says\n%s", text)
	}
}

// TestRunPrompt runs a decoder on a text, with a tokenizer of gpt.rs.
func TestRunPrompt(t *testing.T) {
	path := smallGPT(t)
	words := write(t, filepath.Join(t.TempDir(), "words.json"), []byte(`{"vocab":{"a":0,"b":1,"ab":2,"<unk>":3},"merges":[["a","b"]],"unk_token":"<unk>"}`))
	code, want, stderr := call("run", path, "--tokens", "2,0,0,2,3")
	if code != exitDone {
		t.Fatal(stderr)
	}
	if code, got, stderr := call("run", path, "--prompt", "abaaabc", "--tokenizer", words); code != exitDone ||
		got != want {
		t.Errorf("the text gives %q, want %q; %s", got, want, stderr)
	}
	if code, _, stderr := call("run", path, "--prompt", "ab"); code != exitUsage ||
		!strings.Contains(stderr, "--tokenizer") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if code, _, stderr := call("run", path, "--prompt", "ab", "--tokenizer", path); code != exitFailed ||
		!strings.Contains(stderr, path) {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

// sameLogits runs a decoder without a stream and compares the logits with want.
func sameLogits(t *testing.T, path string, tokens []int64, want []float32) {
	t.Helper()
	m, err := nacre.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s, err := m.NewSession(nacre.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ids, err := nacre.NewTensor(tokens, 1, len(tokens))
	if err != nil {
		t.Fatal(err)
	}
	in := map[string]*nacre.Tensor{"input_ids": ids}
	for _, name := range []string{"past_key_values.0.key", "past_key_values.0.value"} {
		if in[name], err = nacre.NewTensor([]float32{}, 1, 2, 0, 4); err != nil {
			t.Fatal(err)
		}
	}
	out, err := s.Run(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := nacre.Data[float32](out["logits"])
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d logits, want %d, %v", len(got), len(want), err)
	}
	for i := range got {
		if d := got[i] - want[i]; !(d < 1e-5 && d > -1e-5) {
			t.Errorf("logit %d is %g, want %g", i, want[i], got[i])
		}
	}
}

// TestRunTokensRefused runs models with tokens and flags that they cannot take.
func TestRunTokensRefused(t *testing.T) {
	path := smallGPT(t)
	for _, c := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{path, "--tokens", "1,5"}, exitFailed, []string{"element 1", "is 5", "0 to 4", "vocabulary"}},
		{[]string{path, "--tokens", "0,0,0,0,0,0,0"}, exitFailed, []string{"is 7", "at most 6", "window"}},
		{[]string{path, "--tokens", "1,x"}, exitUsage, []string{`"x" is no id`}},
		{[]string{path}, exitUsage, []string{"decoder", "--tokens"}},
		{[]string{digits, "--tokens", "1"}, exitFailed, []string{"input_ids", "this model takes"}},
		{[]string{digits, "--trace", "x.ten"}, exitUsage, []string{"--trace"}},
		{[]string{path, "--tokens", "1", "--profile", "p.json"}, exitUsage, []string{"--profile"}},
		{[]string{tensorFile(t, "m.chk", graph.Pair{Key: "config", Kind: "json", Value: `{"kind":"other"}`}), "--tokens", "1"}, exitFailed, []string{`"other"`, "gpt, ministral", "no network"}},
	} {
		code, _, stderr := call(append([]string{"run"}, c.args...)...)
		if code != c.code {
			t.Errorf("%v: exit code %d, want %d", c.args[1:], code, c.code)
		}
		for _, word := range c.says {
			if !strings.Contains(stderr, word) {
				t.Errorf("%v: %q does not say %q", c.args[1:], stderr, word)
			}
		}
	}
}

// TestRunArchive takes an input of a model from a tensor of an archive, by its key.
func TestRunArchive(t *testing.T) {
	m := &graph.Model{Graph: &graph.Graph{}}
	for _, name := range []string{"other", "picture"} {
		m.Graph.Initializers = append(m.Graph.Initializers,
			&graph.Initializer{Name: name, Tensor: tensor.New(tensor.F32, 1, 1, 8, 8)})
	}
	path := filepath.Join(t.TempDir(), "x.ten")
	if err := formats.SaveAs(path, gptrs.Archive.Name, m, formats.Options{}); err != nil {
		t.Fatal(err)
	}
	d, err := nacre.Open(digits)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	in := d.Inputs()[0].Name + "=" + path
	if code, stdout, stderr := call("run", digits, "--input", in, "--input-key", "picture"); code != exitDone ||
		!strings.Contains(stdout, "best") {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
	if code, _, stderr := call("run", digits, "--input", in); code != exitFailed || !strings.Contains(stderr, `no tensor "input"`) || !strings.Contains(stderr, `"other", "picture"`) {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}
