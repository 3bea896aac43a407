package main

import (
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// compareAnswers compares the tensors of two sides. If they are drawn at random, it compares only
// types and shapes.
func compareAnswers(ours, theirs string, r *row) error {
	for number := 0; ; number++ {
		got, err := readTensor(fmt.Sprintf("%s_%d.pb", ours, number))
		if err != nil {
			return err
		}
		want, err := readTensor(fmt.Sprintf("%s_%d.pb", theirs, number))
		if err != nil {
			return err
		}
		if got == nil && want == nil && number > 0 {
			return nil
		}
		if got == nil || want == nil {
			return fmt.Errorf("one side gives %d tensors, the other more", number)
		}
		if err := sameTensor(got, want, r); err != nil {
			return fmt.Errorf("output %d: %w", number, err)
		}
	}
}

// readTensor reads a file; nil if there is none.
func readTensor(path string) (*tensor.Tensor, error) {
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	_, t, err := onnx.ReadTensor(data)
	return t, err
}

// Floats may be apart by floatShare of the largest, or by halfShare if they have 16 bits. Integers
// may be apart by one if at most apartShare of them are: values between two codes round either way.
const (
	floatShare = 1e-4
	halfShare  = 5e-3
	apartShare = 0.02
)

// sameTensor compares an answer with the peer's.
func sameTensor(got, want *tensor.Tensor, r *row) error {
	if got.DType() != want.DType() || !slices.Equal(got.Shape(), want.Shape()) {
		return fmt.Errorf("it is %v%v, want %v%v", got.DType(), got.Shape(), want.DType(), want.Shape())
	}
	if r.drawn {
		return nil
	}
	if got.DType() == tensor.String {
		if !slices.Equal(got.Strings(), want.Strings()) {
			return fmt.Errorf("strings differ")
		}
		return nil
	}
	a, b := tensor.Numbers(got), tensor.Numbers(want)
	largest, far, differ := 0.0, 0.0, 0
	for i := range got.Shape().Len() {
		g, w := a(i), b(i)
		if g == w || math.IsNaN(g) && math.IsNaN(w) {
			continue
		}
		d := math.Abs(g - w)
		if math.IsNaN(d) {
			return fmt.Errorf("element %d is %g, want %g", i, g, w)
		}
		differ++
		far = max(far, d)
	}
	for i := range want.Shape().Len() {
		if v := math.Abs(b(i)); !math.IsInf(v, 0) {
			largest = max(largest, v)
		}
	}
	share := r.share
	switch {
	case share > 0:
	case want.DType().Bits() < 32:
		share = halfShare
	default:
		share = floatShare
	}
	switch {
	case want.DType().IsFloat() && far > share*largest:
		return fmt.Errorf("numbers differ by %.3g, of at most %.3g", far, largest)
	case !want.DType().IsFloat() && (far > 1 || float64(differ) > apartShare*float64(want.Shape().Len())):
		return fmt.Errorf("%d integers differ, by up to %g", differ, far)
	}
	return nil
}
