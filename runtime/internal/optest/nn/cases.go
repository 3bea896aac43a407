// Package nn has the cases of the operators in runtime/internal/ops/nn.
package nn

import "github.com/nacre-ml/nacre/runtime/internal/optest/cases"

// Cases lists the functions that add the cases of the family.
func Cases() []func(*cases.Suite) {
	return []func(*cases.Suite){
		convCases,
		convFusedCases,
		foldCases,
		lossCases,
		normCases,
		poolCases,
		recurrentCases,
		skipNormCases,
	}
}
