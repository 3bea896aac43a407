package nacre

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// stacked writes the file of a model of dense layers on x[m,width] and returns its path. The layers
// are MatMul, with transposed weights if kind is "transposed".
func stacked(t *testing.T, kind string, layers, width int) string {
	t.Helper()
	w := tensor.New(tensor.F32, width, width)
	for i := range tensor.View[float32](w) {
		tensor.View[float32](w)[i] = float32(i%13-6) / float32(width)
	}
	g := &graph.Graph{Inputs: []*graph.Value{{Name: "x0",
		Type: graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol("m"), graph.Known(width)})}}}
	for i := range layers {
		name := strconv.Itoa(i)
		g.Initializers = append(g.Initializers, &graph.Initializer{Name: "w" + name, Tensor: w})
		weight := "w" + name
		if kind == "transposed" {
			weight = "v" + name
			g.Nodes = append(g.Nodes, &graph.Node{Op: "Transpose", Version: 21, Inputs: []string{"w" + name},
				Outputs: []string{weight}})
		}
		g.Nodes = append(g.Nodes, &graph.Node{Op: "MatMul", Version: 21, Inputs: []string{"x" + name, weight},
			Outputs: []string{"x" + strconv.Itoa(i+1)}})
	}
	g.Outputs = []*graph.Value{{Name: "x" + strconv.Itoa(layers)}}
	path := filepath.Join(t.TempDir(), "stacked.onnx")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := onnx.Write(f, &graph.Model{IR: 10, Opsets: []graph.Opset{{Version: 21}}, Graph: g}); err != nil {
		t.Fatal(err)
	}
	return path
}

func openStacked(t *testing.T, layers, width int) *Session {
	t.Helper()
	m, err := Open(stacked(t, "MatMul", layers, width))
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.NewSession(Options{Threads: 1})
	testenv.Need(t, err)
	t.Cleanup(func() {
		s.Close()
		m.Close()
	})
	return s
}

// TestWarm checks that a run after Warm finds plan and weights ready.
func TestWarm(t *testing.T) {
	ctx := context.Background()
	s := openStacked(t, 3, 64)
	if err := s.Warm(ctx, map[string]int{"m": 1}, map[string]int{"m": 9}); err != nil {
		t.Fatal(err)
	}
	packed := s.model.packs.Bytes()
	if packed == 0 {
		t.Error("no weights were rearranged")
	}
	for _, rows := range []int{1, 9} {
		x, err := s.ZeroInputs(map[string]int{"m": rows})
		if err != nil {
			t.Fatal(err)
		}
		before, err := s.Plan(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Run(ctx, x); err != nil {
			t.Fatal(err)
		}
		if after, err := s.Plan(context.Background(), x); err != nil || after.p != before.p {
			t.Errorf("%d rows have another plan, %v", rows, err)
		}
	}
	if n := s.model.packs.Bytes(); n != packed {
		t.Errorf("runs rearranged %d bytes of weights more", n-packed)
	}
}

// TestWarmErrors checks the kinds of errors of Warm and Trim.
func TestWarmErrors(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	s := openStacked(t, 1, 8)
	for _, tt := range []struct {
		name  string
		ctx   context.Context
		sizes []map[string]int
		want  error
	}{
		{"no size", context.Background(), nil, ErrOption},
		{"unknown size", context.Background(), []map[string]int{{"m": 1, "n": 1}}, ErrOption},
		{"negative", context.Background(), []map[string]int{{"m": -1}}, ErrOption},
		{"nil context", nil, []map[string]int{{"m": 1}}, ErrOption},
		{"cancelled", ended, []map[string]int{{"m": 1}}, context.Canceled},
		{"too large", context.Background(), []map[string]int{{"m": 1 << 60}}, ErrShape},
	} {
		if err := s.Warm(tt.ctx, tt.sizes...); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
	}
	s.Close()
	if err := s.Warm(context.Background(), map[string]int{"m": 1}); !errors.Is(err, ErrClosed) {
		t.Errorf("Warm after Close: %v", err)
	}
	if err := s.Trim(); !errors.Is(err, ErrClosed) {
		t.Errorf("Trim after Close: %v", err)
	}
}

// TestTrim checks that runs, also those under way, give the same answers around Trim.
func TestTrim(t *testing.T) {
	ctx := context.Background()
	s := openStacked(t, 3, 32)
	x, err := s.ZeroInputs(map[string]int{"m": 2})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := 0, must(Data[float32](x["x0"])); i < len(v); i++ {
		v[i] = float32(i)
	}
	answer := func() string { return string(must(s.Run(ctx, x))["x3"].Bytes()) }
	want := answer()
	before := must(s.Plan(context.Background(), x))
	if err := s.Trim(); err != nil {
		t.Fatal(err)
	}
	if must(s.Plan(context.Background(), x)).p == before.p {
		t.Error("the plan is still there")
	}
	var runs sync.WaitGroup
	for range 4 {
		runs.Go(func() {
			for range 50 {
				if answer() != want {
					t.Error("another answer")
					return
				}
			}
		})
	}
	for range 50 {
		if err := s.Trim(); err != nil {
			t.Error(err)
		}
	}
	runs.Wait()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestPackedWeightsLeaveTheFile checks that a session holds weights only once: rearranged, and not
// as pages of the file too.
func TestPackedWeightsLeaveTheFile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux gives pages of a private mapping back at once")
	}
	const layers, width, weights = 8, 1024, 4 * 8 * 1024 * 1024
	for _, op := range []string{"MatMul", "transposed"} {
		m, err := Open(stacked(t, op, layers, width))
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		before := mappedBytes(t)
		s, err := m.NewSession(Options{Threads: 1})
		testenv.Need(t, err)
		defer s.Close()
		if err := s.Warm(context.Background(), map[string]int{"m": 16}); err != nil {
			t.Fatal(err)
		}
		if n := m.packs.Bytes(); n < weights {
			t.Fatalf("%s: %d bytes of %d were rearranged", op, n, weights)
		}
		if n := mappedBytes(t) - before; n > weights/4 {
			t.Errorf("%s: the process holds %d bytes more of files whose weights, %d bytes, were rearranged", op, n, weights)
		}
	}
}

// mappedBytes returns the bytes of files that are in the process's memory.
func mappedBytes(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile("/proc/self/status")
	testenv.Need(t, err)
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); f[0] == "RssFile:" {
			return must(strconv.Atoi(f[1])) << 10
		}
	}
	t.Fatal("no RssFile")
	return 0
}
