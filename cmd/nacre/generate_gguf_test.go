package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestGenerateGGUF continues tokens, texts and chats with a GGUF file alone.
func TestGenerateGGUF(t *testing.T) {
	testenv.Need(t, bindings.Available())
	file := filepath.Join(testenv.Samples(t, "fixtures", "gguf"), "llama.F16.gguf")
	code, line, stderr := call("generate", file, "--json", "--max-tokens", "8", "--tokens", "165,261,31,136,196,56,246,27,29,234")
	var got continuation
	if err := json.Unmarshal([]byte(line), &got); err != nil || code != exitDone {
		t.Fatalf("exit %d: %q, %v; %s", code, line, err, stderr)
	}
	want := []int32{273, 190, 133, 22, 58, 196, 121, 61} // llama.cpp's
	if !slices.Equal(got.Tokens, want) || got.Text == nil {
		t.Errorf("tokens %v, want %v, and a text", got.Tokens, want)
	}
	for _, cache := range []string{"f16", "int8"} {
		code, narrow, stderr := call("generate", file, "--json", "--max-tokens", "8", "--cache", cache, "--tokens",
			"165,261,31,136,196,56,246,27,29,234")
		if code != exitDone || narrow != line {
			t.Errorf("with a cache of %s: exit %d, %q, want %q; %s", cache, code, narrow, line, stderr)
		}
	}
	if code, _, _ := call("generate", file, "--tokens", "1", "--cache", "f64"); code != exitUsage {
		t.Errorf("with a cache of float64: exit %d", code)
	}
	_, prompted, _ := call("generate", file, "--max-tokens", "8", "--prompt", "[INST] Hi [/INST]")
	code, chat, stderr := call("generate", file, "--max-tokens", "8", "--chat", "--prompt", " Hi ")
	if code != exitDone || chat != prompted || len(chat) < 3 {
		t.Errorf("exit %d: a chat continues with %q, its text with %q; %s", code, chat, prompted, stderr)
	}
	if code, _, stderr := call("generate", file, "--tokens", strings.Repeat("1,", 200)+"1"); code != exitFailed || !strings.Contains(stderr, "window 128") {
		t.Errorf("beyond the window: exit %d, %s", code, stderr)
	}
}

// TestGenerateGGUFWithoutText continues tokens with a file of a tokenizer that is not supported.
func TestGenerateGGUFWithoutText(t *testing.T) {
	testenv.Need(t, bindings.Available())
	data, err := os.ReadFile(filepath.Join(testenv.Samples(t, "fixtures", "gguf"), "llama.F16.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	head, tail, _ := bytes.Cut(data, []byte("tokenizer.ggml.model"))
	tail = bytes.Replace(tail, []byte("llama"), []byte("plamo"), 1)
	file := write(t, filepath.Join(t.TempDir(), "odd.gguf"), slices.Concat(head, []byte("tokenizer.ggml.model"), tail))
	code, got, stderr := call("generate", file, "--max-tokens", "3", "--tokens", "165,261,31,136,196,56,246,27,29,234")
	if code != exitDone || got != "273,190,133\n" || !strings.Contains(stderr, `warning: `) || !strings.Contains(stderr, "plamo") {
		t.Errorf("exit %d: %q, %s", code, got, stderr)
	}
	if code, _, stderr := call("generate", file, "--prompt", "Hi"); code != exitFailed || !strings.Contains(stderr, "not supported") {
		t.Errorf("a prompt of text: exit %d, %s", code, stderr)
	}
}
