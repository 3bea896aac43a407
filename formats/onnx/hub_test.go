package onnx

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestHubCache opens models with links into the blobs of a cache of Hugging Face, and with links
// elsewhere.
func TestHubCache(t *testing.T) {
	const snapshot, refused = "snapshots/0123abcd", "leaves the model's folder"
	for _, c := range []struct{ name, folder, link, want string }{
		{"top", snapshot, "../../blobs/data", ""},
		{"folder", snapshot + "/onnx", "../../../blobs/data", ""},
		{"folder in a folder", snapshot + "/onnx/int8", "../../../../blobs/data", ""},
		{"link to a link", snapshot, "../../blobs/link", ""},
		{"link to a folder", snapshot, "../../blobs/folder", "no regular file"},
		{"nowhere", snapshot, "../../blobs/nix", "no such file"},
		{"too high", snapshot, "../../../blobs/data", refused},
		{"too low", snapshot + "/onnx", "../../blobs/data", refused},
		{"elsewhere", snapshot, "../../secret", refused},
		{"behind blobs", snapshot, "../../blobs/../secret", refused},
		{"beneath blobs", snapshot, "../../blobs/folder/data", refused},
		{"blobs itself", snapshot, "../../blobs/.", refused},
		{"above blobs", snapshot, "../../blobs/..", refused},
		{"no revision", "snapshots", "../blobs/data", refused},
		{"no snapshots", "revisions/0123abcd", "../../blobs/data", refused},
	} {
		t.Run(c.name, func(t *testing.T) {
			repo := filepath.Join(t.TempDir(), "models--nacre--test")
			data := filled(tensor.F32, 4).Bytes()
			for _, name := range []string{"blobs/data", "blobs/folder/data", "secret"} {
				write(t, filepath.Join(repo, name), data)
			}
			write(t, filepath.Join(repo, "blobs", "graph"), outside("location=w.data"))
			folder := filepath.Join(repo, c.folder)
			if err := os.MkdirAll(folder, 0o777); err != nil {
				t.Fatal(err)
			}
			model := filepath.Join(folder, "model.onnx")
			for at, to := range map[string]string{
				model:                                filepath.Join(repo, "blobs", "graph"),
				filepath.Join(folder, "w.data"):      c.link,
				filepath.Join(repo, "blobs", "link"): "data",
			} {
				if err := os.Symlink(to, at); err != nil {
					testenv.Skip(t, err)
				}
			}
			m, err := openPath(model)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
