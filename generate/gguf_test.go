package generate_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// pair returns a pair of a GGUF file's metadata.
func pair[T tensor.Element](t *testing.T, key string, values ...T) graph.Pair {
	t.Helper()
	x, err := tensor.From(values, len(values))
	if err != nil {
		t.Fatal(err)
	}
	return graph.Pair{Key: key, Kind: "numbers", Data: x}
}

// TestGGUFSettings reads settings in metadata.
func TestGGUFSettings(t *testing.T) {
	named := graph.Pair{Key: "general.architecture", Kind: "string", Value: "llama"}
	for _, tt := range []struct {
		name     string
		meta     []graph.Pair
		options  generate.Options
		sampling generate.Sampling
	}{
		{"none", nil, generate.Options{}, generate.Sampling{}},
		{"greedy", []graph.Pair{
			pair(t, "llama.context_length", uint32(64)), named, pair(t, "tokenizer.ggml.eos_token_id", uint32(7)), pair(t, "tokenizer.ggml.eot_token_id", int64(9)),
			pair(t, "tokenizer.ggml.eom_token_id", uint32(1<<32-1)), pair(t, "general.sampling.penalty_repeat", float32(1.25)),
		}, generate.Options{StopIDs: []int32{7, 9}, Window: 64}, generate.Sampling{RepetitionPenalty: 1.25}},
		{"sampled", []graph.Pair{
			pair(t, "general.sampling.temp", float32(0.6)), pair(t, "general.sampling.top_k", int32(20)), pair(t, "general.sampling.top_p", float32(0.95)),
			pair(t, "general.sampling.min_p", float32(0.05)),
		}, generate.Options{}, generate.Sampling{Temperature: 0.6, TopK: 20, TopP: 0.95, MinP: 0.05}},
		{"without a temperature", []graph.Pair{pair(t, "general.sampling.top_k", int32(0))}, generate.Options{}, generate.Sampling{Temperature: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, s, err := generate.SettingsOf(ggufModel(t, tt.meta...), nacre.Files{"config.json": []byte(`{"eos_token_id":3}`)})
			if err != nil || !reflect.DeepEqual(o, tt.options) || !reflect.DeepEqual(s, tt.sampling) {
				t.Errorf("%+v and %+v, %v; want %+v and %+v", o, s, err, tt.options, tt.sampling)
			}
		})
	}
	for kind, list := range map[error][][]graph.Pair{
		nacre.ErrFormat: {{pair(t, "llama.context_length", float32(1.5)), named}, {{Key: "general.sampling.temp", Kind: "string", Value: "warm"}}},
		nacre.ErrOption: {{pair(t, "general.sampling.top_p", float32(2))}, {pair(t, "general.sampling.temp", float32(-1))}},
	} {
		for _, meta := range list {
			if _, _, err := generate.SettingsOf(ggufModel(t, meta...), nil); !errors.Is(err, kind) {
				t.Errorf("%v: the error is %v", meta, err)
			}
		}
	}
}

// TestGGUFOriginal reads the original window of a decoder with other rotations beyond it.
func TestGGUFOriginal(t *testing.T) {
	m := llama()
	m.Format = "gguf"
	m.Meta = []graph.Pair{{Key: "general.architecture", Value: "phi3"}, pair(t, "phi3.rope.scaling.original_context_length", uint32(16))}
	m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: "rope_factors_long.weight", Tensor: tensor.New(tensor.F32, 4)})
	model, err := nacre.NewModel(m)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	if o, _, err := generate.SettingsOf(model, nil); err != nil || o.Original != 16 {
		t.Errorf("the original window is %d (%v)", o.Original, err)
	}
}

// ggufModel returns a small decoder with the metadata of a GGUF file.
func ggufModel(t *testing.T, meta ...graph.Pair) *nacre.Model {
	t.Helper()
	m := llama()
	m.Format, m.Meta = "gguf", meta
	model, err := nacre.NewModel(m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	return model
}

// ending is a tokenizer that knows the end of a text and what a text must not have.
type ending struct {
	bytewise
	ends, suppressed []int32
}

func (e ending) EndIDs() []int32        { return e.ends }
func (e ending) SuppressedIDs() []int32 { return e.suppressed }

// TestEnds takes the end of a text from the tokenizer, and chooses none of the suppressed tokens.
func TestEnds(t *testing.T) {
	s := session(t, llama(), nacre.Options{Threads: 1})
	prompt := []int32{7, 200, 31}
	free := one(t, generator(t, s, generate.Options{}).Tokens(context.Background(), prompt, generate.Sampling{MaxTokens: 8}))
	at := slices.IndexFunc(free, func(id int32) bool { return id != free[0] })
	if at < 0 {
		t.Fatal("all tokens are equal:", free)
	}
	g := generator(t, s, generate.Options{Tokenizer: ending{ends: free[at : at+1]}})
	if got := one(t, g.Tokens(context.Background(), prompt, generate.Sampling{MaxTokens: 8})); !slices.Equal(got, free[:at]) {
		t.Errorf("tokens %v up to %d: %v", free, free[at], got)
	}
	for _, o := range []generate.Options{{SuppressIDs: []int32{-1, free[0], 1 << 20}}, {Tokenizer: ending{suppressed: free[:1]}}} {
		for _, sampling := range []generate.Sampling{{MaxTokens: 8}, {MaxTokens: 8, Temperature: 3, RepetitionPenalty: 1.1}} {
			if got := one(t, generator(t, s, o).Tokens(context.Background(), prompt, sampling)); len(got) != 8 || slices.Contains(got, free[0]) {
				t.Errorf("tokens without %d: %v", free[0], got)
			}
		}
	}
}
