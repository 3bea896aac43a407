//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// convertTo is an environment variable with the path of the pipe that TestShorterInput has its
// child process convert to.
const convertTo = "NACRE_TEST_CONVERT_TO"

// TestShorterInput shortens a file while a process writes its contents to a pipe.
func TestShorterInput(t *testing.T) {
	if pipe := os.Getenv(convertTo); pipe != "" {
		os.Exit(run(context.Background(), []string{"convert", filepath.Join(filepath.Dir(pipe), "in.safetensors"), pipe,
			"--to", "oinf"}, os.Stdout, os.Stderr))
	}
	dir := t.TempDir()
	in, pipe := filepath.Join(dir, "in.safetensors"), filepath.Join(dir, "pipe")
	m := &graph.Model{Graph: &graph.Graph{Initializers: []*graph.Initializer{{Name: "w",
		Tensor: tensor.New(tensor.F32, 4<<20)}}}}
	if err := formats.Save(in, m, formats.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	child := exec.Command(os.Args[0], "-test.run=^TestShorterInput$")
	child.Env = append(os.Environ(), convertTo+"="+pipe)
	child.Stderr = &stderr
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	r, err := os.Open(pipe)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadFull(r, make([]byte, 1<<10)); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(in, 4096); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := child.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitFailed {
		t.Errorf("the process ended with %v", err)
	}
	if text := stderr.String(); !strings.Contains(text, in+": load: the file lost bytes") ||
		strings.Contains(text, "goroutine") {
		t.Errorf("it said %s", text)
	}
}
