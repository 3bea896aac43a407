package main

import (
	"errors"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func TestTimeout(t *testing.T) {
	start := time.Now()
	code, _, stderr := call("bench", digits, "--count", "1000000000", "--timeout", "200ms")
	if code != exitFailed || !strings.Contains(stderr, "the timeout of 200ms is over") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	for _, bad := range []string{"-1s", "soon"} {
		if code, _, stderr := call("inspect", digits, "--timeout", bad); code != exitUsage {
			t.Errorf("--timeout %s: exit code %d, %q", bad, code, stderr)
		}
	}
	if code, _, stderr := call("verify", digits, "--timeout", "1h"); code != exitDone {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

func TestMemoryLimit(t *testing.T) {
	for limit, want := range map[string]int{"1KiB": exitFailed, "1GB": exitDone, "-1": exitUsage, "much": exitUsage,
		"0": exitUsage} {
		code, _, stderr := call("bench", digits, "--count", "1", "--memory-limit", limit)
		if code != want {
			t.Errorf("--memory-limit %s: exit code %d, %q", limit, code, stderr)
		}
	}
}

func TestWithinHeap(t *testing.T) {
	goruntime.GC()
	room := size(heap() + 32<<20)
	if err := withinHeap(room, func() error { return errReported }); err != errReported {
		t.Errorf("work that fails: %v", err)
	}
	end := make(chan bool)
	defer close(end)
	err := withinHeap(room, func() error {
		list := make([]byte, 64<<20)
		<-end
		goruntime.KeepAlive(list)
		return nil
	})
	if !errors.Is(err, graph.ErrMemory) || !strings.Contains(err.Error(), "--memory-limit") {
		t.Errorf("work that takes 64 MiB: %v", err)
	}
	for _, command := range []string{"inspect", "verify"} {
		if code, _, stderr := call(command, digits, "--memory-limit", "4GiB"); code != exitDone {
			t.Errorf("%s: exit code %d, %q", command, code, stderr)
		}
	}
}

// TestInspectIntegers prints integers that float32 cannot hold.
func TestInspectIntegers(t *testing.T) {
	signed, err := tensor.From([]int32{-1 << 31, 1<<31 - 1, -7}, 3)
	if err != nil {
		t.Fatal(err)
	}
	unsigned, err := tensor.From([]uint32{1 << 31, 1<<32 - 1, 16777217}, 3)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "integers.safetensors")
	m := &graph.Model{Graph: &graph.Graph{Initializers: []*graph.Initializer{
		{Name: "signed", Tensor: signed}, {Name: "unsigned", Tensor: unsigned},
	}}}
	if err := formats.Save(path, m, formats.Options{}); err != nil {
		t.Fatal(err)
	}
	_, stdout, stderr := call("inspect", path, "--values", "3")
	for _, want := range []string{"-2147483648", "2147483647", "-7", "2147483648", "4294967295", "16777217"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%s is not printed:\n%s%s", want, stdout, stderr)
		}
	}
}
