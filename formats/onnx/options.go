package onnx

import "github.com/nacre-ml/nacre/internal/budget"

// Versions that this package reads.
const (
	maxIR    = 14
	maxOpset = 28
)

// maxDomains bounds the operator sets that a model or a function imports.
const maxDomains = 256

// Limits bound what reading a file may cost. A field that is zero stands for
// its default.
type Limits struct {
	Depth   int // nested graphs, types and values; 64
	Objects int // nodes, attributes, tensors, values and the like in a file; 4 Mi
	Strings int // names, string elements and metadata in a file; 64 Mi
	Rank    int // axes of a tensor or type; 64
	Files   int // of external data; 16384
}

func (l Limits) withDefaults() Limits {
	set := func(p *int, def int) {
		if *p == 0 {
			*p = def
		}
	}
	set(&l.Depth, 64)
	set(&l.Objects, 4<<20)
	set(&l.Strings, 64<<20)
	set(&l.Rank, 64)
	set(&l.Files, 16384)
	return l
}

// Options change how a reader treats a file.
type Options struct {
	Limits Limits
	// Budget counts the memory that a file takes beside its bytes, and ends with its context;
	// nil for the one of container.Reading.
	Budget *budget.Budget
}
