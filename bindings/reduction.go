package bindings

// Reduction is what ReduceF32 does with the elements, in the order of
// nacre_reduce_op in csrc/reduce/reduce.h.
type Reduction int

// The reductions.
const (
	ReduceSum Reduction = iota
	ReduceSumSquare
	ReduceSumAbs
	ReduceProd
	ReduceMax // NaN if there is one
	ReduceMin // NaN if there is one
)
