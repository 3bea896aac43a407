// Package arith has the cases of the operators in runtime/internal/ops/arith.
package arith

import "github.com/nacre-ml/nacre/runtime/internal/optest/cases"

// Cases lists the functions that add the cases of the family.
func Cases() []func(*cases.Suite) {
	return []func(*cases.Suite){
		castCases,
		einsumCases,
		eltwiseCases,
		fusedCases,
		inverseCases,
		widenedCases,
		logicCases,
		matmulCases,
		reduceCases,
		sortCases,
		sumLikeCases,
		snakeCases,
		uniqueMicrosoftCases,
	}
}
