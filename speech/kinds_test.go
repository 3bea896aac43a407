package speech

import (
	"testing"
	"testing/fstest"
)

// TestKindFS tells voices by the names of their files.
func TestKindFS(t *testing.T) {
	files := fstest.MapFS{}
	for _, name := range []string{
		"joe.onnx", "joe.onnx.json", "k/model.onnx", "k/vocab.json", "k/voices/af_a.bin", "turbo/onnx/language_model_q4.onnx",
		"turbo/vocab.json", "net/net.onnx", "net/vocab.json",
	} {
		files[name] = &fstest.MapFile{}
	}
	for name, want := range map[string]string{
		"joe.onnx": "piper", "k": "kokoro", "turbo": "chatterbox", "net": "", ".": "", "none": "", "../k": "", "joe.onnx.json": "",
	} {
		if got := KindFS(files, name); got != want {
			t.Errorf("%s is a voice of %q, want %q", name, got, want)
		}
	}
	if got := KindFS(nil, "k"); got != "" {
		t.Errorf("no file system has a voice of %q", got)
	}
}
