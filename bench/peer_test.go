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
	"sync"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// peer is a runtime in a process of its own, which answers as peers/onnxruntime.py
// says; a nil peer is one that is not installed.
type peer struct {
	in     io.Writer
	out    *bufio.Reader
	opened float64 // seconds that the session took
	close  func()
}

// startPeer opens a model in ONNX Runtime; it is an error if no Python has it. Sizes
// are of open extents, such as past=200.
func startPeer(t testing.TB, model string, threads int, sizes ...string) (*peer, error) {
	t.Helper()
	python, err := testenv.FindPython(t, "onnxruntime")
	if err != nil {
		return nil, err
	}
	args := append([]string{filepath.Join("peers", "onnxruntime.py"), model, strconv.Itoa(threads)}, sizes...)
	return startProcess(t, exec.Command(python, args...)), nil
}

// startProcess starts a peer.
func startProcess(t testing.TB, cmd *exec.Cmd) *peer {
	t.Helper()
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
	p := &peer{in: in, out: bufio.NewReader(out)}
	p.close = sync.OnceFunc(func() {
		in.Close()
		cmd.Wait()
	})
	t.Cleanup(p.close)
	line, err := p.out.ReadString('\n')
	if _, scan := fmt.Sscanf(line, "ready %g", &p.opened); err != nil || scan != nil {
		t.Fatalf("%s did not start: %q, %v", cmd, line, err)
	}
	return p
}

// run returns the seconds of one run.
func (p *peer) run(t testing.TB) float64 { return p.seconds(t, "run") }

// seconds returns what a request that takes time answers; 0 of a nil peer.
func (p *peer) seconds(t testing.TB, request string) float64 {
	if p == nil {
		return 0
	}
	seconds, err := strconv.ParseFloat(p.ask(t, request), 64)
	if err != nil {
		t.Fatal(err)
	}
	return seconds
}

// memory returns the bytes that the peer holds, and the most that it held, beyond what
// it held before it opened the model.
func (p *peer) memory(t testing.TB) (held, most float64) {
	if _, err := fmt.Sscan(p.ask(t, "memory"), &held, &most); err != nil {
		t.Fatal(err)
	}
	return held, most
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
