package exec

import (
	"sync"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
)

// frames is the memory of ended runs, kept for later ones. Each plan keeps at most as many frames
// as the device admits runs at a time. The list may hold that number of frames of any size; beyond
// it, number and bytes are bounded.
type frames struct {
	mu     sync.Mutex
	places int      // runs that the device admits at a time
	shared *Memory  // budget that the frames take their bytes from
	list   []*frame // the one that ended first is in front
	bytes  int      // of list
	epoch  int      // how often trim was called
}

// Bounds of the list of idle frames, once it is longer than the device admits runs.
const (
	maxIdleFrames = 64
	maxIdleBytes  = 64 << 20
)

// get returns a frame for the plan: one that was set up for it, else a new one. If the bounds are
// reached, it sets up a frame of another plan instead.
func (fs *frames) get(pl *plan.Plan, d device.Device) (*frame, error) {
	f := fs.take(pl)
	if f.plan == pl {
		return f, nil
	}
	f.device = d
	if err := f.setUp(pl); err != nil {
		f.free()
		return nil, err
	}
	return f, nil
}

// take returns a frame of the plan, of another plan or of none.
func (fs *frames) take(pl *plan.Plan) *frame {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := &frame{}
	for i := len(fs.list) - 1; i >= 0; i-- {
		if fs.list[i].plan == pl {
			f = fs.remove(i)
			break
		}
	}
	if f.plan == nil && fs.beyond(1, pl.ArenaBytes+pl.ScratchBytes) {
		f = fs.remove(fs.fitting(pl))
	}
	f.epoch = fs.epoch
	return f
}

// fitting returns the index of the frame that ended first among the frames with enough memory for
// the plan. If none has enough, it returns 0, the frame that ended first of all.
func (fs *frames) fitting(pl *plan.Plan) int {
	for i, f := range fs.list {
		if len(f.arena) >= pl.ArenaBytes && len(f.scratch) >= pl.ScratchBytes {
			return i
		}
	}
	return 0
}

func (fs *frames) put(f *frame) {
	f.reset()
	for _, f := range fs.keep(f) {
		f.free()
	}
}

// keep adds a frame to the list and returns the frames to free.
func (fs *frames) keep(f *frame) (rest []*frame) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.epoch != fs.epoch || !fs.shared.spare(f.bytes()) {
		return []*frame{f}
	}
	fs.list = append(fs.list, f)
	fs.bytes += f.bytes()
	first, same := 0, 0
	for i := len(fs.list) - 1; i >= 0; i-- {
		if fs.list[i].plan == f.plan {
			first = i
			same++
		}
	}
	if same > fs.places {
		rest = append(rest, fs.remove(first))
	}
	for fs.beyond(0, 0) {
		rest = append(rest, fs.remove(0))
	}
	return rest
}

// beyond reports whether the list exceeds the bounds with n more frames that take bytes together.
func (fs *frames) beyond(n, bytes int) bool {
	if len(fs.list)+n <= fs.places {
		return false
	}
	return len(fs.list)+n > maxIdleFrames || fs.bytes+bytes > maxIdleBytes
}

func (fs *frames) remove(i int) *frame {
	f := fs.list[i]
	n := f.bytes()
	fs.bytes -= n
	fs.shared.give(n)
	copy(fs.list[i:], fs.list[i+1:])
	fs.list[len(fs.list)-1] = nil
	fs.list = fs.list[:len(fs.list)-1]
	return f
}

// trim frees the idle frames. Frames in use are freed when they are put back.
func (fs *frames) trim() {
	fs.mu.Lock()
	fs.epoch++
	fs.mu.Unlock()
	fs.drop()
}

// drop frees the idle frames.
func (fs *frames) drop() {
	fs.mu.Lock()
	list, bytes := fs.list, fs.bytes
	fs.list, fs.bytes = nil, 0
	fs.mu.Unlock()
	for _, f := range list {
		f.free()
	}
	fs.shared.give(bytes)
}

// idleBytes returns the bytes of the idle frames.
func (fs *frames) idleBytes() int {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.bytes
}
