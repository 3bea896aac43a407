package generate_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// longrope returns a folder with a decoder of the family phi3 with an original window of original
// tokens.
func longrope(t *testing.T, original int) string {
	t.Helper()
	const hidden, inner, heads, vocab, layers = 16, 24, 4, 29, 2
	config := fmt.Sprintf(`{"model_type":"phi3","hidden_act":"silu","hidden_size":%d,"intermediate_size":%d,"num_attention_heads":%d,
		"num_key_value_heads":2,"num_hidden_layers":%d,"vocab_size":%d,"max_position_embeddings":512,"original_max_position_embeddings":%d,
		"rms_norm_eps":1e-5,"rope_theta":10000.0,"tie_word_embeddings":true,"eos_token_id":1000,
		"rope_scaling":{"type":"longrope","short_factor":[1.0,1.1],"long_factor":[3.0,5.0]}}`, hidden, inner, heads, layers, vocab, original)
	shapes := map[string][]int{"model.embed_tokens.weight": {vocab, hidden}, "model.norm.weight": {hidden}}
	for i := range layers {
		for name, shape := range map[string][]int{"input_layernorm": {hidden}, "post_attention_layernorm": {hidden}, "self_attn.qkv_proj": {2 * hidden, hidden},
			"self_attn.o_proj": {hidden, hidden}, "mlp.gate_up_proj": {2 * inner, hidden}, "mlp.down_proj": {hidden, inner}} {
			shapes[fmt.Sprintf("model.layers.%d.%s.weight", i, name)] = shape
		}
	}
	names := make([]string, 0, len(shapes))
	for name := range shapes {
		names = append(names, name)
	}
	slices.Sort(names)
	r := rand.New(rand.NewPCG(7, 1))
	header, body := map[string]any{}, []byte{}
	for _, name := range names {
		from, n := len(body), 1
		for _, d := range shapes[name] {
			n *= d
		}
		for range n {
			body = binary.LittleEndian.AppendUint32(body, math.Float32bits(float32(r.NormFloat64())))
		}
		header[name] = map[string]any{"dtype": "F32", "shape": shapes[name], "data_offsets": []int{from, len(body)}}
	}
	head, err := json.Marshal(header)
	testenv.Need(t, err)
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), append(head, body...)...)
	dir := t.TempDir()
	testenv.Need(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o666))
	testenv.Need(t, os.WriteFile(filepath.Join(dir, "model.safetensors"), file, 0o666))
	return dir
}

// TestLongrope generates past the original window. With and without states, from prompts below, at
// and above it, in one chunk and in several, the tokens are the same.
func TestLongrope(t *testing.T) {
	const original = 9
	dir := longrope(t, original)
	m, err := nacre.Open(dir)
	testenv.Need(t, err)
	defer m.Close()
	s, err := m.NewSession(nacre.Options{Threads: 1})
	testenv.Need(t, err)
	defer s.Close()
	o, _, err := generate.SettingsOf(m, os.DirFS(dir))
	testenv.Need(t, err)
	if o.Original != original {
		t.Fatalf("the original window is %d, not %d", o.Original, original)
	}
	tokens := func(o generate.Options, prompt []int32) []int32 {
		g, err := generate.New(t.Context(), s, o)
		testenv.Need(t, err)
		return one(t, g.Tokens(t.Context(), prompt, generate.Sampling{MaxTokens: 16}))
	}
	r := rand.New(rand.NewPCG(3, 4))
	changed := false
	for n := 1; n <= 24; n++ {
		prompt := make([]int32, n)
		for i := range prompt {
			prompt[i] = r.Int32N(29)
		}
		all := o
		all.NoCache = true
		want := tokens(all, prompt)
		for _, chunk := range []int{0, 1, 4, 10, 11} {
			cached := o
			cached.Chunk = chunk
			if got := tokens(cached, prompt); !slices.Equal(got, want) {
				t.Errorf("a prompt of %d in chunks of %d: %v, without states %v", n, chunk, got, want)
			}
			cached.Original = 0
			changed = changed || !slices.Equal(tokens(cached, prompt), want)
		}
	}
	if !changed {
		t.Error("states of the original window change nothing: the test has no force")
	}
}
