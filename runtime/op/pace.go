package op

import (
	"iter"

	"github.com/nacre-ml/nacre/internal/guard"
)

// Pace counts the work of one goroutine of a run, and looks now and then whether the run is
// to end.
type Pace struct {
	stop Flag
	left int // units until the next look
}

// paceUnits is the work between two looks: a part of a millisecond.
const paceUnits = 1 << 17

// Pace returns a count of work for the goroutine that calls it.
func (c *Run) Pace() *Pace { return &Pace{c.Stop, paceUnits} }

// Work counts n units of work of about a nanosecond each. If the run is to end, Work panics so
// that guard.Call returns ErrStopped. It may thus be called from functions that return no error,
// such as the comparison of a sort.
func (p *Pace) Work(n int) {
	if p.left -= n; p.left < 0 {
		p.look()
	}
}

// stretch is the count of elements whose work Stretches counts at once.
const stretch = 1 << 12

// Stretches yields ranges that make up 0 to n, and counts cost units of work for each number.
// A loop over elements thus counts no work for each.
func (p *Pace) Stretches(n, cost int) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		for from := 0; from < n; from += stretch {
			to := min(from+stretch, n)
			p.Work((to - from) * cost)
			if !yield(from, to) {
				return
			}
		}
	}
}

func (p *Pace) look() {
	if p.stop != nil && p.stop.IsSet() {
		panic(guard.Ended{Err: ErrStopped})
	}
	p.left = paceUnits
}
