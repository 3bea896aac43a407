package vulkan

import (
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

// get returns the device memory with the bytes of a constant. The first call copies them.
func (w *weights) get(data []byte) (*Memory, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := weight{unsafe.SliceData(data), len(data)}
	if m := w.resident[key]; m != nil {
		return m, nil
	}
	m, err := w.dev.upload(data)
	if err == nil {
		w.resident[key] = m
	}
	return m, err
}

// hold copies missing constants to the device's memory, and reports progress.
func (w *weights) hold(list [][]byte) error {
	total, done := 0, 0
	missing := map[weight][]byte{}
	w.mu.Lock()
	for _, data := range list {
		key := weight{unsafe.SliceData(data), len(data)}
		if w.resident[key] == nil && missing[key] == nil {
			missing[key] = data
			total += len(data)
		}
	}
	w.mu.Unlock()
	for _, data := range missing {
		if _, err := w.get(data); err != nil {
			return err
		}
		done += len(data)
		if w.dev.options.Progress != nil {
			w.progress.Lock()
			w.dev.options.Progress(done, total)
			w.progress.Unlock()
		}
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
