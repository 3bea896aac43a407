package binio

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
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

// TestOpenKeepsReplaced reads a file whose name another file has taken over.
func TestOpenKeepsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	save := func(text string) {
		t.Helper()
		p, err := Create(path)
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

func TestPending(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	p, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file is there before it is written")
	}
	p.Discard()
	p.Discard()
	if list, _ := os.ReadDir(dir); len(list) != 0 {
		t.Errorf("left over: %v", list)
	}
	if _, err := Create(filepath.Join(dir, "nix", "file")); err == nil {
		t.Error("created in a folder that is not there")
	}
	if err := os.Mkdir(path, 0o777); err != nil {
		t.Fatal(err)
	}
	if p, err = Create(path); err != nil {
		t.Fatal(err)
	}
	if err := p.Commit(); err == nil {
		t.Error("replaced a folder")
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("left over: %v", list)
	}
}
