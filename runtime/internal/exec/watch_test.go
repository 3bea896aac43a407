package exec_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/exec"
	"github.com/nacre-ml/nacre/runtime/internal/optest"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// flagged is a device that counts the flags that were made and not freed.
type flagged struct {
	device.Device
	open, made atomic.Int64
}

type countedFlag struct {
	device.Flag
	of *flagged
}

func (d *flagged) NewFlag() (device.Flag, error) {
	f, err := d.Device.NewFlag()
	d.open.Add(1)
	d.made.Add(1)
	return countedFlag{f, d}, err
}

func (f countedFlag) Free() {
	f.of.open.Add(-1)
	f.Flag.Free()
}

// Record returns a segment that takes counted flags.
func (d *flagged) Record(list []device.Recorded) (device.Segment, error) {
	s, err := d.Device.Record(list)
	return flaggedSegment{s}, err
}

// flaggedSegment runs a segment with the flag within a counted one.
type flaggedSegment struct{ device.Segment }

func (s flaggedSegment) Run(stop device.Flag, timed bool) (int, error) {
	if f, ok := stop.(countedFlag); ok {
		stop = f.Flag
	}
	return s.Segment.Run(stop, timed)
}

// TestFlagsAreFreed counts the flags left by runs with a context cancelled before the run, and with
// one cancelled after it.
func TestFlagsAreFreed(t *testing.T) {
	d := &flagged{Device: optest.Device(t)}
	b := boundAdd(t, d)
	defer b.Close()
	for i := range 100 {
		ctx, cancel := context.WithCancel(context.Background())
		if i%2 == 0 {
			cancel()
		}
		if err := b.Run(ctx, nil); (err != nil) != (i%2 == 0) {
			t.Fatalf("run %d: %v", i, err)
		}
		cancel()
	}
	if d.made.Load() != 100 {
		t.Errorf("%d flags were made for 100 contexts", d.made.Load())
	}
	if err := b.Run(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	for wait := time.Millisecond; d.open.Load() > 0 && wait < 10*time.Second; wait *= 2 {
		time.Sleep(wait) // a goroutine of its own sets a flag
	}
	if n := d.open.Load(); n != 0 {
		t.Errorf("%d flags are left", n)
	}
}

// TestFlagStays checks that runs with one context share one flag.
func TestFlagStays(t *testing.T) {
	d := &flagged{Device: optest.Device(t)}
	b := boundAdd(t, d)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for range 10 {
		if err := b.Run(ctx, nil); err != nil {
			t.Fatal(err)
		}
	}
	if d.made.Load() != 1 {
		t.Errorf("%d flags were made for one context", d.made.Load())
	}
	b.Close()
	if n := d.open.Load(); n != 0 {
		t.Errorf("%d flags are left", n)
	}
}

// boundAdd binds a graph of one addition.
func boundAdd(t *testing.T, d device.Device) *exec.Bound {
	t.Helper()
	x := tensor.New(tensor.F32, 4)
	p, err := plan.Compile(&graph.Model{Graph: &graph.Graph{
		Inputs:  []*graph.Value{{Name: "x", Type: graph.TensorOf(tensor.F32, graph.DimsOf(x.Shape()))}},
		Nodes:   []*graph.Node{{Op: "Add", Version: 14, Inputs: []string{"x", "x"}, Outputs: []string{"y"}}},
		Outputs: []*graph.Value{{Name: "y"}},
	}}, standard.Registry(), d)
	if err != nil {
		t.Fatal(err)
	}
	pl, err := p.For(context.Background(), []tensor.Value{x})
	if err != nil {
		t.Fatal(err)
	}
	b, err := exec.New(d, exec.Limits{}).Bind(pl)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// full is a device without a place for a run.
type full struct{ device.Device }

func (full) Places() *device.Supply { return device.NewSupply(0) }

// TestWaitedSays checks the error of a run that never began.
func TestWaitedSays(t *testing.T) {
	b := boundAdd(t, full{optest.Device(t)})
	defer b.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := b.Run(ctx, nil); !errors.Is(err, context.Canceled) ||
		!strings.Contains(err.Error(), "waited for other runs") {
		t.Errorf("got %v", err)
	}
}
