package binio

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/nacre-ml/nacre/internal/output"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, want := range [][]byte{[]byte("content"), {}} {
		if err := os.WriteFile(path, want, 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(f.Data, want) || f.Path != path {
			t.Errorf("%q holds %q", f.Path, f.Data)
		}
		for range 2 {
			if err := f.Close(); err != nil || f.Data != nil {
				t.Errorf("close: %v", err)
			}
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "nix")} {
		if _, err := Open(path); err == nil {
			t.Errorf("opened %s", path)
		}
	}
}

// TestOpenKeepsReplaced reads an open file after another file has taken its name.
func TestOpenKeepsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	save := func(text string) {
		t.Helper()
		p, err := output.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Discard()
		if _, err := p.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := p.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	save("old")
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	save("new")
	if string(f.Data) != "old" {
		t.Errorf("the map became %q", f.Data)
	}
	if data, _ := os.ReadFile(path); string(data) != "new" {
		t.Errorf("the file holds %q", data)
	}
}
