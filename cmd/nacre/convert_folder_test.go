package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestConvertFolder converts decoders to folders and back. Each gives the same text for a chat.
func TestConvertFolder(t *testing.T) {
	samples := testenv.Samples(t, "fixtures", "gguf")
	for _, c := range []struct{ name, blocks string }{
		{"qwen3.Q4_1.gguf", "15 of q4_1"}, {"llama.F16.gguf", ""}, {"mixtral.Q8_0.gguf", "of q8_0"}, {"gemma3.Q8_0.gguf", "of q8_0"},
	} {
		in, dir := filepath.Join(samples, c.name), t.TempDir()
		folder, back := filepath.Join(dir, "folder"), filepath.Join(dir, "back.gguf")
		code, stdout, stderr := call("convert", in, folder+"/")
		if code != 0 || stdout != "" || !strings.Contains(stderr, "in 5 files") || strings.Contains(stderr, "in blocks became float32") != (c.blocks != "") || !strings.Contains(stderr, c.blocks) {
			t.Fatalf("%s: %d, %q, %q", c.name, code, stdout, stderr)
		}
		if code, stdout, stderr := call("convert", folder, back); code != 0 || stdout != "" || strings.Contains(stderr, "warning") {
			t.Fatalf("%s: %d, %q, %q", c.name, code, stdout, stderr)
		}
		code, stdout, stderr = call("quantize", folder, filepath.Join(dir, "small.gguf"), "--to", "q8_0", "--layer", "q_proj=float", "--allow-requantize")
		if code != 0 || !strings.Contains(stdout, "\nmodel.layers.0.self_attn.v_proj.weight ") || !strings.Contains(stdout, "kept by a rule") || strings.Contains(stdout, "blk.") {
			t.Errorf("%s: %d, %q, %q", c.name, code, stdout, stderr)
		}
		var texts []string
		for _, path := range []string{in, folder, back} {
			code, text, stderr := call("generate", path, "--chat", "--prompt", "the other words", "--max-tokens", "12", "--greedy", "--threads", "1")
			if code != 0 || text == "" {
				t.Fatalf("%s: %d, %q", path, code, stderr)
			}
			texts = append(texts, text)
		}
		if texts[1] != texts[0] || texts[2] != texts[0] {
			t.Errorf("%s: %q", c.name, texts)
		}
	}
}

// TestConvertFolderTypes writes halves, and names of the format.
func TestConvertFolderTypes(t *testing.T) {
	in := filepath.Join(testenv.Samples(t, "fixtures", "gguf"), "qwen2.Q4_0.gguf")
	out := filepath.Join(t.TempDir(), "out")
	code, _, stderr := call("convert", in, out, "--to", "huggingface", "--dtype", "bfloat16", "--drop-tokenizer")
	if code != 0 || !strings.Contains(stderr, "in 2 files") && !strings.Contains(stderr, "in 3 files") || !strings.Contains(stderr, "became bfloat16") {
		t.Fatalf("%d, %q", code, stderr)
	}
	data := read(t, filepath.Join(out, "model.safetensors"))
	if bytes.Contains(data, []byte(`"F32"`)) || !bytes.Contains(data, []byte(`"BF16"`)) {
		t.Error("tensors are not bfloat16")
	}
	if !bytes.Contains(read(t, filepath.Join(out, "config.json")), []byte(`"torch_dtype": "bfloat16"`)) {
		t.Error("config.json has another type")
	}
	back := filepath.Join(t.TempDir(), "x.gguf")
	if code, _, stderr := call("convert", out, back); code != 0 || !strings.Contains(stderr, "the folder has no tokenizer") {
		t.Fatalf("%d, %q", code, stderr)
	}
	r := inspected(t, back)
	for _, x := range r.Tensors {
		if vector := len(x.Shape) == 1; vector != (x.DType == "float32") {
			t.Errorf("%s is of %s", x.Name, x.DType)
		}
	}
}

// TestConvertFolderRefused has models that are not converted, and folders that are there.
func TestConvertFolderRefused(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(testenv.Samples(t, "fixtures", "gguf"), "qwen2.Q4_0.gguf")
	zoo := filepath.Join(testenv.Samples(t, "fixtures", "gguf"), "zoo.a.gguf")
	onnx := checkpoint(t, filepath.Join(dir, "in.onnx"))
	full := filepath.Join(dir, "full")
	if err := os.MkdirAll(filepath.Join(full, "x"), 0o777); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "config")
	if code, _, stderr := call("convert", in, config+"/"); code != 0 {
		t.Fatal(stderr)
	}
	for file, text := range map[string]string{"config.json": `{"model_type":"mamba"}`} {
		if err := os.WriteFile(filepath.Join(config, file), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		in, out string
		want    []string
	}{
		{onnx, filepath.Join(dir, "a") + "/", []string{"made of a file of gguf"}},
		{in, full + "/", []string{"not empty"}},
		{in, onnx + "/", []string{"a file of that name"}},
		{zoo, filepath.Join(dir, "b") + "/", []string{"no counterpart", "*.safetensors"}},
		{config, filepath.Join(dir, "c.gguf"), []string{"mamba", "*.safetensors"}},
	} {
		code, _, stderr := call("convert", c.in, c.out)
		for _, want := range c.want {
			if code == 0 || !strings.Contains(stderr, want) {
				t.Errorf("%s to %s: %d, %q, want %q", c.in, c.out, code, stderr, want)
			}
		}
	}
	for _, name := range []string{"a", "b", "c.gguf"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
}
