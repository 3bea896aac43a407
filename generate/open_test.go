package generate_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/generate/tokenizer"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// decoderFolder makes a folder of files by their paths. A nil file is a small decoder.
func decoderFolder(t *testing.T, files map[string]any) string {
	t.Helper()
	testenv.Need(t, bindings.Available())
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		testenv.Need(t, os.MkdirAll(filepath.Dir(path), 0o700))
		if content == nil {
			testenv.Need(t, formats.Save(path, llama(), formats.Options{}))
			continue
		}
		data, err := json.Marshal(content)
		testenv.Need(t, err)
		testenv.Need(t, os.WriteFile(path, data, 0o600))
	}
	return dir
}

// byteTokens is a tokenizer.json with bytes as tokens.
func byteTokens() map[string]any {
	vocabulary, next := map[string]int{}, rune(256)
	for b := range rune(256) {
		r := b
		if !(b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae) {
			r, next = next, next+1
		}
		vocabulary[string(r)] = int(b)
	}
	return map[string]any{"model": map[string]any{"type": "BPE", "vocab": vocabulary, "merges": []string{}},
		"pre_tokenizer": map[string]any{"type": "ByteLevel", "add_prefix_space": false}, "decoder": map[string]any{"type": "ByteLevel"}}
}

// TestOpen opens folders and files, and compares a text with the text of the small decoder.
func TestOpen(t *testing.T) {
	settings := map[string]any{"do_sample": true, "temperature": 0.5, "eos_token_id": 3}
	beside := decoderFolder(t, map[string]any{"tokenizer.json": byteTokens()})
	plain := generator(t, session(t, llama(), nacre.Options{Threads: 1}), generate.Options{Tokenizer: bytewise{}})
	want := ""
	for piece, err := range plain.Text(t.Context(), "Hi", generate.Sampling{MaxTokens: 8}) {
		testenv.Need(t, err)
		want += piece.Text
	}
	for name, tt := range map[string]struct {
		files   map[string]any
		file    string
		options generate.OpenOptions
		tokens  bool // there is no tokenizer
		window  int
		warmth  float64
	}{
		"folder": {files: map[string]any{"model.onnx": nil, "tokenizer.json": byteTokens(), "generation_config.json": settings,
			"config.json": map[string]any{"max_position_embeddings": 40}}, window: 40, warmth: 0.5},
		"file of a folder": {files: map[string]any{"other.onnx": nil, "tokenizer.json": byteTokens()}, file: "other.onnx"},
		"folder below":     {files: map[string]any{"onnx/model.onnx": nil, "tokenizer.json": byteTokens()}},
		"genai": {files: map[string]any{"m/d.onnx": nil, "model.onnx": "not read", "tokenizer.json": byteTokens(), "genai_config.json": map[string]any{
			"model": map[string]any{"context_length": 30, "decoder": map[string]any{"filename": "m/d.onnx"}}}}, window: 30},
		"tokenizer beside": {files: map[string]any{"model.onnx": nil}, options: generate.OpenOptions{Tokenizer: beside}},
		"no tokenizer":     {files: map[string]any{"model.onnx": nil}, tokens: true},
		"tokens alone": {files: map[string]any{"model.onnx": nil, "tokenizer.json": "broken"},
			options: generate.OpenOptions{NoTokenizer: true}, tokens: true},
		"changed": {files: map[string]any{"model.onnx": nil, "tokenizer.json": byteTokens()},
			options: generate.OpenOptions{Change: func(o *generate.Options) { o.Window = 20 }}, window: 20},
	} {
		t.Run(name, func(t *testing.T) {
			tt.options.Session.Threads = 1
			d, err := generate.Open(t.Context(), filepath.Join(decoderFolder(t, tt.files), tt.file), tt.options)
			testenv.Need(t, err)
			defer func() {
				testenv.Need(t, d.Close())
				testenv.Need(t, d.Close())
			}()
			if (d.Tokenizer == nil) != tt.tokens || d.Sampling.Temperature != tt.warmth {
				t.Errorf("tokenizer %v, sampling %+v", d.Tokenizer, d.Sampling)
			}
			long := make([]int32, tt.window+1)
			if _, err := d.Start(t.Context(), long, generate.Sampling{MaxTokens: 1}); errors.Is(err, generate.ErrWindow) != (tt.window > 0) {
				t.Errorf("%d tokens: %v", len(long), err)
			}
			if tt.tokens {
				return
			}
			got := ""
			for piece, err := range d.Text(t.Context(), "Hi", generate.Sampling{MaxTokens: 8}) {
				testenv.Need(t, err)
				got += piece.Text
			}
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// TestOpenRefused opens paths that are no decoders.
func TestOpenRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		files   map[string]any
		options generate.OpenOptions
		kind    error
	}{
		"nothing":           {map[string]any{}, generate.OpenOptions{}, nil},
		"broken settings":   {map[string]any{"model.onnx": nil, "config.json": "text"}, generate.OpenOptions{}, nacre.ErrFormat},
		"broken tokenizer":  {map[string]any{"model.onnx": nil, "tokenizer.json": "text"}, generate.OpenOptions{}, nil},
		"no such tokenizer": {map[string]any{"model.onnx": nil}, generate.OpenOptions{Tokenizer: "/none"}, fs.ErrNotExist},
		"an option":         {map[string]any{"model.onnx": nil}, generate.OpenOptions{Session: nacre.Options{Threads: -1}}, nacre.ErrOption},
		"a path outside": {map[string]any{"genai_config.json": map[string]any{"model": map[string]any{"decoder": map[string]any{"filename": "../x"}}}},
			generate.OpenOptions{}, nacre.ErrFormat},
	} {
		d, err := generate.Open(t.Context(), decoderFolder(t, tt.files), tt.options)
		if err == nil || tt.kind != nil && !errors.Is(err, tt.kind) {
			t.Errorf("%s: %v, %v", name, d, err)
		}
	}
}

// TestOpenGGUF opens files of GGUF, which have all in their metadata.
func TestOpenGGUF(t *testing.T) {
	path := filepath.Join(testenv.Samples(t, "fixtures", "gguf"), "llama.F32.gguf")
	d, err := generate.Open(t.Context(), path, generate.OpenOptions{})
	testenv.Need(t, err)
	defer d.Close()
	m, err := nacre.Open(path)
	testenv.Need(t, err)
	defer m.Close()
	own, err := tokenizer.FromGGUF(t.Context(), m.Source().Meta, tokenizer.Options{})
	if (err == nil) != (d.Tokenizer != nil) || err == nil && own.Vocabulary() != d.Tokenizer.Vocabulary() {
		t.Errorf("tokenizer %v, want %v; %v", d.Tokenizer, own, err)
	}
}
