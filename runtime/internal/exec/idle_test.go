package exec

import (
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/optest"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
)

// take gets n frames of a plan at once and puts them back.
func take(t *testing.T, fs *frames, d device.Device, pl *plan.Plan, n int) []*frame {
	t.Helper()
	list := make([]*frame, n)
	for i := range list {
		f, err := fs.get(pl, d)
		if err != nil {
			t.Fatal(err)
		}
		if f.plan != pl || len(f.arena) < pl.ArenaBytes {
			t.Fatalf("a frame of %d bytes for a plan of %d", len(f.arena), pl.ArenaBytes)
		}
		list[i] = f
	}
	for _, f := range list {
		fs.put(f)
	}
	return list
}

func heldFrames(fs *frames) int {
	n := 0
	for _, f := range fs.list {
		n += f.bytes()
	}
	return n
}

// TestIdleFramesOfAPlan runs one plan many times at once. The number of idle frames is the number
// of runs that are admitted, for small and large frames.
func TestIdleFramesOfAPlan(t *testing.T) {
	d := optest.Device(t)
	for _, arena := range []int{1 << 10, maxIdleBytes} {
		fs := &frames{places: 3}
		pl := &plan.Plan{ArenaBytes: arena}
		take(t, fs, d, pl, 50)
		if len(fs.list) != fs.places || fs.bytes != heldFrames(fs) {
			t.Errorf("%d frames and %d bytes are left of 50 with %d bytes each", len(fs.list), fs.bytes, arena)
		}
		last := fs.list[len(fs.list)-1]
		if f := take(t, fs, d, pl, 1)[0]; f != last {
			t.Error("a new frame was made though one was idle")
		}
		fs.trim()
		if len(fs.list) != 0 || fs.bytes != 0 {
			t.Errorf("%d frames and %d bytes after trim", len(fs.list), fs.bytes)
		}
	}
}

// TestIdleFramesOfPlans runs plans in turn. Each keeps its frame until the bounds are reached.
func TestIdleFramesOfPlans(t *testing.T) {
	d := optest.Device(t)
	fs := &frames{places: 2}
	defer fs.trim()
	a, b := &plan.Plan{ArenaBytes: 1 << 10}, &plan.Plan{ArenaBytes: 1 << 16}
	first, second := take(t, fs, d, a, 1)[0], take(t, fs, d, b, 1)[0]
	for range 3 {
		if take(t, fs, d, a, 1)[0] != first || take(t, fs, d, b, 1)[0] != second {
			t.Fatal("two plans do not keep their frames")
		}
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		take(t, fs, d, &plan.Plan{ArenaBytes: 1 << r.IntN(25)}, 1+r.IntN(4))
		if len(fs.list) > maxIdleFrames || fs.bytes != heldFrames(fs) || fs.bytes > maxIdleBytes && len(fs.list) > fs.places {
			t.Fatalf("%d frames of %d bytes are idle, counted as %d", len(fs.list), heldFrames(fs), fs.bytes)
		}
	}
}

// TestTrimDuringARun trims while a frame is in use. The frame is freed when it is put back.
func TestTrimDuringARun(t *testing.T) {
	d := optest.Device(t)
	fs := &frames{places: 2}
	f, err := fs.get(&plan.Plan{ArenaBytes: 100}, d)
	if err != nil {
		t.Fatal(err)
	}
	fs.trim()
	fs.put(f)
	if len(fs.list) != 0 || f.arena != nil {
		t.Errorf("%d frames are idle, and the one in use holds %d bytes", len(fs.list), len(f.arena))
	}
}
