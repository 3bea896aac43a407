package onnx

// The latest versions that this package reads.
const (
	maxIR    = 14
	maxOpset = 28
)

// maxDomains is the most operator sets that a model or a function may import.
const maxDomains = 256

// limits bound the cost of reading a file, beside the budget. A zero field stands for its default.
type limits struct {
	depth   int // nested graphs, types and values; 64
	objects int // nodes, attributes, tensors, values and other messages in a file; 4 Mi
	strings int // names, string elements and metadata in a file; 64 Mi
	rank    int // axes of a tensor or type; 64
	files   int // files of external data; 16384
}

func (l limits) withDefaults() limits {
	set := func(p *int, def int) {
		if *p == 0 {
			*p = def
		}
	}
	set(&l.depth, 64)
	set(&l.objects, 4<<20)
	set(&l.strings, 64<<20)
	set(&l.rank, 64)
	set(&l.files, 16384)
	return l
}
