package main

import (
	"context"
	"fmt"

	"github.com/nacre-ml/nacre/cmd/nacre/internal/compare"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// halves are tolerances for types of 16 bits. The default tolerances are for float32.
var halves = map[tensor.DType]compare.Tolerance{
	tensor.F16:  {Rel: 1e-2, Abs: 1e-3},
	tensor.BF16: {Rel: 5e-2, Abs: 1e-2},
}

// mismatch returns the reason why got does not match want within tol. If the tolerance for the type of
// want accepts got, the reason ends with its flags.
func mismatch(ctx context.Context, r compare.Result, got, want tensor.Value, tol compare.Tolerance) (string, error) {
	t, ok := want.(*tensor.Tensor)
	if !ok {
		return r.Reason, nil
	}
	wide, ok := halves[t.DType()]
	if !ok {
		return r.Reason, nil
	}
	wide.Rel, wide.Abs, wide.Threshold = max(wide.Rel, tol.Rel), max(wide.Abs, tol.Abs), tol.Threshold
	again, err := compare.Values(ctx, got, want, wide)
	if err != nil || !again.Match() {
		return r.Reason, err
	}
	return fmt.Sprintf("%s; %v: --rtol %g --atol %g accepts it", r.Reason, t.DType(), wide.Rel, wide.Abs), nil
}
