package bench

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// peer is ONNX Runtime in a process of its own; a nil peer is one that is not
// installed.
type peer struct {
	in  io.Writer
	out *bufio.Reader
}

// startPeer opens a model in ONNX Runtime; it is an error if no Python has it.
func startPeer(t testing.TB, model string, threads int) (*peer, error) {
	t.Helper()
	python, err := testenv.FindPython(t, "onnxruntime")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(python, filepath.Join("peers", "onnxruntime.py"), model, strconv.Itoa(threads))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	p := &peer{in, bufio.NewReader(out)}
	if line, err := p.out.ReadString('\n'); err != nil || !strings.HasPrefix(line, "ready") {
		t.Fatalf("ONNX Runtime did not start: %q, %v", line, err)
	}
	return p, nil
}

// run returns the seconds of one run.
func (p *peer) run(t testing.TB) float64 {
	if p == nil {
		return 0
	}
	seconds, err := strconv.ParseFloat(p.ask(t, "run"), 64)
	if err != nil {
		t.Fatal(err)
	}
	return seconds
}

// answers returns the outputs of one run, in the model's order, one after the other.
func (p *peer) answers(t testing.TB) []float32 {
	path := filepath.Join(t.TempDir(), "answers")
	p.ask(t, "save "+path)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]float32, len(data)/4)
	if _, err := binary.Decode(data, binary.LittleEndian, list); err != nil {
		t.Fatal(err)
	}
	return list
}

// ask sends a line and returns the line that answers it.
func (p *peer) ask(t testing.TB, request string) string {
	t.Helper()
	if _, err := fmt.Fprintln(p.in, request); err != nil {
		t.Fatal(err)
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}
