package main

import (
	"errors"
	"runtime"
	"sync"

	"github.com/nacre-ml/nacre/bench/report"
	"github.com/nacre-ml/nacre/bindings"
)

// ceilings are the best rates probed so far.
type ceilings struct {
	buffers [][]byte // larger than caches, one for each thread
	list    []report.Ceiling
}

func newCeilings(threads []int) (*ceilings, error) {
	const bytes = 256 << 20
	c := new(ceilings)
	for _, n := range threads {
		c.list = append(c.list, report.Ceiling{Threads: n})
		for len(c.buffers) < n {
			b := bindings.Alloc(bytes)
			if b == nil {
				c.free()
				return nil, errors.New("no memory to read from")
			}
			c.buffers = append(c.buffers, b)
			for i := 0; i < bytes; i += 4096 {
				b[i] = 1
			}
		}
	}
	return c, nil
}

func (c *ceilings) free() {
	for _, b := range c.buffers {
		bindings.Free(b)
	}
}

// probe measures with all numbers of threads.
func (c *ceilings) probe() error {
	for i := range c.list {
		at := &c.list[i]
		for range 3 {
			for _, ceiling := range []struct {
				best  *float64
				probe func(bindings.ISA) (float64, error)
			}{{&at.FMA, bindings.ProbeFMA}, {&at.Dot, bindings.ProbeDot}} {
				rate, err := together(at.Threads, func(int) (float64, error) { return ceiling.probe(bindings.DetectISA()) })
				if err != nil {
					return err
				}
				*ceiling.best = max(*ceiling.best, rate)
			}
		}
		rate, err := together(at.Threads,
			func(thread int) (float64, error) { return bindings.ProbeRead(c.buffers[thread]), nil })
		if err != nil {
			return err
		}
		at.Read = max(at.Read, rate)
	}
	return nil
}

// together returns the sum of the rates that several threads measure at the same time.
func together(threads int, measure func(thread int) (float64, error)) (float64, error) {
	rates, errs := make([]float64, threads), make([]error, threads)
	var all sync.WaitGroup
	for i := range threads {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			rates[i], errs[i] = measure(i)
		})
	}
	all.Wait()
	sum := 0.0
	for _, r := range rates {
		sum += r
	}
	return sum, errors.Join(errs...)
}
