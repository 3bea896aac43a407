package gptrs_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/gptrs"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// The size of the network for runs with less memory than its weights take.
const (
	wideLayers = 6
	wideEmbed  = 512
	wideVocab  = 2048
)

// wide writes a checkpoint of 85 MB. Its payloads begin offset bytes after a multiple of 4. runtime
// is a member of its configuration.
func wide(t *testing.T, offset int, runtime string) string {
	t.Helper()
	m := &graph.Model{Format: gptrs.Checkpoint.Name, Graph: &graph.Graph{}}
	r := rand.New(rand.NewPCG(1, 2))
	values := make([]float32, 1<<12)
	for i := range values {
		values[i] = float32(r.NormFloat64()) / 16
	}
	add := func(name string, shape ...int) {
		x := tensor.New(tensor.F32, shape...)
		v := tensor.View[float32](x)
		for at := 0; at < len(v); at += len(values) - 7 {
			copy(v[at:], values[r.IntN(7):])
		}
		m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: name, Tensor: x})
	}
	add("tok_embeddings.weight", wideVocab, wideEmbed)
	add("pos_embeddings", 16, wideEmbed)
	add("lm_head", wideEmbed, wideVocab)
	norms := []string{"final_ln"}
	for i := range wideLayers {
		p := fmt.Sprintf("blocks.%d.", i)
		norms = append(norms, p+"ln_1", p+"ln_2")
		for _, w := range []struct {
			name    string
			in, out int
		}{{"attention.%s_qkv", 1, 3}, {"attention.%s_out", 1, 1}, {"feed_forward.%s_in", 1, 4}, {"feed_forward.%s_out", 4, 1}} {
			add(p+fmt.Sprintf(w.name, "w"), w.in*wideEmbed, w.out*wideEmbed)
			add(p+fmt.Sprintf(w.name, "b"), w.out*wideEmbed)
		}
	}
	for _, name := range norms {
		add(name+".gamma", wideEmbed)
		add(name+".beta", wideEmbed)
	}
	config := fmt.Sprintf(`{"kind":"gpt","config":{"vocab_size":%d,"context_length":16,"embed_dim":%d,"num_layers":%d,"num_heads":8,"mlp_ratio":4,"dropout":0}%s}`,
		wideVocab, wideEmbed, wideLayers, runtime)
	for range 4 {
		m.Meta = []graph.Pair{{Key: "config", Kind: "json", Value: config}}
		path := filepath.Join(t.TempDir(), "wide.chk")
		if err := formats.SaveAs(path, gptrs.Checkpoint.Name, m, formats.Options{}); err != nil {
			t.Fatal(err)
		}
		read, err := formats.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		defer read.Close()
		if read.Graph.Initializers[0].Stored.Offset%4 == int64(offset) {
			return path
		}
		config += " "
	}
	t.Fatal("no spaces put the payloads there")
	return ""
}

// The environment variables of TestBudgetChild.
const childFile, childBudget = "NACRE_TEST_CHECKPOINT", "NACRE_TEST_BUDGET"

// TestBudgetChild runs a checkpoint in a process of its own and prints the growth of its peak
// memory and the best tokens.
func TestBudgetChild(t *testing.T) {
	path := os.Getenv(childFile)
	if path == "" {
		return // TestWeightBudget starts this test in a child process
	}
	var o nacre.Options
	if _, err := fmt.Sscan(os.Getenv(childBudget), &o.WeightBudget); err != nil {
		t.Fatal(err)
	}
	o.Threads = 1
	before := fixtures.MostMemory(t)
	s := session(t, open(t, path), o)
	st, err := s.NewStream(context.Background(), nacre.StreamOptions{Room: 16})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	got := greedy(t, []int64{1, 2, 3}, 6, 16, func(tokens []int64, _ bool) []float32 {
		out, err := st.Run(context.Background(), map[string]*nacre.Tensor{"input_ids": ids(t, tokens[st.Len():]...)})
		if err != nil {
			t.Fatal(err)
		}
		return last(t, out)
	})
	fmt.Printf("grown %d tokens %s\n", fixtures.MostMemory(t)-before, text(got))
}

// child runs TestBudgetChild.
func child(t *testing.T, path string, budget int) (grown int, tokens string) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run=^TestBudgetChild$")
	cmd.Env = append(slices.Clone(os.Environ()), childFile+"="+path, fmt.Sprintf("%s=%d", childBudget, budget))
	out, err := cmd.CombinedOutput()
	if err == nil {
		_, err = fmt.Sscanf(string(out), "grown %d tokens %s", &grown, &tokens)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return grown, tokens
}

// TestWeightBudget runs a checkpoint with less memory than its weights take, set by the option or
// by the file. States and the memory of a run are small.
func TestWeightBudget(t *testing.T) {
	if testing.Short() {
		t.Skip("short runs are those of sanitizers and the race detector, which hold memory of their own")
	}
	const slack = 24 << 20
	all := (wideLayers*12*wideEmbed + 2*wideVocab) * wideEmbed * 4
	var want string
	for _, c := range []struct {
		name    string
		offset  int
		budget  int
		runtime string
		most    int
	}{
		{"none", 0, 0, "", all + slack},
		{"aligned", 0, 8 << 20, "", 8<<20 + slack},
		{"unaligned", 1, 8 << 20, "", 8<<20 + slack},
		{"of the file", 2, 0, `,"runtime":{"weight_streaming":{"enabled":true,"device_budget_bytes":9000000,"prefetch_layers":1,"small_param_persist_threshold":4096}}`, 9000000 + 13<<20 + slack},
		{"without knobs", 0, 0, `,"runtime":{"weight_streaming":{"enabled":true}}`, slack},
	} {
		t.Run(c.name, func(t *testing.T) {
			grown, tokens := child(t, wide(t, c.offset, c.runtime), c.budget)
			if want == "" {
				want = tokens
			}
			if tokens != want {
				t.Errorf("tokens %s, want %s", tokens, want)
			}
			if grown > c.most {
				t.Errorf("memory grew by %d bytes, want %d at most", grown, c.most)
			}
			if c.name == "none" && grown < all/2 {
				t.Errorf("memory grew by %d bytes, so that a bound of %d says nothing", grown, slack)
			}
			t.Logf("%d MB of %d MB", grown>>20, all>>20)
		})
	}
}
