package guard_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/internal/mapped"
	"github.com/nacre-ml/nacre/runtime/graph"
)

func at(file string, work func() error) (n int, err error) {
	defer guard.At(file).End(&err)
	err = work()
	return 1, err
}

// TestGuard checks the errors that panics and errors become, also in nested guards.
func TestGuard(t *testing.T) {
	own := errors.New("own")
	for _, c := range []struct {
		name string
		work func() error
		kind error // nil for none
		says string
	}{
		{"no error", func() error { return nil }, nil, ""},
		{"error", func() error { return own }, own, "own"},
		{"panic", func() error { panic("text") }, guard.ErrInternal, "f.onnx: internal error, please report it with the model: text"},
		{"panic of an error", func() error { panic(own) }, own, "f.onnx: internal error"},
		{"index", func() error { var s []int; return []error{nil}[len(s)+3] }, guard.ErrInternal, "index out of range"},
		{"nil", func() error { var g *graph.Graph; g.Nodes = nil; return nil }, guard.ErrInternal, "nil pointer"},
		{"within", func() error { return guard.Call(func() error { panic("text") }) }, guard.ErrInternal, "internal error, please"},
		{"lost", func() error { return &mapped.Lost{Name: "g.onnx"} }, graph.ErrFormat, "g.onnx: load: the file lost bytes"},
	} {
		n, err := at("f.onnx", c.work)
		if !errors.Is(err, c.kind) || c.kind == nil && (err != nil || n != 1) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
		var defect *guard.Defect
		if errors.As(err, &defect) && !strings.Contains(string(defect.Stack()), "guard_test") {
			t.Errorf("%s: the stack is %s", c.name, defect.Stack())
		}
	}
}

// TestGuardGoexit checks that a guarded goroutine can exit.
func TestGuardGoexit(t *testing.T) {
	ended := make(chan error, 1)
	go func() {
		defer close(ended)
		_, err := at("", func() error { runtime.Goexit(); return nil })
		ended <- err
	}()
	if err, ran := <-ended; ran {
		t.Errorf("the goroutine went on: %v", err)
	}
}

// TestGuardLost reads lost bytes of a mapped file, in nested guards.
func TestGuardLost(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files are read and not mapped")
	}
	path, size := filepath.Join(t.TempDir(), "file"), 4*os.Getpagesize()
	if err := os.WriteFile(path, make([]byte, size), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, unmap, err := mapped.File(f, size)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	sum := 0
	_, err = at("model", func() error {
		defer unmap()
		return guard.Call(func() error {
			for _, b := range data {
				sum += int(b)
			}
			return nil
		})
	})
	if !errors.Is(err, graph.ErrFormat) || errors.Is(err, guard.ErrInternal) || !strings.Contains(err.Error(), path) {
		t.Errorf("%d, %v", sum, err)
	}
}

// TestGuardAllocates checks that guarding a run without errors allocates nothing.
func TestGuardAllocates(t *testing.T) {
	var err error
	if n := testing.AllocsPerRun(100, func() { err = guarded() }); n > 0 || err != nil {
		t.Errorf("%v allocations, %v", n, err)
	}
}

func guarded() (err error) {
	defer guard.At("file").End(&err)
	return nil
}

func TestEnded(t *testing.T) {
	wrong := errors.New("wrong")
	if err := guard.Call(func() error { panic(guard.Ended{Err: wrong}) }); err != wrong {
		t.Errorf("%v, want %v", err, wrong)
	}
}
