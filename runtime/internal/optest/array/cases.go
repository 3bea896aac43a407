// Package array has the cases of the operators in runtime/internal/ops/array.
package array

import "github.com/nacre-ml/nacre/runtime/internal/optest/cases"

// Cases lists the functions that add the cases of the family.
func Cases() []func(*cases.Suite) {
	return []func(*cases.Suite){
		constantCases,
		cropCases,
		expandDimsCases,
		moveCases,
		pickCases,
		randomCases,
		rangeByOneCases,
		shapeCases,
	}
}
