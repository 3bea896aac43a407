package bench

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/nacre-ml/nacre/bench/side"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// peer is a process of a test. A nil peer is not installed.
type peer struct{ *side.Process }

// startPeer opens a model in ONNX Runtime. If no Python has it, startPeer returns an error. Sizes
// give open extents, such as past=200.
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
	p, err := side.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return &peer{p}
}

// run returns the seconds of one run.
func (p *peer) run(t testing.TB) float64 { return p.seconds(t, "run") }

// seconds returns the answer to a request that takes time; 0 for a nil peer.
func (p *peer) seconds(t testing.TB, request string) float64 {
	if p == nil {
		return 0
	}
	seconds, err := p.Seconds(request)
	if err != nil {
		t.Fatal(err)
	}
	return seconds
}

// memory returns the bytes that the peer holds, and the most that it held, beyond the bytes that it
// held before it opened the model.
func (p *peer) memory(t testing.TB) (held, most float64) {
	held, most, err := p.Memory()
	if err != nil {
		t.Fatal(err)
	}
	return held, most
}

// answers returns the outputs of one run, in the model's order, one after the other.
func (p *peer) answers(t testing.TB) []float32 {
	path := filepath.Join(t.TempDir(), "answers")
	if _, err := p.Ask("save " + path); err != nil {
		t.Fatal(err)
	}
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
