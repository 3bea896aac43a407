package mapped

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// shorter maps a file of four pages and truncates it.
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

// watched returns the panic of work, and the watch's error for it.
func watched(work func()) (p any, err error) {
	w := Begin()
	defer func() {
		p = recover()
		w.End()
		err = w.Lost(p)
	}()
	work()
	return nil, nil
}

// TestWatch reads lost bytes of a file that stays mapped, and of one that is unmapped while the
// panic unwinds, followed by others.
func TestWatch(t *testing.T) {
	for _, later := range []int{-1, 0, 3, 2 * mostRemoved / 5} {
		path, data, unmap := shorter(t)
		sum := 0
		_, err := watched(func() {
			defer func() {
				if later >= 0 {
					unmap()
				}
				for range later {
					remove(&region{}, func() error { return nil })
				}
			}()
			for _, b := range data {
				sum += int(b)
			}
		})
		var lost *Lost
		if !errors.As(err, &lost) || lost.Name != path || sum != 0 {
			t.Errorf("%v", err)
		}
		if later < 0 {
			if err := Check(slices.Values([][]byte{data[5:9]})); !errors.As(err, &lost) || lost.Name != path {
				t.Errorf("the size is as it was: %v", err)
			}
			if err := unmap(); err != nil {
				t.Error(err)
			}
		}
	}
	if len(files.removed) > mostRemoved {
		t.Errorf("%d files that were unmapped are known", len(files.removed))
	}
}

// TestWatchBegins checks that a watch ignores files unmapped before it began.
func TestWatchBegins(t *testing.T) {
	_, data, unmap := shorter(t)
	sum := 0
	p, _ := watched(func() {
		for _, b := range data {
			sum += int(b)
		}
	})
	if p == nil {
		t.Errorf("bytes that are gone were read, %d in all", sum)
	}
	if err := unmap(); err != nil {
		t.Error(err)
	}
	if err := Begin().Lost(p); err != nil {
		t.Error(err)
	}
}

// TestWatchLeavesOthers checks that other panics are unchanged.
func TestWatchLeavesOthers(t *testing.T) {
	for name, work := range map[string]func(){
		"panic": func() { panic("other") },
		"nil":   func() { var p *int; *p = 1 },
		"index": func() { var s []int; _ = s[len(t.Name())] },
		"none":  func() {},
	} {
		if p, err := watched(work); err != nil || (p == nil) != (name == "none") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCheckReplaced replaces a mapped file by a shorter one. No bytes are lost.
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
	f.Close() // some systems cannot replace an open file
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
