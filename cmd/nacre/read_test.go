package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestReadFile runs the command on inputs without end and on files that are too large.
func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	endless := filepath.Join(dir, "endless.bin")
	if err := os.Symlink("/dev/zero", endless); err != nil {
		testenv.Skip(t, "no symbolic links here: ", err)
	}
	large := filepath.Join(dir, "large.npy")
	f, err := os.Create(large)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(1 << 40); err != nil {
		testenv.Skip(t, "no sparse files here: ", err)
	}
	f.Close()
	numbers := filepath.Join(dir, "numbers.npy")
	if err := os.Link(large, numbers); err != nil {
		testenv.Skip(t, err)
	}
	picture := filepath.Join(dir, "large.png")
	if err := os.Rename(large, picture); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		endless: "no regular file",
		numbers: "are the most",
		picture: "are the most",
		dir:     "cannot be read",
	} {
		code, _, stderr := call("run", digits, "--input", "image="+path)
		if code != exitFailed || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %q; want %q", path, code, stderr, want)
		}
	}
}
