package optest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
)

// TestAllocationsFail makes a session of a case of every operator, and two runs, and fails each
// allocation outside Go's heap in turn. The error is graph.ErrMemory, and all memory is given back.
func TestAllocationsFail(t *testing.T) {
	testenv.Need(t, bindings.Available())
	defer func() { bindings.Fault = nil }()
	met := map[string]bool{}
	for _, c := range casesOf() {
		if met[c.Key()] || c.Fails != nil {
			continue
		}
		met[c.Key()] = true
		for _, fixed := range []int{0, -2} { // with constants behind the first input
			allocationsFail(t, c, fixed)
		}
	}
}

func allocationsFail(t *testing.T, c *cases.Case, fixed int) {
	t.Helper()
	m := ofCase(c, c.Versions(Rows()[c.Key()])[0], fixed)
	for at := int64(0); ; at++ {
		before := bindings.Blocks()
		var calls atomic.Int64
		bindings.Fault = func(int) bool { return calls.Add(1)-1 == at }
		err := twoRuns(m)
		bindings.Fault = nil
		if left := bindings.Blocks() - before; left != 0 {
			t.Errorf("%s: allocation %d fails: %d blocks are left (%v)", c.Name(), at, left, err)
			return
		}
		if calls.Load() <= at {
			return
		}
		if !errors.Is(err, graph.ErrMemory) {
			t.Errorf("%s: allocation %d fails: %v", c.Name(), at, err)
		}
	}
}

// twoRuns makes a session, runs it twice and closes it.
func twoRuns(m *mutant) error {
	s, err := byname.New(m.model, runtime.Options{Threads: 2})
	if err != nil {
		return err
	}
	defer s.Close()
	for range 2 {
		if _, err := s.RunValues(context.Background(), m.inputs(s)); err != nil {
			return err
		}
	}
	return nil
}
