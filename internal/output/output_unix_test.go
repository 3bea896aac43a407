//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package output

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestDevices(t *testing.T) {
	if err := write(t, os.DevNull, "bytes"); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		t.Fatalf("%s is %v now, %v", os.DevNull, info, err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan string)
	go func() {
		f, err := os.Open(pipe)
		if err != nil {
			got <- err.Error()
			return
		}
		defer f.Close()
		data, _ := io.ReadAll(f)
		got <- string(data)
	}()
	if err := write(t, pipe, "through"); err != nil {
		t.Fatal(err)
	}
	if s := <-got; s != "through" {
		t.Errorf("%q came through the pipe", s)
	}
}

func TestStaleFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.onnx")
	folder := filepath.Dir(path)
	held, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Discard()
	left := filepath.Join(folder, temporary("model.onnx"))
	other := filepath.Join(folder, temporary("other.onnx"))
	for _, p := range []string{left, other} {
		if err := os.WriteFile(p, []byte("half"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(t, path, "whole"); err != nil {
		t.Fatal(err)
	}
	check(t, path, "whole", held.file.Name(), other)
	if _, err := os.Stat(held.file.Name()); err != nil {
		t.Errorf("a file that is being written was removed: %v", err)
	}
}
