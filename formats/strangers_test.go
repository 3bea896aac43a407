package formats

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// TestStrangers opens files that are not models, or are models in a form that is not read.
func TestStrangers(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ name, data, want string }{
		{"lfs.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "git lfs pull"},
		{"model.ort", "\x14\x00\x00\x00ORTM\x0c\x00\x10\x00\x0c\x00\x08\x00", "session.save_model_format=ONNX"},
		{"ort.onnx", "\x18\x00\x00\x00ORTM\x0c\x00\x10\x00\x0c\x00\x08\x00", "ORT format"},
		{"model", "\n# made by hand\nir_version: 8\nproducer_name: \"p\"\n", `format="textproto"`},
		{"model.pbtxt", "graph {\n  node {\n    input: \"x\"\n  }\n}\nir_version: 8\n", "protobuf text"},
		{"text.onnx", "opset_import: { version: 17 }\n", "protobuf text"},
		{"model.onnxtxt", "<\n   ir_version: 8,\n   opset_import: [\"\" : 17]\n>\ng (float[2] x) => (float[2] y) {\n}\n", `format="onnxtxt"`},
		{"ggml-model.bin", "lmgg\x20\x00\x00\x00", "older than GGUF"},
		{"short.txt", "// text\n<ir_version:8>", "text language"},
		{"model.json", "{\n  \"irVersion\": \"8\", \"graph\": {}}", `format="json"`},
		{"model.onnxjson", "{\"ir_version\": 8, \"graph\": {}}", "as JSON"},
	} {
		path := filepath.Join(dir, c.name)
		if err := os.WriteFile(path, []byte(c.data), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		var e *graph.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %T", c.name, err)
		}
	}
}
