package optest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/bodies"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// bodyRun is a session of a model and the inputs of its runs.
type bodyRun struct {
	session byname.Session
	in      map[string]tensor.Value
}

func newBodyRun(t *testing.T, c bodies.Case, size int) *bodyRun {
	m, _, in := c.Make(size)
	r := &bodyRun{in: map[string]tensor.Value{}}
	for i, v := range m.Graph.Inputs {
		r.in[v.Name] = in[i]
	}
	s, err := byname.New(m, runtime.Options{Threads: 1, MemoryLimit: 16 * mostHeavy})
	if err != nil {
		t.Fatalf("%s of size %d: %v", c.Name, size, err)
	}
	t.Cleanup(func() { s.Close() })
	r.session = s
	return r
}

// run runs the model, to the end or until a deadline, and returns how long it took.
func (r *bodyRun) run(t *testing.T, end time.Duration) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), end)
	defer cancel()
	begin := time.Now()
	_, err = r.session.RunValues(ctx, r.in)
	return time.Since(begin), err
}

// TestDeadlinesOfBodies grows models of the operators that hold graphs until a run takes long,
// and ends runs before that.
func TestDeadlinesOfBodies(t *testing.T) {
	testenv.Need(t, bindings.Available())
	for _, c := range bodies.Cases() {
		if !isAsked(c.Name) {
			continue
		}
		size, took, full := 1, time.Duration(0), false
		r := newBodyRun(t, c, size)
		for next := 1; took < heavy && next < 1<<20; next *= 2 {
			larger := newBodyRun(t, c, next)
			again, err := larger.run(t, never)
			if err == nil {
				again, err = larger.run(t, never) // without the plans of the first
			}
			if full = next > 1 && errors.Is(err, graph.ErrMemory); full {
				break // a fast machine fills the memory before a run takes long
			}
			if err != nil {
				t.Fatalf("%s of size %d: %v", c.Name, next, err)
			}
			r, size, took = larger, next, again
		}
		t.Logf("%s of size %d: %v", c.Name, size, took)
		if took < heavy/2 && !full {
			t.Errorf("%s of size %d takes %v", c.Name, size, took)
		}
		for _, end := range []time.Duration{took / 8, took / 2} {
			bound, least := max((took-end)/3, 50*time.Millisecond), never
			for range 20 {
				took, err := r.run(t, end)
				if err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("%s: %v", c.Name, err)
				}
				if least = min(least, took-end); least <= bound {
					break
				}
			}
			if least > bound {
				t.Errorf("%s of size %d: of %v, ended after %v, it ran on for %v", c.Name, size, took, end, least)
			}
		}
	}
}

// TestBodiesOfAll checks that every operator that wants a graph is among the cases of bodies.
func TestBodiesOfAll(t *testing.T) {
	var have []string
	for _, c := range bodies.Cases() {
		_, n, _ := c.Make(1)
		have = append(have, cases.RowKey(n.Domain, n.Op))
	}
	for _, row := range standard.Registry().Rows() {
		n := &graph.Node{Domain: row.Domain, Op: row.Name, Version: row.Since[len(row.Since)-1],
			Inputs: slices.Repeat([]string{"x"}, max(row.In[0], 1)), Outputs: slices.Repeat([]string{"y"}, max(row.Out[0], 1))}
		_, _, err := standard.Registry().New(n)
		if key := cases.RowKey(row.Domain, row.Name); err != nil && strings.Contains(err.Error(), "a graph, is missing") &&
			!slices.Contains(have, key) {
			t.Errorf("%s has no case", key)
		}
	}
}
