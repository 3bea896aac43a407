package speech

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
)

// testChatterboxErrors opens voices with faults, and speaks with options that a voice does not take.
func testChatterboxErrors(t *testing.T, folder string) {
	file := func(name string) string { return filepath.Join("onnx", name) }
	silence := Sound{24_000, make([]float32, 48_000)}
	broken := person(2, 24_000)
	broken.Samples[7] = float32(math.NaN())
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, folder string)
		o      Options
		kind   error
		says   []string
	}{
		{"no weights", remove(file("embed_tokens_q4.onnx_data")), Options{Precision: "q4"}, fs.ErrNotExist,
			[]string{"q4", "embed_tokens_q4.onnx_data", "q4f16, quantized, fp16, fp32"}},
		{"no graph and no tokenizer", remove(file("speech_encoder_fp16.onnx"), "tokenizer.json"), Options{Precision: "fp16"}, fs.ErrNotExist,
			[]string{"speech_encoder_fp16.onnx, ", "speech_encoder_fp16.onnx_data", "tokenizer.json"}},
		{"no complete set", remove("tokenizer.json"), Options{}, fs.ErrNotExist, []string{"q4: tokenizer.json"}},
		{"unknown precision", nil, Options{Precision: "int3"}, nacre.ErrOption, []string{`"int3"`, "q4, q4f16, quantized, fp16, fp32"}},
		{"tokenizer", write("tokenizer.json", "{"), Options{}, nacre.ErrFormat, []string{"tokenizer.json"}},
		{"graph", write(file("language_model_q4.onnx"), "no graph"), Options{}, nacre.ErrFormat, []string{"language_model_q4.onnx"}},
		{"another graph", copied(file("embed_tokens_q4.onnx"), file("conditional_decoder_q4.onnx")), Options{}, nacre.ErrUnsupported,
			[]string{"conditional_decoder_q4.onnx", "speaker_embeddings, floats with 2 axes"}},
		{"no caches", copied(file("embed_tokens_q4.onnx"), file("language_model_q4.onnx")), Options{}, nacre.ErrUnsupported,
			[]string{"language_model_q4.onnx", "inputs_embeds"}},
		{"no reference", nil, Options{Reference: Sound{24_000, nil}}, ErrSound, []string{"no reference", "5 to 20 seconds"}},
		{"wrong rate", nil, Options{Reference: Sound{-1, silence.Samples}}, ErrSound, []string{"-1 samples a second"}},
		{"short", nil, Options{Reference: person(0.2, 24_000)}, ErrSound, []string{"0.2 seconds long, too short"}},
		{"an hour", nil, Options{Reference: Sound{24_000, make([]float32, 24_000*3600)}}, ErrSound, []string{"3600 seconds long", "cut out"}},
		{"silence", nil, Options{Reference: silence}, ErrSound, []string{"silent"}},
		{"no numbers", nil, Options{Reference: broken}, ErrSound, []string{"sample 7", "NaN"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := folder
			if tt.change != nil {
				at = t.TempDir()
				if err := os.CopyFS(at, os.DirFS(folder)); err != nil {
					t.Fatal(err)
				}
				tt.change(t, at)
			}
			if tt.o.Reference.Rate == 0 {
				tt.o.Reference = person(2, 24_000)
			}
			v, err := Open(at, tt.o)
			if err == nil {
				v.Close()
			}
			reported(t, err, tt.kind, append(tt.says, at)...)
		})
	}

	one := 1.0
	v := openChatterboxAt(t, folder, Options{})
	for _, tt := range []struct {
		name, text string
		o          SpeakOptions
		kind       error
		says       []string
	}{
		{"speed", "Hello.", SpeakOptions{Speed: 2}, nacre.ErrOption, []string{"Speed is 2"}},
		{"noise", "Hello.", SpeakOptions{Noise: &one}, nacre.ErrOption, []string{"Noise", "Sampling"}},
		{"sampling", "Hello.", SpeakOptions{Sampling: &generate.Sampling{TopP: 2}}, nacre.ErrOption, []string{"TopP is 2"}},
		{"speaker", "Hello.", SpeakOptions{Speaker: "Ann"}, nacre.ErrOption, []string{"one speaker", `"Ann"`}},
		{"nothing", "  ", SpeakOptions{}, ErrText, []string{"empty"}},
		{"too long", strings.Repeat("word ", MaxText), SpeakOptions{}, ErrText, []string{"500000 characters", "100000"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, err := range v.Speak(t.Context(), tt.text, tt.o) {
				reported(t, err, tt.kind, append(tt.says, folder)...)
			}
		})
	}
}

// reported checks the kind of an error and words of its message.
func reported(t *testing.T, err, kind error, says ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("the error is %v, not of the kind %v", err, kind)
	}
	for _, word := range says {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
	t.Log(err)
}

func remove(names ...string) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		for _, name := range names {
			if err := os.Remove(filepath.Join(folder, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func write(name, text string) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func copied(from, to string) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		data, err := os.ReadFile(filepath.Join(folder, from))
		if err != nil {
			t.Fatal(err)
		}
		write(to, string(data))(t, folder)
	}
}

// TestSpoken checks how sentences are given to the voice.
func TestSpoken(t *testing.T) {
	for text, want := range map[string]string{
		"hello":                 "Hello.",
		" Two\n words, twice, ": "Two words, twice,",
		"is it? [laugh]":        "Is it? [laugh]",
		"été…":                  "Été…",
		"[chuckle] um anyway -": "[chuckle] um anyway -",
		"she said \"yes\"":      "She said \"yes\"",
		"":                      "",
	} {
		if got := spoken(text); got != want {
			t.Errorf("spoken(%q) is %q, want %q", text, got, want)
		}
	}
}

// TestPositions checks the places of tokens for voices whose embed_tokens takes them.
func TestPositions(t *testing.T) {
	for _, tt := range []struct {
		ids  []int64
		step int
		want []int64
	}{
		{[]int64{6563, 255, 39, 0, 6561, 6561}, 0, []int64{0, 0, 1, 2, 0, 0}},
		{[]int64{17}, 3, []int64{3}},
	} {
		if got := positions(tt.ids, tt.step); !slices.Equal(got, tt.want) {
			t.Errorf("positions(%v, %d) are %v, want %v", tt.ids, tt.step, got, tt.want)
		}
	}
}
