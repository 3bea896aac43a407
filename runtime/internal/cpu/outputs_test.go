package cpu

import (
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// floatKinds are the types computed in float32. relative is the error of rounding a result to one.
var floatKinds = []struct {
	t        tensor.DType
	relative float64
}{{tensor.F32, 0}, {tensor.F16, 1.0 / 1024}, {tensor.BF16, 1.0 / 128}}

// halfFor returns the kernel that converts elements of a type, the zero Kernel for float32.
func halfFor(t *testing.T, d tensor.DType) bindings.Kernel {
	if d == tensor.F32 {
		return bindings.Kernel{}
	}
	return partOf(t, "half", bindings.DetectISA())
}

// output is an operand that a command writes. It may share another operand's memory.
type output struct {
	at    int
	dtype tensor.DType
	n     int
	over  bool // the memory of operand 0
}

// runOutputs runs a command on one thread and on the pool and returns its results. Both must agree,
// and nothing around the results may be written.
func runOutputs(
	t *testing.T, k bindings.Kernel, w words, pool *bindings.Pool, outs []output, operands ...[]byte,
) []float64 {
	t.Helper()
	var results [2][]float64
	for i, p := range []*bindings.Pool{nil, pool} {
		list := slices.Clone(operands)
		var guards []func() bool
		for _, o := range outs {
			b, intact := guardedBytes(o.dtype.Bytes(o.n), o.dtype.Bytes(1))
			if o.over {
				copy(b, operands[0])
				list[0] = b
			}
			list[o.at] = b
			guards = append(guards, intact)
		}
		if f, failed := runCommand(t, k, w, p, list...); failed {
			t.Fatalf("%s/%s failed: %v", k.Op(), k.Variant(), failure(f))
		}
		for j, o := range outs {
			if !guards[j]() {
				t.Fatalf("%s/%s wrote around operand %d", k.Op(), k.Variant(), o.at)
			}
			results[i] = append(results[i], loaded(o.dtype, list[o.at])...)
		}
	}
	if at := differ(results[1], results[0], 0, 0); at >= 0 {
		t.Fatalf("%s/%s: element %d depends on the number of threads", k.Op(), k.Variant(), at)
	}
	return results[0]
}

// checkVariants compares every kernel of an op that fits to the scalar one, with results in their
// own memory and, if an output says so, in the input's.
func checkVariants(
	t *testing.T, op, what string, w words, pool *bindings.Pool, absolute, relative float64, outs []output,
	operands ...[]byte,
) {
	t.Helper()
	list := fitting(t, op, w)
	oracle := list[len(list)-1]
	if oracle.ISA() != 0 {
		t.Fatalf("%s has no scalar kernel", op)
	}
	fresh := slices.Clone(outs)
	for i := range fresh {
		fresh[i].over = false
	}
	want := runOutputs(t, oracle, w, pool, fresh, operands...)
	for _, k := range list {
		got := runOutputs(t, k, w, pool, fresh, operands...)
		if i := differ(got, want, absolute, relative); i >= 0 {
			t.Fatalf("%s/%s %s: element %d is %v, not %v", op, k.Variant(), what, i, got[i], want[i])
		}
		if !slices.ContainsFunc(outs, func(o output) bool { return o.over }) {
			continue
		}
		over := runOutputs(t, k, w, pool, outs, operands...)
		if i := differ(over, got, 0, 0); i >= 0 {
			t.Fatalf("%s/%s %s over its input: element %d is %v, not %v", op, k.Variant(), what, i, over[i], got[i])
		}
	}
}
