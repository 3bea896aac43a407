package nacre_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre"
)

// bound binds the digits network, one thread.
func bound(t *testing.T) (*nacre.Session, *nacre.Bound) {
	t.Helper()
	m, err := nacre.Open("cmd/nacre/demo/digits.onnx")
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.NewSession(nacre.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	inputs, err := s.ZeroInputs(map[string]int{"batch": 1})
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Bind(inputs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeAll(t, b, s, m) })
	return s, b
}

// TestBoundEqualsRun runs one network both ways on the same inputs.
func TestBoundEqualsRun(t *testing.T) {
	s, b := bound(t)
	in, err := nacre.Data[float32](b.Input("image"))
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		for i := range in {
			in[i] = float32((i*7+round)%17) / 16
		}
		if err := b.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		want, err := s.Run(context.Background(), map[string]*nacre.Tensor{"image": b.Input("image").Clone()})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(b.Output("probabilities").Bytes(), want["probabilities"].Bytes()) {
			t.Errorf("round %d: the bound run differs", round)
		}
	}
}

// TestBoundOutput has results written to memory of the caller.
func TestBoundOutput(t *testing.T) {
	_, b := bound(t)
	was := b.Output("probabilities")
	mine, err := nacre.Zeros(was.DType(), was.Shape()...)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.SetOutput("probabilities", mine); err != nil {
		t.Fatal(err)
	}
	if err := b.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	sum := float32(0)
	p, _ := nacre.Data[float32](mine)
	for _, v := range p {
		sum += v
	}
	if sum < 0.99 || sum > 1.01 {
		t.Errorf("probabilities add up to %g", sum)
	}
	wrong, _ := nacre.Zeros(nacre.Float32, 3)
	for _, err := range []error{b.SetOutput("probabilities", wrong), b.SetOutput("nothing", mine), b.SetOutput("probabilities", nil)} {
		if !errors.Is(err, nacre.ErrShape) {
			t.Errorf("got %v", err)
		}
	}
}

// TestBoundAllocates counts the allocations of a run whose operators are all computed by
// kernels.
func TestBoundAllocates(t *testing.T) {
	_, b := bound(t)
	ctx := context.Background()
	if err := b.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(20, func() {
		if err := b.Run(ctx); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations in a run", n)
	}
}

// TestBoundClosed uses memory that is given back.
func TestBoundClosed(t *testing.T) {
	s, b := bound(t)
	var none context.Context
	if err := b.Run(none); !errors.Is(err, nacre.ErrOption) {
		t.Errorf("got %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Run(context.Background()); !errors.Is(err, nacre.ErrClosed) || b.Input("image") != nil {
		t.Errorf("got %v", err)
	}
	if _, err := s.Bind(nil); !errors.Is(err, nacre.ErrMissingInput) {
		t.Errorf("got %v", err)
	}
}
