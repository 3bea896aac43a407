package nacre_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
)

// openDigits opens the digits network, one thread, and makes inputs of a batch of one.
func openDigits(t *testing.T) (*nacre.Model, *nacre.Session, map[string]*nacre.Tensor) {
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
	return m, s, inputs
}

// bound binds the digits network.
func bound(t *testing.T) (*nacre.Session, *nacre.Bound) {
	t.Helper()
	m, s, inputs := openDigits(t)
	b, err := s.Bind(context.Background(), inputs)
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

// TestBoundOutput makes a bound run write results to memory of the caller.
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
	for _, c := range []struct {
		output string
		to     *nacre.Tensor
		kind   error
		says   string
	}{
		{"probabilities", wrong, nacre.ErrShape, "float32[1,10] and cannot be written to a tensor float32[3]"},
		{"probabilities", nil, nacre.ErrShape, "is nil"},
		{"nothing", mine, nacre.ErrOption, `the session computes "probabilities"`},
		{"probabilities", b.Input("image"), nacre.ErrOption, `shares memory with input "image"`},
	} {
		if err := b.SetOutput(c.output, c.to); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), "digits.onnx: ") ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s to %v: %v", c.output, c.to, err)
		}
	}
}

// TestBoundAllocates counts the allocations of a run that only kernels compute, with a context that
// cannot be cancelled and with one that can.
func TestBoundAllocates(t *testing.T) {
	_, b := bound(t)
	cancellable, cancel := context.WithCancel(context.Background())
	for _, ctx := range []context.Context{context.Background(), cancellable} {
		if err := b.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(20, func() {
			if err := b.Run(ctx); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%v: %v allocations in a run", ctx, n)
		}
	}
	cancel()
	if err := b.Run(cancellable); !errors.Is(err, context.Canceled) {
		t.Errorf("a run of a cancelled context: %v", err)
	}
	if err := b.Run(context.Background()); err != nil {
		t.Errorf("the run after it: %v", err)
	}
}

// TestBoundClosed uses a Bound after Close.
func TestBoundClosed(t *testing.T) {
	s, b := bound(t)
	var none context.Context
	if err := b.Run(none); !errors.Is(err, nacre.ErrOption) {
		t.Errorf("got %v", err)
	}
	kept := b.Output("probabilities")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if kept == nil || kept.Len() != 10 || len(kept.Bytes()) != 40 {
		t.Errorf("the output is %v after Close", kept)
	}
	if err := b.Run(context.Background()); !errors.Is(err, nacre.ErrClosed) || b.Input("image") != nil ||
		b.Output("probabilities") != nil {
		t.Errorf("got %v", err)
	}
	if _, err := s.Bind(context.Background(), nil); !errors.Is(err, nacre.ErrMissingInput) {
		t.Errorf("got %v", err)
	}
}
