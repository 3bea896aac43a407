package safetensors

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestHubCache opens a model's folder with links into the blobs of a cache of Hugging Face.
func TestHubCache(t *testing.T) {
	repo := folderOf(t, map[string]string{
		"blobs/1": shard("", "x"), "blobs/2": shard("", "y"), "blobs/3": `{"a":1}`,
		"blobs/4":            `{"weight_map":{"x":"a.safetensors","y":"b.safetensors"}}`,
		"secret.safetensors": shard("", "z"),
		"snapshots/0123/x":   "",
	})
	snapshot := filepath.Join(repo, "snapshots", "0123")
	link := func(name, to string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(snapshot, name)); err != nil {
			testenv.Skip(t, err)
		}
	}
	link("a.safetensors", "../../blobs/1")
	link("b.safetensors", "../../blobs/2")
	link("config.json", "../../blobs/3")
	link(indexFile, "../../blobs/4")
	m, err := OpenFolder(nil, snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(m.Graph.Initializers); n != 2 {
		t.Errorf("%d tensors, want 2", n)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(snapshot, "b.safetensors")); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"../../secret.safetensors", "../../blobs/../secret.safetensors", "../../../blobs/2"} {
		link("b.safetensors", to)
		if _, err := OpenFolder(nil, snapshot); err == nil || !strings.Contains(err.Error(), "leaves the model's folder") {
			t.Errorf("a link to %s: %v", to, err)
		}
		if err := os.Remove(filepath.Join(snapshot, "b.safetensors")); err != nil {
			t.Fatal(err)
		}
	}
}
