package optest

import (
	"context"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	cpudevice "github.com/nacre-ml/nacre/runtime/internal/cpu"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

const (
	residentWanted = 8 << 20 // bytes that a run is to count
	residentSpare  = 3 << 20 // bytes of the process that do not grow with the run

	residentTime  = 200 * time.Millisecond // the longest run
	residentSteps = 24                     // that make a node larger
)

// TestDeadlinesResident grows the inputs of operators until a run counts megabytes, finds the
// least limit that the run fits, and compares the limit with the most memory that the process
// holds meanwhile, C's included. It tries the operators that TestDeadlines tries.
func TestDeadlinesResident(t *testing.T) {
	testenv.Need(t, bindings.Available())
	if testing.Short() {
		t.Skip("measures the memory of the process: not in short runs")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	tried := map[string]bool{} // operators
	for _, g := range growths(t) {
		key := cases.RowKey(g.node.Domain, g.node.Op)
		if tried[key] {
			continue
		}
		r := newResident(g)
		if r == nil {
			continue
		}
		r.grow()
		limit, ok := r.least()
		if !ok || limit < residentWanted/2 {
			r.close()
			continue
		}
		tried[key] = true
		most, bound := r.peak(t, limit), limit+limit/5+residentSpare
		for range 4 {
			if most <= bound {
				break
			}
			most = min(most, r.peak(t, limit))
		}
		t.Logf("%s: counts %d KiB, takes %d KiB", r.g, limit>>10, most>>10)
		if most > bound {
			t.Errorf("%s: a run that counts %d KiB takes %d KiB", r.g, limit>>10, most>>10)
		}
		r.close()
	}
	t.Logf("%d operators", len(tried))
}

// resident is the program of a node.
type resident struct {
	g       growth
	packs   *cpudevice.Packs
	program *runtime.Program
	in      map[string]tensor.Value
}

// newResident compiles a node; nil if no session runs it.
func newResident(g growth) *resident {
	r := &resident{g: g, packs: cpudevice.NewPacks(), in: map[string]tensor.Value{}}
	g.node.Inputs = append([]string(nil), g.node.Inputs...)
	gr := &graph.Graph{Nodes: []*graph.Node{g.node}}
	for i, x := range g.in {
		if x == nil {
			continue
		}
		name := fmt.Sprint("in", i)
		g.node.Inputs[i] = name
		if x.DType().IsInteger() && x.Len() <= 64 { // axes, extents and the like
			gr.Initializers = append(gr.Initializers, &graph.Initializer{Name: name, Tensor: x})
			continue
		}
		gr.Inputs = append(gr.Inputs, &graph.Value{Name: name, Type: graph.TensorOf(x.DType(), graph.DimsOf(x.Shape()))})
		r.in[name] = x
	}
	for _, name := range g.node.Outputs {
		if name != "" {
			gr.Outputs = append(gr.Outputs, &graph.Value{Name: name})
		}
	}
	p, err := runtime.Compile(context.Background(), &graph.Model{File: "resident", Graph: gr},
		runtime.Options{Threads: 1, NoOptimize: true, Packs: r.packs, MemoryLimit: 1 << 30})
	if err != nil {
		r.packs.Close()
		return nil
	}
	r.program = p
	return r
}

func (r *resident) close() { r.packs.Close() }

// run runs the node in a session of its own, with a plan that is made before ready is called.
func (r *resident) run(limit int, ready func()) error {
	s, err := r.program.NewSession(runtime.Options{Threads: 1, MemoryLimit: limit, Packs: r.packs})
	if err != nil {
		return err
	}
	defer s.Close()
	var in []tensor.Value
	for _, v := range s.Inputs() {
		in = append(in, r.in[v.Name])
	}
	if _, err := s.Plan(context.Background(), in); err != nil {
		return err
	}
	ready()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := s.Run(ctx, in, nil)
	for _, v := range out {
		if x, ok := v.(*tensor.Tensor); ok {
			x.Release()
		}
	}
	return err
}

// grow makes the inputs larger until a run counts enough, or none is larger.
func (r *resident) grow() {
	fits := func(r *resident) (enough, ok bool) {
		begin := time.Now()
		err := r.run(residentWanted, func() {})
		return errors.Is(err, graph.ErrMemory), (err == nil || errors.Is(err, graph.ErrMemory)) &&
			time.Since(begin) < residentTime
	}
	steps, left := stepsOf(r.g), residentSteps
	for len(steps) > 0 && left > 0 {
		kept := steps[:0]
		for _, s := range steps {
			if left--; left < 0 {
				return
			}
			g, ok := s(r.g)
			if !ok {
				continue
			}
			next := newResident(g)
			if next == nil {
				continue
			}
			enough, ok := fits(next)
			if !ok {
				next.close()
				continue
			}
			r.close()
			if *r = *next; enough {
				return
			}
			kept = append(kept, s)
		}
		steps = kept
	}
}

// least returns the least limit of a run, to within two percent.
func (r *resident) least() (limit int, ok bool) {
	low, high := 0, residentWanted/2
	for err := r.run(high, func() {}); err != nil; err = r.run(high, func() {}) {
		if !errors.Is(err, graph.ErrMemory) || high > 1<<29 {
			return 0, false
		}
		low, high = high, 2*high
	}
	for high-low > high/64 {
		if middle := (low + high) / 2; r.run(middle, func() {}) == nil {
			high = middle
		} else {
			low = middle
		}
	}
	return high, true
}

// peak returns by how much the memory of the process grows in a run.
func (r *resident) peak(t *testing.T, limit int) int {
	before := 0
	err := r.run(limit, func() {
		goruntime.GC()
		debug.FreeOSMemory()
		if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
			testenv.Skip(t, "the greatest memory of the process cannot be told: ", err)
		}
		before = residentBytes(t)
	})
	if err != nil {
		t.Logf("%s: %v", r.g, err)
	}
	return residentBytes(t) - before
}

// residentBytes is the most that the process has held since clear_refs was written.
func residentBytes(t *testing.T) int {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "VmHWM:")
	var kilobytes int
	if _, err := fmt.Sscan(rest, &kilobytes); err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}
