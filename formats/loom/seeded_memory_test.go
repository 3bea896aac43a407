package loom_test

import (
	"context"
	"errors"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestSeededMemory opens sessions of a spec with 32 MB of weights. Sessions with a lower limit fail
// before the weights are made, and do not stop others from making them.
func TestSeededMemory(t *testing.T) {
	testenv.Need(t, bindings.Available())
	const spec = `{"id":"wide","depth":1,"rows":1,"cols":1,"layers_per_cell":2,"layers":[` +
		`{"type":"Dense","input_height":4,"output_height":1048576,"dtype":"Float32"},` +
		`{"l":1,"type":"Dense","input_height":1048576,"output_height":4,"dtype":"Float32"}]}`
	m, err := nacre.Decode("wide.json", []byte(spec))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	const mib = 1 << 20
	var failed error
	took := fixtures.Allocated(func() { _, failed = m.NewSession(nacre.Options{MemoryLimit: 16 * mib}) })
	if !errors.Is(failed, nacre.ErrMemory) || took > 4*mib {
		t.Errorf("with 16 MiB: %v, %d bytes were allocated", failed, took)
	}
	s, err := m.NewSession(nacre.Options{MemoryLimit: 80 * mib})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x, err := nacre.Zeros(nacre.Float32, 1, 4)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(context.Background(), map[string]*nacre.Tensor{s.Inputs()[0].Name: x}); err != nil {
		t.Error(err)
	}
	if _, err := m.NewSession(nacre.Options{MemoryLimit: 30 * mib}); !errors.Is(err, nacre.ErrMemory) {
		t.Errorf("with 30 MiB beside weights of 32: %v", err)
	}
}
