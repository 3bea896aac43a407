package nacre_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// FuzzProgram runs programs of OpenInfer, in either of their languages, for three steps. No error
// is a defect.
func FuzzProgram(f *testing.F) {
	testenv.Need(f, bindings.Available())
	dir := f.TempDir()
	weights := filepath.Join(dir, "model.oinf")
	m := &graph.Model{
		Graph: &graph.Graph{Initializers: []*graph.Initializer{
			{Name: "W.0", Tensor: tensor.New(tensor.F32, 4, 4)}, {Name: "W.1", Tensor: tensor.New(tensor.F32, 4, 4)},
			{Name: "q", Tensor: tensor.New(tensor.I8, 4)},
		}},
		Sizes: []graph.Size{{Name: "B", Value: 2}, {Name: "D", Value: 4}, {Name: "num", Value: 2}},
	}
	if err := formats.Save(weights, m, formats.Options{}); err != nil {
		f.Fatal(err)
	}
	for _, body := range []string{
		"op matmul(x, W[0]) >> h; op relu(h, alpha=0.25, clamp_max=6) >> h; op add(h, x) >> y;",
		"loop layers (l in 0..num) { op matmul(x, W[l]) >> h; op add(h, x) >> y; }",
		"cache.read total >> y; op add(y, x) >> y; cache.write y >> total; cache.increment 1 n;",
		"cache.read K[0..2] >> h; op relu(x, alpha=0.5) >> y; branch done; return; } block done { op add(y, h) >> y;",
		"assign a: f16[B, D]; op cast(x, to=f16) >> a; op sum_axis(x, axes=[0], keepdims=true) >> s; op add(x, s) >> y;",
	} {
		text := `dynamic { x: f32[B, D]; } volatile { h: f32[B, D]; y: f32[B, D]; s: f32[1, D]; }
constant { W(l): f32[D, D] @pattern("W.{l}"); q: i8[4]; } persistent { total: f32[B, D]; n: i32 @init(0); K(i): f32[D] @table @fixed(i=4); }
block entry { ` + body + ` return; }`
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"vars":{"x":{"name":"x","kind":"Dynamic","dtype":"F32","dims":["B"],"init":null},"y":{"name":"y","kind":"Volatile","dtype":"F32","dims":["B"],"init":null}},
		"blocks":{"entry":{"name":"entry","nodes":[{"index":0,"uuid":"u","kind":{"Op":{"op":"relu","attrs":{"items":[{"name":"alpha","value":{"Double":0.5}}]},"inputs":["x"],"output":"y"}}}]}},"next_index":1}`))
	program := filepath.Join(dir, "program")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(program, text, 0o666); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if err := steps(ctx, program, weights); errors.Is(err, nacre.ErrInternal) {
			t.Error(err)
		}
	})
}

// steps runs three steps of a program, or one if it has no persistent variables.
func steps(ctx context.Context, program, weights string) error {
	source, err := formats.LoadProgram(program, weights)
	if err != nil {
		return err
	}
	m, err := nacre.NewModel(source)
	if err != nil {
		return err
	}
	defer m.Close()
	s, err := m.NewSessionContext(ctx, nacre.Options{Threads: 1, MemoryLimit: 16 << 20})
	if err != nil {
		return err
	}
	defer s.Close()
	if len(m.States()) == 0 {
		_, err := s.Run(ctx, nil)
		return err
	}
	stream, err := s.NewStream(context.Background(), nacre.StreamOptions{})
	if err != nil {
		return err
	}
	defer stream.Close()
	for range 3 {
		if _, err := stream.Run(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}
