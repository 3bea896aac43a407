package cpu

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// kernelTypes lists the element types on which kernels compute.
func kernelTypes() []tensor.DType {
	return slices.DeleteFunc(tensor.DTypes(), func(d tensor.DType) bool { return d.Short() == "" })
}

// TestCastAgreesWithGo casts random and special elements between all types of kernels, by commands
// and in Go.
func TestCastAgreesWithGo(t *testing.T) {
	testenv.Need(t, bindings.Available())
	r := rand.New(rand.NewPCG(3, 1))
	for _, from := range kernelTypes() {
		for _, to := range kernelTypes() {
			t.Run(fmt.Sprintf("%v to %v", from, to), func(t *testing.T) {
				x := castInputs(t, r, from)
				node := &graph.Node{Op: "CastLike", Version: 15, Inputs: []string{"x", "like"}, Outputs: []string{"y"}}
				got, err := EvalVariable(standard.Registry(), node, bindings.DetectISA(), nil,
					[]*tensor.Tensor{x, tensor.New(to, 1)}, nil)
				if err != nil {
					t.Fatal(err)
				}
				want := tensor.New(to, x.Shape()...)
				if err := new(arith.Cast).Run(&op.Run{In: []*tensor.Tensor{x}, Out: []*tensor.Tensor{want}}); err != nil {
					t.Fatal(err)
				}
				size := to.Bits() / 8
				for i := range x.Len() {
					a, b := got[0].Bytes()[i*size:][:size], want.Bytes()[i*size:][:size]
					if !bytes.Equal(a, b) && !(isNaN(to, a) && isNaN(to, b)) {
						t.Fatalf("element %d, %x: %x by a command, %x in Go", i, x.Bytes()[i*from.Bits()/8:][:from.Bits()/8], a, b)
					}
				}
			})
		}
	}
}

// castInputs returns elements of random bits. Floats also include numbers of every magnitude and at
// the ends of the ranges of integers.
func castInputs(t *testing.T, r *rand.Rand, d tensor.DType) *tensor.Tensor {
	const n = 3001
	if !d.IsFloat() {
		x := tensor.New(d, n)
		for i := range x.Bytes() {
			x.Bytes()[i] = byte(r.Uint32())
			if d == tensor.Bool {
				x.Bytes()[i] &= 1
			}
		}
		return x
	}
	wide := tensor.New(tensor.F64, n)
	list := tensor.View[float64](wide)
	for i := range list {
		list[i] = math.Ldexp(r.NormFloat64(), r.IntN(160)-80)
	}
	copy(list, []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 0.5, -0.5, 127, 128, -128, -129, 255, 256, 65504, 65520,
		1<<31 - 1, 1 << 31, -1 << 31, 1 << 32, 1 << 63, -1 << 63, 1 << 64, 1 + 1./2048, 1 + 1./2048 + 1e-12})
	x := tensor.New(d, n)
	if err := new(arith.Cast).Run(&op.Run{In: []*tensor.Tensor{wide}, Out: []*tensor.Tensor{x}}); err != nil {
		t.Fatal(err)
	}
	return x
}

func isNaN(d tensor.DType, b []byte) bool {
	v := uint64(0)
	for i := range b {
		v |= uint64(b[i]) << (8 * i)
	}
	switch d {
	case tensor.F64:
		return math.IsNaN(math.Float64frombits(v))
	case tensor.F32:
		return math.IsNaN(float64(math.Float32frombits(uint32(v))))
	case tensor.F16:
		return v&0x7fff > 0x7c00
	case tensor.BF16:
		return v&0x7fff > 0x7f80
	}
	return false
}
