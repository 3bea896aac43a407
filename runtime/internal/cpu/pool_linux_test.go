package cpu

import (
	"syscall"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestIdlePoolSleeps measures the processor time of the process after a run. Threads that wait for
// work must sleep soon after it.
func TestIdlePoolSleeps(t *testing.T) {
	const n, pause = 1 << 18, 300 * time.Millisecond
	pool := testPool(t)
	x, y := make([]byte, 4*n), make([]byte, 4*n)
	w := unaryWords(graph.Known(n), plainF32, plainF32, [2]int64{}, tensor.F32)
	var used time.Duration
	for range 5 { // other threads of the process may be busy for a moment
		if _, failed := runCommand(t, partOf(t, "f32_exp", 0), w, pool, x, y, nil, nil); failed {
			t.Fatal("exp failed")
		}
		before := processTime(t)
		time.Sleep(pause)
		if used = processTime(t) - before; used < pause/4 {
			return
		}
	}
	t.Errorf("the process was busy for %v of the %v after a run", used, pause)
}

func processTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
