package nacre_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// zerosOf adds a node that makes zeros, and the initializer with their extents.
func zerosOf(g *graph.Graph, out string, extents ...int64) {
	shape, err := tensor.From(extents, len(extents))
	if err != nil {
		panic(err)
	}
	g.Initializers = append(g.Initializers, &graph.Initializer{Name: out + "_extents", Tensor: shape})
	g.Nodes = append(g.Nodes, standardNode("ConstantOfShape", out+"_extents", out))
}

// longFold builds a graph with constants that take long to fold.
func longFold() *graph.Graph {
	g := &graph.Graph{Outputs: []*graph.Value{{Name: "y"}}}
	zerosOf(g, "x", 1, 1, 511, 511)
	zerosOf(g, "w", 1, 1, 511, 511)
	conv := standardNode("Conv", "x", "y",
		&graph.Attr{Name: "pads", Kind: graph.AttrInts, Ints: []int64{255, 255, 255, 255}})
	conv.Inputs = append(conv.Inputs, "w")
	g.Nodes = append(g.Nodes, conv)
	return g
}

// longRun builds a graph with one product that takes long.
func longRun() *graph.Graph {
	g := &graph.Graph{Outputs: []*graph.Value{{Name: "y"}}}
	zerosOf(g, "x", 4000, 4000)
	product := standardNode("MatMul", "x", "y")
	product.Inputs = append(product.Inputs, "x")
	g.Nodes = append(g.Nodes, product)
	return g
}

// manyFolds builds a graph of many constants that each take a while.
func manyFolds() *graph.Graph {
	g := longFold()
	g.Nodes, g.Initializers = nil, nil
	zerosOf(g, "x", 1, 1, 80, 80)
	last := "x"
	for range 2000 {
		conv := standardNode("Conv", last, last+"'",
			&graph.Attr{Name: "pads", Kind: graph.AttrInts, Ints: []int64{39, 39, 40, 40}})
		conv.Inputs = append(conv.Inputs, "x")
		g.Nodes = append(g.Nodes, conv)
		last = conv.Outputs[0]
	}
	g.Outputs[0].Name = last
	return g
}

// inTime calls f with a deadline that it cannot keep, and checks that it ends soon after the
// deadline with the context's error. One of a few attempts must, so a busy machine does not fail
// the test.
func inTime(t *testing.T, limit time.Duration, f func(ctx context.Context) error) {
	t.Helper()
	late := time.Duration(0)
	for range 20 {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		begin := time.Now()
		err := f(ctx)
		late = time.Since(begin) - limit
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("after %v: got %v", late+limit, err)
		}
		if late < 20*time.Millisecond {
			return
		}
	}
	t.Errorf("ended %v after the deadline", late)
}

func TestDeadlineOfSession(t *testing.T) {
	for name, g := range map[string]*graph.Graph{"one constant": longFold(), "many constants": manyFolds()} {
		t.Run(name, func(t *testing.T) {
			m := opened(t, g)
			inTime(t, 100*time.Millisecond, func(ctx context.Context) error {
				_, err := m.NewSessionContext(ctx, nacre.Options{Threads: 1})
				return err
			})
		})
	}
}

func TestDeadlineOfRun(t *testing.T) {
	m := opened(t, longRun())
	for _, plain := range []bool{false, true} {
		s := ready(t, m, nacre.Options{Threads: 1, NoOptimize: plain})
		inTime(t, 100*time.Millisecond, func(ctx context.Context) error {
			_, err := s.Run(ctx, nil)
			return err
		})
	}
}

// TestWaitForProgram makes callers wait for a program that another caller makes. The context of
// that caller ends.
func TestWaitForProgram(t *testing.T) {
	m := opened(t, longFold())
	var wg sync.WaitGroup
	for k := range 4 {
		wg.Go(func() {
			inTime(t, time.Duration(100+100*k)*time.Millisecond, func(ctx context.Context) error {
				_, err := m.NewSessionContext(ctx, nacre.Options{Threads: 1})
				return err
			})
		})
	}
	wg.Wait()
	if err := m.Close(); err != nil {
		t.Errorf("sessions that were not made are open: %v", err)
	}
}

