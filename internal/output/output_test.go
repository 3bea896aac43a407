package output

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// write creates an output with that content.
func write(t *testing.T, path, content string) error {
	t.Helper()
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write([]byte(content)); err != nil {
		return err
	}
	return f.Commit()
}

// check checks a file's content, and that its folder holds only the file and as many others.
func check(t *testing.T, path, content string, others ...string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil || string(data) != content {
		t.Errorf("%s holds %q, %v; want %q", path, data, err, content)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1+len(others) {
		t.Errorf("%d files in %s, want %d", len(entries), filepath.Dir(path), 1+len(others))
	}
}

func TestCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.onnx")
	if err := write(t, path, "one"); err != nil {
		t.Fatal(err)
	}
	check(t, path, "one")
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(t, path, "two"); err != nil {
		t.Fatal(err)
	}
	check(t, path, "two")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if renameOpen && info.Mode().Perm() != 0o600 {
		t.Errorf("permissions are %v after a file of 0600 was replaced", info.Mode().Perm())
	}
}

func TestDiscard(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.onnx")
	if err := os.WriteFile(path, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	f.Discard()
	check(t, path, "old")
	if err := f.Commit(); err == nil {
		t.Error("a discarded file was committed")
	}
	if _, err := f.Write(nil); err == nil {
		t.Error("a discarded file was written")
	}
}

func TestSymbolicLinks(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"there", "new"} {
		target := filepath.Join(folder, name, "target")
		if err := os.Mkdir(filepath.Dir(target), 0o777); err != nil {
			t.Fatal(err)
		}
		if name == "there" {
			if err := os.WriteFile(target, []byte("old"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		link := filepath.Join(folder, name+"-link")
		if err := os.Symlink(filepath.Join(name, "target"), link); err != nil {
			testenv.Skip(t, "no symbolic links here: ", err)
		}
		if err := write(t, link, name); err != nil {
			t.Fatal(err)
		}
		check(t, target, name)
		if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v, %v", link, info, err)
		}
	}
	loop := filepath.Join(folder, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	if err := write(t, loop, ""); err == nil {
		t.Error("a link to itself was written")
	}
}

func TestFolder(t *testing.T) {
	folder := t.TempDir()
	var path *os.PathError
	if err := write(t, folder, ""); !errors.As(err, &path) || path.Path != folder {
		t.Errorf("writing a folder: %v", err)
	}
	if err := write(t, filepath.Join(folder, "none")+string(filepath.Separator), ""); !errors.As(err, &path) {
		t.Errorf("writing a folder that does not exist: %v", err)
	}
	if err := write(t, filepath.Join(folder, "none", "model"), ""); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("writing in a folder that does not exist: %v", err)
	}
}

func TestAbandon(t *testing.T) {
	defer func() { pending.abandoned = false }()
	path := filepath.Join(t.TempDir(), "model.onnx")
	if err := os.WriteFile(path, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	Abandon()
	check(t, path, "old")
	if err := f.Commit(); !errors.Is(err, ErrInterrupted) {
		t.Errorf("commit after the process was to end: %v", err)
	}
	if _, err := Create(path); !errors.Is(err, ErrInterrupted) {
		t.Errorf("a file was begun after the process was to end: %v", err)
	}
	f.Discard()
	check(t, path, "old")
}
