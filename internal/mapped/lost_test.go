package mapped

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// shorter maps a file of four pages and takes its bytes away.
func shorter(t *testing.T) (path string, data []byte, unmap func() error) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("files are read and not mapped")
	}
	size := 4 * os.Getpagesize()
	path = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, size), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, unmap, err = File(f, size)
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(slices.Values([][]byte{data, make([]byte, 9), nil})); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	return path, data, unmap
}

// TestGuard touches bytes that are gone, of a file that stays mapped and of one that the
// work unmaps when it is left.
func TestGuard(t *testing.T) {
	for _, unmapped := range []bool{false, true} {
		path, data, unmap := shorter(t)
		sum := 0
		err := Guard(func() error {
			if unmapped {
				defer unmap()
			}
			return Guard(func() error {
				for _, b := range data {
					sum += int(b)
				}
				return nil
			})
		})
		var lost *Lost
		if !errors.As(err, &lost) || lost.Name != path || sum != 0 {
			t.Errorf("%v", err)
		}
		if !unmapped {
			if err := Check(slices.Values([][]byte{data[5:9]})); !errors.As(err, &lost) || lost.Name != path {
				t.Errorf("the size is as it was: %v", err)
			}
			if err := unmap(); err != nil {
				t.Error(err)
			}
		}
	}
	if len(files.guards) != 0 {
		t.Errorf("%d guards are left", len(files.guards))
	}
}

// TestGuardLeavesOthers makes sure that other panics and errors stay what they are.
func TestGuardLeavesOthers(t *testing.T) {
	want := errors.New("other")
	if err := Guard(func() error { return want }); err != want {
		t.Error(err)
	}
	for name, work := range map[string]func(){
		"panic": func() { panic("other") },
		"nil":   func() { var p *int; *p = 1 },
		"index": func() { var s []int; _ = s[len(t.Name())] },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			_ = Guard(func() error { work(); return nil })
		}()
	}
}

// TestCheckReplaced replaces a mapped file by a shorter one, which takes nothing away.
func TestCheckReplaced(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, make([]byte, 100), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	data, unmap, err := File(f, 100)
	f.Close() // some systems replace no open file
	if err != nil {
		t.Fatal(err)
	}
	defer unmap()
	if err := os.WriteFile(path+"2", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+"2", path); err != nil {
		t.Fatal(err)
	}
	if err := Check(slices.Values([][]byte{data})); err != nil {
		t.Error(err)
	}
}
