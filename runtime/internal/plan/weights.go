package plan

import (
	"unsafe"

	"github.com/nacre-ml/nacre/runtime/internal/device"
)

// segmentWeights collects the constants that the steps of a segment read and that move in and out
// of memory.
type segmentWeights struct {
	all   device.Weights // nil if all constants stay in memory
	met   map[unsafe.Pointer]bool
	bytes int
}

// reading is a constant that a step reads.
type reading struct {
	data      []byte
	bytes     int
	scattered bool
}

// begin starts a segment.
func (w *segmentWeights) begin() { w.met, w.bytes = map[unsafe.Pointer]bool{}, 0 }

// of returns the constants of a step. A constant may occur more than once.
func (w *segmentWeights) of(b *builder, st *Step) (list []reading) {
	if w.all == nil || st.Offloaded() {
		return nil
	}
	for i, id := range st.In {
		if id < 0 || st.Drops(i) {
			continue
		}
		s := &b.Slots[b.root(id)]
		if s.Place != Const {
			continue
		}
		data := s.Const.Bytes()
		if n := w.all.Takes(data); n > 0 {
			list = append(list, reading{data, n, st.Scatters(i) && b.moving[b.root(id)] == nil})
		}
	}
	return list
}

// exceed reports whether a step that reads the constants in list must start another segment.
func (w *segmentWeights) exceed(list []reading) bool {
	n := 0
	for _, c := range list {
		if !c.scattered && !w.met[unsafe.Pointer(unsafe.SliceData(c.data))] {
			n += c.bytes
		}
	}
	return n > 0 && w.bytes > 0 && w.bytes+n > w.all.Segment()
}

// add adds the constants of a step to its segment.
func (w *segmentWeights) add(seg *Segment, list []reading) {
	for _, c := range list {
		at := unsafe.Pointer(unsafe.SliceData(c.data))
		if w.met[at] {
			continue
		}
		w.met[at] = true
		if c.scattered {
			seg.Scattered = append(seg.Scattered, c.data)
			continue
		}
		seg.Weights = append(seg.Weights, c.data)
		w.bytes += c.bytes
	}
}
