package safetensors

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// folderOf makes a folder of files.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// shard returns a file of tensors of one byte.
func shard(meta string, names ...string) string {
	parts := []string{}
	if meta != "" {
		parts = append(parts, `"__metadata__":{`+meta+`}`)
	}
	for i, name := range names {
		parts = append(parts, string(appendText(nil, name))+strings.NewReplacer("B", string(rune('0'+i)), "E", string(rune('1'+i))).Replace(`:{"dtype":"U8","shape":[1],"data_offsets":[B,E]}`))
	}
	return string(file("{"+strings.Join(parts, ",")+"}", len(names)))
}

func openAt(t *testing.T, path string) (*graph.Model, error) {
	t.Helper()
	f, err := binio.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Open(nil, f)
	if err != nil {
		f.Close()
	}
	return m, err
}

func names(m *graph.Model) string {
	var list []string
	for _, x := range m.Graph.Initializers {
		list = append(list, x.Name)
	}
	return strings.Join(list, " ")
}

func TestIndex(t *testing.T) {
	dir := folderOf(t, map[string]string{
		"b.safetensors":       shard(`"format":"pt","n":"1"`, "x", "y"),
		"deep/a.safetensors":  shard(`"format":"pt"`, "w"),
		"other.safetensors":   shard("", "q"),
		"some.index.json":     ` {"metadata": {"total_size": 3}, "weight_map": {"y":"b.safetensors","w":"deep/a.safetensors","x":"b.safetensors"}, "more": [1]}`,
		"config.json":         `{"a":1}`,
		"nothing/config.json": "{}",
	})
	path := filepath.Join(dir, "some.index.json")
	m, err := openAt(t, path)
	if err != nil {
		t.Fatal(err)
	}
	if names(m) != "x y w" || m.File != path || len(m.Meta) != 3 || m.Meta[0] != (graph.Pair{Key: "index.metadata", Kind: "json", Value: `{"total_size": 3}`}) {
		t.Errorf("tensors %s, metadata %v", names(m), m.Meta)
	}
	if x := m.Graph.Initializers[2]; x.Stored.Offset != -1 || x.Stored.DType != "U8" || x.Tensor.Bytes()[0] != 0 {
		t.Errorf("%+v", x.Stored)
	}
	one, err := Read(nil, "one", write(t, m, container.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	same(t, one, m)
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	f, err := binio.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if p := Verify(nil, f); len(p) > 0 {
		t.Error(p)
	}
	if _, err := Read(nil, "x", f.Data); !errors.Is(err, graph.ErrUnsupported) {
		t.Errorf("an index in memory: %v", err)
	}
}

func TestIndexRefused(t *testing.T) {
	files := map[string]string{
		"a.safetensors": shard("", "x", "y"), "b.safetensors": shard("", "y"), "bad.safetensors": "short", "sub/c.safetensors": shard("", "z"),
	}
	cases := map[string]string{
		`{"weight_map":{"x":"a.safetensors"}}`:                                                       `tensor "y" is in a.safetensors, and the index does not have it`,
		`{"weight_map":{"x":"a.safetensors","y":"b.safetensors"}}`:                                   `tensor "y" is in a.safetensors and in b.safetensors`,
		`{"weight_map":{"x":"a.safetensors","y":"a.safetensors","z":"a.safetensors"}}`:               `tensor "z" is not in a.safetensors`,
		`{"weight_map":{"x":"a.safetensors","y":"a.safetensors","z":"b.safetensors"}}`:               `tensor "y" is in a.safetensors and in b.safetensors`,
		`{"weight_map":{"x":"nix.safetensors"}}`:                                                     "no such file",
		`{"weight_map":{"x":"bad.safetensors"}}`:                                                     "bad.safetensors at byte 0",
		`{"weight_map":{"x":"sub"}}`:                                                                 "no regular file",
		`{"weight_map":{"x":"out.safetensors"}}`:                                                     "leaves the model's folder",
		`{"weight_map":{"x":"../a.safetensors"}}`:                                                    "no path beneath",
		`{"weight_map":{"x":"sub/../a.safetensors"}}`:                                                "no path beneath",
		`{"weight_map":{"x":"./a.safetensors"}}`:                                                     "no path beneath",
		`{"weight_map":{"x":"/etc/passwd"}}`:                                                         "no path beneath",
		`{"weight_map":{"x":"."}}`:                                                                   "no path beneath",
		`{"weight_map":{"x":""}}`:                                                                    "no path beneath",
		`{"weight_map":{"x":"sub\\c.safetensors"}}`:                                                  "no path beneath",
		`{"weight_map":{"x":"a.safetensors","x":"a.safetensors"}}`:                                   "more than once",
		`{"weight_map":{"x":7}}`:                                                                     "due",
		`{"weight_map":{"x":"a.safetensors","y":"a.safetensors"},"weight_map":{}}`:                   "more than once",
		`{"weight_map":{"x":"a.safetensors","y":"a.safetensors"}} x`:                                 "follows the end",
		`{"weight_map":{"x":"a.safetensors","y":"a.safetensors"},"more":` + strings.Repeat("[", 200): "deep",
	}
	for text, want := range cases {
		files["m.json"] = text
		dir := folderOf(t, files)
		if err := os.Symlink("/etc/passwd", filepath.Join(dir, "out.safetensors")); err != nil {
			t.Fatal(err)
		}
		_, err := openAt(t, filepath.Join(dir, "m.json"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{"", "{", "[]", `{"layers":[]}`, `{"weight_map":[]}`, `{"layers":[],"weight_map":{}}`, `{"a":}`, `{"weight_map"`, `{"id":"network","layers":[{"weight_map":{}}]}`} {
		if Probe([]byte(text)) {
			t.Errorf("%q is taken for an index", text)
		}
	}
}

func TestOpenFolder(t *testing.T) {
	dir := folderOf(t, map[string]string{"b.safetensors": shard("", "y"), "a.safetensors": shard("", "x"), "config.json": `{"a":1} `, "generation_config.json": "{}", "notes.txt": "?"})
	m, err := OpenFolder(nil, dir)
	if err != nil {
		t.Fatal(err)
	}
	if names(m) != "x y" || len(m.Meta) != 2 || m.Meta[0] != (graph.Pair{Key: "config.json", Kind: "json", Value: `{"a":1} `}) ||
		m.Meta[1] != (graph.Pair{Key: "generation_config.json", Kind: "json", Value: "{}"}) || m.File != dir {
		t.Errorf("tensors %s, metadata %v", names(m), m.Meta)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	dir = folderOf(t, map[string]string{"b.safetensors": shard("", "y"), "a.safetensors": shard("", "y"), indexFile: `{"weight_map":{"y":"a.safetensors"}}`})
	if m, err = OpenFolder(nil, dir); err != nil || names(m) != "y" {
		t.Errorf("with an index: %v", err)
	} else {
		m.Close()
	}
	for want, files := range map[string]map[string]string{
		"no file *.safetensors":              {"config.json": "{}"},
		"a.safetensors and in b.safetensors": {"b.safetensors": shard("", "y"), "a.safetensors": shard("", "y")},
		"no object":                          {"config.json": "[]", "a.safetensors": shard("", "y")},
		"follows the end":                    {"config.json": "{}}", "a.safetensors": shard("", "y")},
		"index":                              {indexFile: "[]", "a.safetensors": shard("", "y")},
	} {
		dir := folderOf(t, files)
		_, err := OpenFolder(nil, dir)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if p := VerifyFolder(nil, dir); len(p) == 0 || p[0].Error() != err.Error() {
			t.Errorf("verify finds %v, open %v", p, err)
		}
	}
	if _, err := OpenFolder(nil, filepath.Join(dir, "nix")); err == nil {
		t.Error("opened a folder that is not there")
	}
}
