package vulkan

import (
	"slices"
	"sync"
	"unsafe"
)

// weights is the constants of a model in the device's memory. Each is there once for all plans and
// sessions.
type weights struct {
	dev *Device

	mu       sync.Mutex
	resident map[weight]*Memory
	recipes  []*recipe

	progress sync.Mutex // held while progress is reported
}

// weight identifies the bytes of a constant by address and length. They never move.
type weight struct {
	data  *byte
	bytes int
}

func newWeights(d *Device) *weights { return &weights{dev: d, resident: map[weight]*Memory{}} }

func weightOf(data []byte) weight { return weight{unsafe.SliceData(data), len(data)} }

// get returns the device memory with the bytes of a constant. The first call copies them.
func (w *weights) get(data []byte) (*Memory, error) {
	if err := w.load([][]byte{data}); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.resident[weightOf(data)], nil
}

// hold copies missing constants to the device's memory, and reports progress. Those of a group lie
// behind each other, as far as the device gives so much memory at a time.
func (w *weights) hold(groups [][][]byte) error {
	total, done := 0, 0
	var missing [][][]byte
	w.mu.Lock()
	seen := map[weight]bool{}
	for _, group := range groups {
		var list [][]byte
		bytes := 0
		for _, data := range group {
			key := weightOf(data)
			if w.resident[key] != nil || seen[key] {
				continue
			}
			if n := alignUp(len(data)); len(list) > 0 && w.dev.pool.most > 0 && bytes+n > w.dev.pool.most {
				missing, list, bytes = append(missing, list), nil, 0
			}
			seen[key], list = true, append(list, data)
			bytes += alignUp(len(data))
			total += len(data)
		}
		if len(list) > 0 {
			missing = append(missing, list)
		}
	}
	w.mu.Unlock()
	for _, list := range missing {
		if err := w.load(list); err != nil {
			return err
		}
		for _, data := range list {
			done += len(data)
		}
		if w.dev.options.Progress != nil {
			w.progress.Lock()
			w.dev.options.Progress(done, total)
			w.progress.Unlock()
		}
	}
	return nil
}

// load copies constants that are missing into one piece of the device's memory.
func (w *weights) load(list [][]byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	list = slices.DeleteFunc(slices.Clone(list), func(data []byte) bool { return w.resident[weightOf(data)] != nil })
	if len(list) == 0 {
		return nil
	}
	sizes := make([]int, len(list))
	for i, data := range list {
		sizes[i] = len(data)
	}
	parts, err := w.dev.pool.allocParts(sizes)
	if err != nil {
		return err
	}
	for i, data := range list {
		if err := parts[i].Write(0, data); err != nil {
			for _, m := range parts[i:] {
				m.Free()
			}
			return err
		}
		w.resident[weightOf(data)] = parts[i]
	}
	return nil
}

func (w *weights) free() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.resident {
		m.Free()
	}
	for _, r := range w.recipes {
		if r.memory != nil {
			r.memory.Free()
		}
	}
	w.resident, w.recipes = nil, nil
}

// upload returns device memory with a copy of data.
func (d *Device) upload(data []byte) (*Memory, error) {
	m, err := d.pool.alloc(len(data))
	if err != nil {
		return nil, err
	}
	if err := m.Write(0, data); err != nil {
		m.Free()
		return nil, err
	}
	return m, nil
}

// wholeWords rounds n up to a multiple of 4 bytes, at least 4.
func wholeWords(n int) int { return (max(n, 1) + 3) &^ 3 }
