package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/internal/topologies"
)

// TestChat holds a chat with a small random decoder of bytes. The second answer to the same messages is
// the same in a chat that goes on and in one that begins anew.
func TestChat(t *testing.T) {
	testenv.Need(t, bindings.Available())
	folder := t.TempDir()
	m := topologies.Llama(topologies.LlamaSize{Layers: 1, Width: 16, Heads: 2, KVHeads: 1, Hidden: 16, Words: 256})
	if err := formats.Save(filepath.Join(folder, "model.onnx"), m, formats.Options{}); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]any{
		"tokenizer.json": map[string]any{
			"model":   map[string]any{"type": "BPE", "vocab": letters(), "merges": []string{}},
			"decoder": map[string]any{"type": "Fuse"},
		},
		"tokenizer_config.json":  map[string]any{"chat_template": "{% for m in messages %}{{ m.role[0] }}{{ m.content }}{% endfor %}a"},
		"generation_config.json": map[string]any{"max_new_tokens": 8},
	} {
		data, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	talk := func(lines string) []string {
		var out strings.Builder
		if err := hold(folder, strings.NewReader(lines), &out); err != nil {
			t.Fatal(err)
		}
		return strings.Split(out.String(), "\n")
	}
	first, again := talk("hello\nbye\n"), talk("hello\nbye\n")
	if len(first) != 4 || len(first[0]) < 4 || strings.Join(first, "|") != strings.Join(again, "|") {
		t.Errorf("%q, then %q", first, again)
	}
	if alone := talk("hello\n"); alone[0] != first[0] {
		t.Errorf("%q alone, %q in a chat", alone[0], first[0])
	}
	if err := hold(t.TempDir(), strings.NewReader(""), &strings.Builder{}); err == nil {
		t.Error("an empty folder is a model")
	}
}

// letters returns 256 tokens of one character each.
func letters() map[string]int {
	vocabulary := map[string]int{}
	for i := range 256 {
		vocabulary[string(rune(' '+i))] = i
	}
	return vocabulary
}
