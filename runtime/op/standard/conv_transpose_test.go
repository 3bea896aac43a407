package standard_test

import (
	"testing"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestConvTransposeOddPadding checks the larger half of an odd padding in every version: at the end
// with SAME_UPPER, otherwise at the beginning.
func TestConvTransposeOddPadding(t *testing.T) {
	x, w := from([]float32{1}, 1, 1, 1), from([]float32{1, 2}, 1, 1, 2)
	one := tensor.Shape{1, 1, 1}
	for _, version := range []int{1, 11, 22} {
		runEvalCases(t, []evalCase{
			{"upper", "ConvTranspose", version, attrs("auto_pad", "SAME_UPPER"), in(x, w), one, []float64{1}},
			{"lower", "ConvTranspose", version, attrs("auto_pad", "SAME_LOWER"), in(x, w), one, []float64{2}},
			{"shape", "ConvTranspose", version, attrs("output_shape", []int64{1}), in(x, w), one, []float64{2}},
		})
	}
}
