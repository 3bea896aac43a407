// Package moe has the cases of the operators in runtime/internal/ops/moe.
package moe

import "github.com/nacre-ml/nacre/runtime/internal/optest/cases"

// Cases lists the functions that add the cases of the family.
func Cases() []func(*cases.Suite) {
	return []func(*cases.Suite){expertCases}
}
