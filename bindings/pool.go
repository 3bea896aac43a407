package bindings

import (
	"runtime"
	"sync"
)

// SharedPool returns the pool of the process, with a thread per CPU. The first call starts it.
var SharedPool = sync.OnceValues(func() (*Pool, error) {
	return NewPool(max(runtime.NumCPU(), runtime.GOMAXPROCS(0)))
})
