// Package ml has the cases of the operators in runtime/internal/ops/ml.
package ml

import "github.com/nacre-ml/nacre/runtime/internal/optest/cases"

// Cases lists the functions that add the cases of the family.
func Cases() []func(*cases.Suite) {
	return []func(*cases.Suite){
		distanceCases,
		mlCases,
	}
}
