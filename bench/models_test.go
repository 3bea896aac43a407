package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
)

// TestTopologies runs every generated network once.
func TestTopologies(t *testing.T) {
	if testing.Short() {
		t.Skip("builds networks of a hundred megabytes")
	}
	for _, top := range Topologies {
		t.Run(top.Name, func(t *testing.T) {
			s, inputs := open(t, save(t, top), 0)
			out, err := s.Run(context.Background(), inputs)
			if err != nil {
				t.Fatal(err)
			}
			for name, y := range out {
				v, err := nacre.Data[float32](y)
				if err != nil {
					t.Fatal(err)
				}
				if i := slices.IndexFunc(v, func(f float32) bool { return f-f != 0 }); i >= 0 {
					t.Errorf("output %s: element %d is %v", name, i, v[i])
				}
			}
		})
	}
}

// BenchmarkModel times every generated network on one thread and on two. With a
// Python that has ONNX Runtime (NACRE_PYTHON, or .venv/bin/python at the root)
// runs of both alternate, and "ort-ratio" is the median time of ONNX Runtime
// divided by Nacre's: above one, Nacre is faster. "ort-best-ratio" is that of the
// best runs, which other work on the machine disturbs less.
func BenchmarkModel(b *testing.B) {
	for _, top := range Topologies {
		path := save(b, top)
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/threads=%d", top.Name, threads), func(b *testing.B) {
				s, inputs := open(b, path, threads)
				peer := startPeer(b, path, threads)
				ours, theirs := make([]float64, 0, b.N), make([]float64, 0, b.N)
				run := func() {
					start := time.Now()
					if _, err := s.Run(context.Background(), inputs); err != nil {
						b.Fatal(err)
					}
					ours = append(ours, time.Since(start).Seconds())
				}
				for range 2 {
					run()
					peer.run(b)
				}
				ours = ours[:0]
				for b.Loop() {
					run()
					if peer != nil {
						theirs = append(theirs, peer.run(b))
					}
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(1e3*median(ours), "ms")
				if peer != nil {
					b.ReportMetric(1e3*median(theirs), "ort-ms")
					b.ReportMetric(median(theirs)/median(ours), "ort-ratio")
					b.ReportMetric(slices.Min(theirs)/slices.Min(ours), "ort-best-ratio")
				}
			})
		}
	}
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

func save(t testing.TB, top Topology) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), top.Name+".onnx")
	if err := formats.Save(path, top.Build(), formats.Options{}); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t testing.TB, path string, threads int) (*nacre.Session, map[string]*nacre.Tensor) {
	t.Helper()
	m, err := nacre.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.NewSession(nacre.Options{Threads: threads})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		m.Close()
	})
	inputs := map[string]*nacre.Tensor{}
	for _, v := range s.Inputs() {
		inputs[v.Name] = ramp(t, v)
	}
	return s, inputs
}

// ramp is a tensor of small numbers for an input of known extents.
func ramp(t testing.TB, in nacre.Info) *nacre.Tensor {
	t.Helper()
	shape := make([]int, len(in.Shape))
	for i, d := range in.Shape {
		shape[i] = d.Size
	}
	x, err := nacre.Zeros(nacre.Float32, shape...)
	if err != nil {
		t.Fatal(err)
	}
	values, err := nacre.Data[float32](x)
	if err != nil {
		t.Fatal(err)
	}
	for i := range values {
		values[i] = float32(i%97) / 97
	}
	return x
}

// peer is ONNX Runtime in a process of its own; a nil peer is one that is not
// installed.
type peer struct {
	in  io.Writer
	out *bufio.Reader
}

func startPeer(b *testing.B, model string, threads int) *peer {
	b.Helper()
	python := os.Getenv("NACRE_PYTHON")
	if python == "" {
		python = filepath.Join("..", ".venv", "bin", "python")
	}
	if exec.Command(python, "-c", "import onnxruntime").Run() != nil {
		b.Log("no Python with onnxruntime: Nacre alone is timed")
		return nil
	}
	cmd := exec.Command(python, filepath.Join("peers", "onnxruntime.py"), model, strconv.Itoa(threads))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	p := &peer{in, bufio.NewReader(out)}
	if line, err := p.out.ReadString('\n'); err != nil || !strings.HasPrefix(line, "ready") {
		b.Fatalf("ONNX Runtime did not start: %q, %v", line, err)
	}
	return p
}

// run returns the seconds of one run.
func (p *peer) run(b *testing.B) float64 {
	if p == nil {
		return 0
	}
	if _, err := fmt.Fprintln(p.in, "run"); err != nil {
		b.Fatal(err)
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(line), 64)
	if err != nil {
		b.Fatal(err)
	}
	return seconds
}
