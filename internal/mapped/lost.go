package mapped

import (
	"iter"
	"os"
	"runtime"
	"runtime/debug"
)

// Lost is the error of a mapped file that has become shorter.
type Lost struct {
	Name string // of the file, as it was opened
}

// Error says what happened, without the name.
func (e *Lost) Error() string { return "the file lost bytes while it was read" }

// guard is a Guard that is under way, and the files unmapped in the meantime: functions
// that a fault leaves may unmap the file before the fault is recovered.
type guard struct{ removed []*region }

// Guard returns the error of work, or a *Lost if work touches bytes that a mapped file
// has lost. Work is left at once, as by a panic. Only what the calling goroutine
// does in Go is guarded: C that touches such bytes ends the process.
func Guard(work func() error) (err error) {
	g := &guard{}
	files.Lock()
	if files.guards == nil {
		files.guards = map[*guard]bool{}
	}
	files.guards[g] = true
	files.Unlock()
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		p := recover()
		files.Lock()
		delete(files.guards, g)
		files.Unlock()
		if p == nil {
			return
		}
		r := g.faulted(p)
		if r == nil {
			panic(p)
		}
		err = &Lost{r.name}
	}()
	return work()
}

// faulted returns the mapped file whose bytes a panic was about, or nil.
func (g *guard) faulted(p any) *region {
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
		return r
	}
	for _, r := range g.removed {
		if r.has(fault.Addr(), 1) {
			return r
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
