package main

import (
	"archive/zip"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestSearch finds a line among others with a random encoder: a line is nearest to itself.
func TestSearch(t *testing.T) {
	testenv.Need(t, bindings.Available())
	z, err := zip.OpenReader(filepath.Join(testenv.Root(t), "text", "testdata", "models.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	modules, err := fs.Glob(z, "*/modules.json")
	if err != nil || len(modules) == 0 {
		t.Fatalf("no encoder of sentence-transformers: %v", err)
	}
	slices.Sort(modules)
	model, err := fs.Sub(z, filepath.ToSlash(filepath.Dir(modules[0])))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.CopyFS(folder, model); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	lines := []string{"the lamp is red", "a cat sat down", "press the button for ten seconds"}
	if err := search(context.Background(), &out, folder, lines, lines[2]); err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSpace(out.String()), "\n"); len(got) != 3 || got[0] != "1.000  "+lines[2] {
		t.Errorf("%q", got)
	}
	if err := search(context.Background(), &out, t.TempDir(), lines, "x"); err == nil {
		t.Error("an empty folder is a model")
	}
}
