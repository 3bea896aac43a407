// Package openinfer has the cases of the operators in runtime/internal/ops/openinfer.
package openinfer

import (
	"maps"
	"slices"

	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// domain is the domain of the operators.
const domain = "openinfer"

// Cases lists the functions that add the cases of the family.
func Cases() []func(*cases.Suite) {
	return []func(*cases.Suite){pairCases, loneCases, scalarCases, reduceCases, argCases, matmulCases, castCases,
		refusedCases}
}

// The element types of the operators.
var (
	packedSigned   = []tensor.DType{tensor.I1, tensor.I2, tensor.I4}
	packedUnsigned = []tensor.DType{tensor.U1, tensor.U2, tensor.U4}
	floats         = slices.Concat(cases.Floats, []tensor.DType{tensor.F8E5M2})
	signed         = slices.Concat(cases.Signed, packedSigned)
	unsigned       = slices.Concat(cases.Unsigned, packedUnsigned)
	integers       = slices.Concat(signed, unsigned)
	numbers        = slices.Concat(floats, integers)
	all            = slices.Concat(numbers, []tensor.DType{tensor.Bool})
)

// names returns the keys in order, so that the cases are the same every time.
func names[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
