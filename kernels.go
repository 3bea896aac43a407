package nacre

import (
	"context"
	"time"
)

// KernelComparison is a step of a plan and the ways to compute it on its device.
// Session.CompareKernels makes one.
type KernelComparison struct {
	Node   string // the name of the node, or its first output
	Op     string // its operator with domain and version, such as Conv-17
	Inputs string // types and shapes
	Ways   []KernelWay
}

// KernelWay is one way to compute a step: a row of the device's table with its
// kernels.
type KernelWay struct {
	How   string
	Taken bool          // the plan takes it
	Time  time.Duration // median
	Err   error         // what the kernels say of random inputs; Time is then 0
}

// CompareKernels times every kernel that can compute a step of p, a plan of the session:
// each one rounds times, in turns, on the weights of the model and on random inputs. With the
// name of a node it times the steps of that node only. Weights that it packs for a kernel stay
// in memory until Model.Close.
//
// The error is ErrOption if ctx or p is nil, rounds is less than 1 or no step on a device
// has the name, ErrClosed after Close, and the context's error when it is done.
func (s *Session) CompareKernels(ctx context.Context, p *Plan, node string, rounds int) (_ []KernelComparison, err error) {
	defer s.enter().end(&err)
	file := s.model.source.File
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	switch {
	case p == nil:
		return nil, markf(ErrOption, "%s: there is no plan to time kernels of", file)
	case rounds < 1:
		return nil, markf(ErrOption, "%s: kernels are timed %d times; once is the least", file, rounds)
	}
	found, err := s.engine.Compare(ctx, p.p, node, rounds)
	if err != nil {
		return nil, public(err)
	}
	if found == nil && node != "" {
		return nil, markf(ErrOption, "%s: the plan has no step %q on a device", file, node)
	}
	list := make([]KernelComparison, len(found))
	for i, c := range found {
		list[i] = KernelComparison{Node: c.Node, Op: c.Op, Inputs: c.Inputs}
		for _, w := range c.Ways {
			list[i].Ways = append(list[i].Ways, KernelWay{w.How, w.Taken, w.Time, w.Err})
		}
	}
	return list, nil
}
