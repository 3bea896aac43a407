package mapped

import (
	"iter"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
)

// Lost is the error of a mapped file that has become shorter.
type Lost struct {
	Name string // of the file, as it was opened
}

// Error says what happened, without the name.
func (e *Lost) Error() string { return "the file lost bytes while it was read" }

// Watch is a stretch of work of a goroutine during which bytes that a mapped file has lost
// are a panic and not the end of the process.
type Watch struct {
	before  bool
	removed uint64 // files that were unmapped before it began
}

// Begin begins a watch of what the calling goroutine does in Go. C that touches such bytes
// ends the process.
func Begin() Watch { return Watch{debug.SetPanicOnFault(true), files.removals.Load()} }

// End ends the watch, on the goroutine that began it.
func (w Watch) End() { debug.SetPanicOnFault(w.before) }

// Lost returns a *Lost if a panic of the watched work was about bytes that a mapped file
// has lost, else nil. The file may have been unmapped while the panic left functions.
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

// Check returns a *Lost if a mapped file that one of the parts lies in is shorter than
// it was. A file whose path leads to another file by now is not looked at.
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

// Source returns a *Lost if part lies in a mapped file: the reason for which the system
// could not read it. It is nil for other memory.
func Source(part []byte) error {
	if r := find(part); r != nil {
		return &Lost{r.name}
	}
	return nil
}