// openings are the functions that open a model in a context.
var openings = map[string]func(ctx context.Context) (*nacre.Model, error){
	"OpenContext": func(ctx context.Context) (*nacre.Model, error) { return nacre.OpenContext(ctx, digits) },
	"OpenFSContext": func(ctx context.Context) (*nacre.Model, error) {
		return nacre.OpenFSContext(ctx, os.DirFS("."), digits)
	},
	"OpenFSContext in memory": func(ctx context.Context) (*nacre.Model, error) {
		return nacre.OpenFSContext(ctx, nacre.Files{"digits.onnx": digitsModel()}, "digits.onnx")
	},
	"OpenReaderAtContext": func(ctx context.Context) (*nacre.Model, error) {
		data := digitsModel()
		return nacre.OpenReaderAtContext(ctx, "digits", bytes.NewReader(data), int64(len(data)))
	},
	"DecodeContext": func(ctx context.Context) (*nacre.Model, error) {
		return nacre.DecodeContext(ctx, "digits", digitsModel())
	},
}

func TestOpenContext(t *testing.T) {
	var none context.Context
	for name, open := range openings {
		t.Run(name, func(t *testing.T) {
			if _, err := open(none); !errors.Is(err, nacre.ErrOption) {
				t.Errorf("a nil context: %v", err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			m, err := open(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.NewSessionContext(none, nacre.Options{}); !errors.Is(err, nacre.ErrOption) {
				t.Errorf("a session of a nil context: %v", err)
			}
			s, err := m.NewSessionContext(ctx, nacre.Options{})
			if err != nil {
				t.Fatal(err)
			}
			cancel()
			if _, err := open(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("a cancelled context: %v", err)
			}
			if _, err := m.NewSessionContext(ctx, nacre.Options{}); !errors.Is(err, context.Canceled) {
				t.Errorf("a session of a cancelled context: %v", err)
			}
			closeAll(t, s, m)
		})
	}
}

// TestReplaceWeightsContext replaces weights in contexts that are nil, done, or end on the way, and
// then in one that stays.
func TestReplaceWeightsContext(t *testing.T) {
	weighted := func(w float32) *graph.Graph {
		x := tensor.New(tensor.F32, 1)
		tensor.View[float32](x)[0] = w
		return &graph.Graph{Outputs: []*graph.Value{{Name: "y"}}, Initializers: []*graph.Initializer{{Name: "w", Tensor: x}},
			Nodes: []*graph.Node{standardNode("Identity", "w", "y")}}
	}
	m := opened(t, weighted(1))
	archive := filepath.Join(t.TempDir(), "weights.hnw")
	if err := formats.Save(archive, &graph.Model{Graph: weighted(2)}, formats.Options{DropGraph: true}); err != nil {
		t.Fatal(err)
	}
	weight := func() float32 {
		w, err := m.Weight("w")
		if err != nil {
			t.Fatal(err)
		}
		list, err := nacre.Float32s(w)
		if err != nil {
			t.Fatal(err)
		}
		return list[0]
	}
	var none context.Context
	if err := m.ReplaceWeightsContext(none, archive); !errors.Is(err, nacre.ErrOption) || weight() != 1 {
		t.Errorf("a nil context: %v, weight %v", err, weight())
	}
	for at := 0; ; at++ {
		ctx := testenv.EndingAfter(at)
		err := m.ReplaceWeightsContext(ctx, archive)
		if !ctx.Over() {
			if err != nil || weight() != 2 || at == 0 {
				t.Errorf("a context that stays: %v, weight %v, %d looks", err, weight(), at)
			}
			break
		}
		if !errors.Is(err, context.DeadlineExceeded) || weight() != 1 {
			t.Errorf("a context that ends after %d looks: %v, weight %v", at, err, weight())
		}
	}
}

// TestOpenContextLate opens a large file with little time.
func TestOpenContextLate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.onnx")
	// A graph of millions of nodes without inputs.
	nodes := bytes.Repeat([]byte("\x0a\x07\x12\x01y\x22\x02Id"), 4<<20)
	data := append(binary.AppendUvarint([]byte("\x08\x08\x42\x02\x10\x15\x3a"), uint64(len(nodes))), nodes...)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	inTime(t, time.Millisecond, func(ctx context.Context) error {
		m, err := nacre.OpenContext(ctx, path)
		if err == nil {
			m.Close()
		}
		return err
	})
}
