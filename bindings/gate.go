package bindings

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// gate has a place for every CPU.
var gate = sync.OnceValue(func() chan struct{} { return make(chan struct{}, max(runtime.NumCPU(), runtime.GOMAXPROCS(0))) })

// Places is the number of places that Enter gives.
func Places() int { return cap(gate()) }

// patience bounds how long a caller waits for a place: those that have one may
// themselves wait for a caller that has none, as when an operator runs a model.
const patience = time.Second

// Enter takes one of as many places as there are CPUs, or waits for one until ctx is
// done, a second at most. Callers that run commands ask for one, so that many callers do
// not compete for few CPUs. Leave gets what Enter returned.
func Enter(ctx context.Context) (place bool, err error) {
	select {
	case gate() <- struct{}{}:
		return true, nil
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case gate() <- struct{}{}:
		return true, nil
	case <-timer.C:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// Leave gives back a place.
func Leave(place bool) {
	if place {
		<-gate()
	}
}
