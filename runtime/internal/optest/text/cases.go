// Package text has the cases of the operators in runtime/internal/ops/text.
package text

import "github.com/nacre-ml/nacre/runtime/internal/optest/cases"

// Cases lists the functions that add the cases of the family.
func Cases() []func(*cases.Suite) {
	return []func(*cases.Suite){
		repeatCases,
		textCases,
	}
}
