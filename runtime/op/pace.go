package op

import (
	"iter"

	"github.com/nacre-ml/nacre/internal/guard"
)

// Pace counts the work of one goroutine of a run and checks from time to time whether the run must
// end.
type Pace struct {
	stop Flag
	left int // units until the next check
}

// paceUnits is the work between two checks, a fraction of a millisecond.
const paceUnits = 1 << 17

// Pace returns a counter of work for the calling goroutine.
func (c *Run) Pace() *Pace { return &Pace{c.Stop, paceUnits} }

// Work counts n units of work of about a nanosecond each. If the run must end, Work panics so that
// guard.Call returns ErrStopped. Functions that return no error, such as the comparison of a sort,
// may thus call it.
func (p *Pace) Work(n int) {
	if p.left -= n; p.left < 0 {
		p.look()
	}
}

// stretch is the number of elements for which Stretches counts work at once.
const stretch = 1 << 12

// Stretches yields consecutive ranges that cover 0 to n and counts cost units of work per number,
// so that a loop over elements need not call Work for each.
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
