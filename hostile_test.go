package nacre_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestHostileModels changes a model file at random and runs it if it still opens. It may fail with
// any error except a defect, and takes little memory and time.
func TestHostileModels(t *testing.T) {
	data, err := os.ReadFile(digits)
	if err != nil {
		t.Fatal(err)
	}
	rounds := 3000
	if testing.Short() {
		rounds = 300
	}
	structure := structural(data)
	ran := 0
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 5))
		broken := append([]byte(nil), data...)
		for range 1 + r.IntN(3) {
			at := structure[r.IntN(len(structure))]
			broken[at] = byte(r.IntN(256))
		}
		err := openAndRun(broken)
		var defect *guard.Defect
		switch {
		case err == nil:
			ran++
		case errors.As(err, &defect):
			t.Errorf("seed %d: %v\n%s", seed, err, defect.Stack())
		case !slices.ContainsFunc(refusals, func(kind error) bool { return errors.Is(err, kind) }):
			t.Errorf("seed %d: an error of no kind: %v", seed, err)
		}
	}
	t.Logf("%d of %d changed models ran", ran, rounds)
}

// structural returns the offsets outside weights. Weights are the long runs of bytes that
// initializers share with the file.
func structural(data []byte) []int {
	m, err := nacre.Decode(digits, data)
	if err != nil {
		panic(err)
	}
	defer m.Close()
	weight := make([]bool, len(data))
	for _, init := range m.Source().Graph.Initializers {
		b := init.Tensor.Bytes()
		for at := 0; at+len(b) <= len(data); at++ {
			if &data[at] == &b[0] {
				for i := range b {
					weight[at+i] = true
				}
				break
			}
		}
	}
	var list []int
	for at, w := range weight {
		if !w {
			list = append(list, at)
		}
	}
	return list
}

func openAndRun(data []byte) error {
	m, err := nacre.Decode("broken", data)
	if err != nil {
		return err
	}
	defer m.Close()
	s, err := m.NewSession(nacre.Options{Threads: 1, MemoryLimit: 64 << 20})
	if err != nil {
		return err
	}
	defer s.Close()
	inputs := map[string]*nacre.Tensor{}
	for _, v := range s.Inputs() {
		if v.Kind != nacre.TensorKind {
			return errors.New("takes other values than tensors")
		}
		shape := make([]int, len(v.Shape))
		size := 1.0
		for i, d := range v.Shape {
			shape[i] = d.Size
			if d.Open() {
				shape[i] = 2
			}
			size *= float64(max(shape[i], 1))
		}
		if size > 1<<20 {
			return errors.New("takes a large input")
		}
		if inputs[v.Name], err = nacre.Zeros(v.DType, shape...); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err = s.Run(ctx, inputs)
	return err
}

// refusals are the kinds of errors of an untrusted model.
var refusals = []error{nacre.ErrFormat, nacre.ErrShape, nacre.ErrUnsupported, nacre.ErrMemory, nacre.ErrMissingInput,
	nacre.ErrUnknownInput}

// TestMessages opens and runs models with long names, lists and shapes that are wrong. No message
// is long.
func TestMessages(t *testing.T) {
	const longest = 5 << 10
	long := strings.Repeat("n", 1<<17)
	ones := slices.Repeat([]int{1}, 1<<16)
	vector := func(name string, shape ...int) *graph.Value {
		return &graph.Value{Name: name, Type: graph.TensorOf(tensor.F32, graph.DimsOf(shape))}
	}
	many := make([]int64, 1<<16)
	for name, c := range map[string]struct {
		inputs []*graph.Value
		node   *graph.Node
	}{
		"operator":  {[]*graph.Value{vector("x", 1)}, standardNode(long, "x", "y")},
		"name":      {[]*graph.Value{vector(long, 2)}, standardNode("Flatten", long, "y", &graph.Attr{Name: "axis", Kind: graph.AttrInt, Int: 9})},
		"attribute": {[]*graph.Value{vector("x", 1)}, standardNode("Relu", "x", "y", &graph.Attr{Name: long, Kind: graph.AttrInt})},
		"perm":      {[]*graph.Value{vector("x", 1, 2)}, standardNode("Transpose", "x", "y", &graph.Attr{Name: "perm", Kind: graph.AttrInts, Ints: many})},
		"shape":     {[]*graph.Value{vector("x", ones...)}, standardNode("Gemm", "x", "y")},
		"symbol": {[]*graph.Value{{Name: "x", Type: graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol(long), graph.Symbol(long + "2")})}},
			standardNode("Flatten", "x", "y", &graph.Attr{Name: "axis", Kind: graph.AttrInt, Int: 9})},
		"right": {[]*graph.Value{vector("x", ones...), vector(long, 1)}, standardNode("Relu", "x", "y")},
	} {
		t.Run(name, func(t *testing.T) {
			check := func(err error) {
				t.Helper()
				if err == nil {
					t.Error("no error")
				} else if n := len(err.Error()); n > longest {
					t.Errorf("a message of %d bytes begins with %.200q", n, err)
				}
			}
			g := &graph.Graph{Inputs: c.inputs, Outputs: []*graph.Value{{Name: "y"}}, Nodes: []*graph.Node{c.node}}
			m, err := nacre.Decode("test.onnx", encoded(g))
			if err != nil {
				check(err)
				return
			}
			defer m.Close()
			s, err := m.NewSession(nacre.Options{})
			if err != nil {
				check(err)
				return
			}
			defer s.Close()
			_, err = s.Run(context.Background(), nil)
			check(err)
			wrong, err := nacre.Zeros(nacre.Float32, slices.Repeat([]int{1}, 1<<15)...)
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Run(context.Background(), map[string]*nacre.Tensor{c.inputs[0].Name: wrong})
			check(err)
			_, err = s.Run(context.Background(), map[string]*nacre.Tensor{long + "3": wrong})
			check(err)
		})
	}
}
