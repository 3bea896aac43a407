package nacre_test

import (
	"github.com/nacre-ml/nacre/runtime"

	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/nacre-ml/nacre"
)

const digits = "cmd/nacre/demo/digits.onnx"

func open(t testing.TB, o nacre.Options) *nacre.Session {
	t.Helper()
	m, err := nacre.Open(digits)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.NewSession(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		m.Close()
	})
	return s
}

func images(t testing.TB, r *rand.Rand, n int) map[string]*nacre.Tensor {
	t.Helper()
	x := zeros(t, nacre.Float32, n, 1, 8, 8)
	values, err := nacre.Data[float32](x)
	if err != nil {
		t.Fatal(err)
	}
	for i := range values {
		values[i] = float32(r.IntN(17))
	}
	return map[string]*nacre.Tensor{"image": x}
}

func zeros(t testing.TB, d nacre.DType, shape ...int) *nacre.Tensor {
	t.Helper()
	x, err := nacre.Zeros(d, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func run(t testing.TB, s *nacre.Session, in map[string]*nacre.Tensor) []byte {
	t.Helper()
	out, err := s.Run(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out["probabilities"].Bytes()
}

// TestHammer runs two sessions of one model from 16 goroutines with changing batches. Every answer
// must have the same bytes as for a single caller.
func TestHammer(t *testing.T) {
	m, err := nacre.Open(digits)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var sessions [2]*nacre.Session
	for i := range sessions {
		if sessions[i], err = m.NewSession(nacre.Options{Threads: i + 1}); err != nil {
			t.Fatal(err)
		}
		defer sessions[i].Close()
	}
	r := rand.New(rand.NewPCG(3, 4))
	var inputs []map[string]*nacre.Tensor
	var want [][]byte
	for n := range 6 {
		in := images(t, r, n+1)
		inputs, want = append(inputs, in), append(want, run(t, sessions[0], in))
	}
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for k := range 40 {
				i := (g + k) % len(inputs)
				out, err := sessions[g%2].Run(context.Background(), inputs[i])
				if err != nil {
					t.Error(err)
					return
				}
				if !bytes.Equal(out["probabilities"].Bytes(), want[i]) {
					t.Errorf("batch of %d: the answer differs", i+1)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestDecodeEqualsOpen reads the model from memory.
func TestDecodeEqualsOpen(t *testing.T) {
	data, err := os.ReadFile(digits)
	if err != nil {
		t.Fatal(err)
	}
	m, err := nacre.Decode("digits", data)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s, err := m.NewSession(nacre.Options{NoOptimize: true, ISA: "scalar", Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	in := images(t, rand.New(rand.NewPCG(1, 1)), 3)
	got, want := run(t, s, in), run(t, open(t, nacre.Options{}), in)
	if len(got) != len(want) {
		t.Errorf("%d bytes, not %d", len(got), len(want))
	}
}

func TestInputErrors(t *testing.T) {
	s := open(t, nacre.Options{})
	good := images(t, rand.New(rand.NewPCG(1, 1)), 1)["image"]
	other := zeros(t, nacre.Float64, 1, 1, 8, 8)
	for _, tt := range []struct {
		name string
		in   map[string]*nacre.Tensor
		kind error
		say  string
	}{
		{"missing", nil, nacre.ErrMissingInput, `input "image" is missing`},
		{"element type", map[string]*nacre.Tensor{"image": other}, nacre.ErrShape, "float64[1,1,8,8]"},
		{"rank", map[string]*nacre.Tensor{"image": zeros(t, nacre.Float32, 1, 64)}, nacre.ErrShape, "it has 2 axes, not 4"},
		{"extent", map[string]*nacre.Tensor{"image": zeros(t, nacre.Float32, 1, 1, 8, 9)}, nacre.ErrShape, "axis 3 has extent 9, not 8"},
		{"unknown", map[string]*nacre.Tensor{"image": good, "extra": good}, nacre.ErrUnknownInput, `no input "extra"`},
		{"nil", map[string]*nacre.Tensor{"image": nil}, nacre.ErrMissingInput, `input "image" is missing`},
		{"zero tensor", map[string]*nacre.Tensor{"image": {}}, nacre.ErrShape, "invalid"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := s.Run(context.Background(), tt.in)
			if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.say) || !strings.Contains(err.Error(), digits) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// devices is a device of a type that cannot be compared.
type devices []nacre.Device

func (devices) Name() string { return "several" }

func (devices) Accelerator() (runtime.Accelerator, error) { return nil, nil }

func TestOptions(t *testing.T) {
	m, err := nacre.Open(digits)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, o := range []nacre.Options{
		{Threads: -1}, {MemoryLimit: -1}, {ISA: "mmx"}, {Outputs: []string{"nothing"}}, {Outputs: []string{"image"}},
		{Outputs: []string{"probabilities", "probabilities"}}, {Device: devices{nil}},
	} {
		if _, err := m.NewSession(o); !errors.Is(err, nacre.ErrOption) {
			t.Errorf("options %+v: got %v", o, err)
		}
	}
	s := open(t, nacre.Options{MemoryLimit: 100})
	if _, err := s.Run(context.Background(), images(t, rand.New(rand.NewPCG(1, 1)), 1)); !errors.Is(err, nacre.ErrMemory) {
		t.Errorf("a limit of 100 bytes was ignored: %v", err)
	}
}

// TestAllocations checks how often a repeated run allocates: for the map, the tensor and the shape
// of its result, and for the geometry of windows.
func TestAllocations(t *testing.T) {
	s := open(t, nacre.Options{Threads: 1})
	in := images(t, rand.New(rand.NewPCG(1, 1)), 1)
	run(t, s, in)
	n := math.Inf(1)
	for range 5 { // allocations of the rest of the process count, too
		if n = min(n, testing.AllocsPerRun(100, func() { run(t, s, in) })); n <= mostAllocations {
			return
		}
	}
	t.Errorf("%v allocations in a run of ten nodes, more than %d", n, mostAllocations)
}

// mostAllocations is the number of allocations of one run of the digits network.
const mostAllocations = 48

// TestCloseOrder closes in the wrong order, twice, and runs after closing.
func TestCloseOrder(t *testing.T) {
	m, err := nacre.Open(digits)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.NewSession(nacre.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); !errors.Is(err, nacre.ErrInUse) {
		t.Errorf("Close of a model with an open session: %v", err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Run(context.Background(), images(t, rand.New(rand.NewPCG(1, 1)), 1)); !errors.Is(err, nacre.ErrClosed) {
		t.Errorf("a run of a closed session: %v", err)
	}
	if _, err := s.Plan(context.Background(),
		images(t, rand.New(rand.NewPCG(1, 1)), 1)); !errors.Is(err, nacre.ErrClosed) {
		t.Errorf("a plan of a closed session: %v", err)
	}
	for range 2 {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := m.NewSession(nacre.Options{}); !errors.Is(err, nacre.ErrClosed) {
		t.Errorf("a session of a closed model: %v", err)
	}
	if _, err := m.Weight("fc2.bias"); !errors.Is(err, nacre.ErrClosed) {
		t.Errorf("a weight of a closed model: %v", err)
	}
	if err := m.ReplaceWeights("none.hnw"); !errors.Is(err, nacre.ErrClosed) {
		t.Errorf("weights for a closed model: %v", err)
	}
}
