package mapped

import (
	"iter"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
)

// Lost is the error of a mapped file that has been truncated.
type Lost struct {
	Name string // name under which the file was opened
}

// Error returns what happened, without the name.
func (e *Lost) Error() string { return "the file lost bytes while it was read" }

// Watch is a period of a goroutine's work. During it, reading lost bytes of a mapped file panics
// instead of ending the process.
type Watch struct {
	before  bool
	removed uint64 // files unmapped before it began
}

// Begin starts a watch of the calling goroutine's Go code. C code that reads lost bytes ends the
// process.
func Begin() Watch { return Watch{debug.SetPanicOnFault(true), files.removals.Load()} }

// End ends the watch. It must run on the goroutine that began it.
func (w Watch) End() { debug.SetPanicOnFault(w.before) }

// Lost returns a *Lost if a panic of the watched work was caused by lost bytes of a mapped file,
// else nil. The file may have been unmapped while the panic unwound.
func (w Watch) Lost(p any) error {
	fault, ok := p.(interface {
		runtime.Error
		Addr() uintptr
	})
	if !ok {
		return nil
	}
	files.RLock()
	defer files.RUnlock()
	if r := at(fault.Addr(), 1); r != nil {
		return &Lost{r.name}
	}
	count := files.removals.Load()
	for i, r := range slices.Backward(files.removed) {
		if count-uint64(len(files.removed)-i) < w.removed {
			break
		}
		if r.has(fault.Addr(), 1) {
			return &Lost{r.name}
		}
	}
	return nil
}

// Check returns a *Lost if the mapped file under one of the parts is shorter than its mapping. It
// skips a file if another one has its path now.
func Check(parts iter.Seq[[]byte]) error {
	met := map[*region]bool{}
	for part := range parts {
		r := find(part)
		if r == nil || met[r] {
			continue
		}
		met[r] = true
		if info, err := os.Stat(r.path); err == nil && os.SameFile(info, r.info) && info.Size() < int64(len(r.data)) {
			return &Lost{r.name}
		}
	}
	return nil
}

// Source returns a *Lost, as the reason of a failed read, if part is in a mapped file. It returns
// nil for other memory.
func Source(part []byte) error {
	if r := find(part); r != nil {
		return &Lost{r.name}
	}
	return nil
}
