package side

import (
	"fmt"

	"github.com/nacre-ml/nacre"
)

// Ramps returns the inputs that peers/onnxruntime.py makes. Sizes are for open extents.
func Ramps(s *nacre.Session, sizes map[string]int) (map[string]*nacre.Tensor, error) {
	inputs, err := s.ZeroInputs(sizes)
	if err != nil {
		return nil, err
	}
	const period = 97
	for name, t := range inputs {
		switch t.DType() {
		case nacre.Int64:
			err = fill(t, func(i int) int64 { return int64(i % period) })
		case nacre.Uint8:
			err = fill(t, func(i int) uint8 { return uint8(i % period) })
		case nacre.Float32:
			err = fill(t, func(i int) float32 { return float32(i%period) / period })
		case nacre.Float64:
			err = fill(t, func(i int) float64 { return float64(i%period) / period })
		default:
			err = fmt.Errorf("input %s has elements of type %v, which are not made here", name, t.DType())
		}
		if err != nil {
			return nil, err
		}
	}
	return inputs, nil
}

func fill[T uint8 | int64 | float32 | float64](t *nacre.Tensor, value func(i int) T) error {
	list, err := nacre.Data[T](t)
	for i := range list {
		list[i] = value(i)
	}
	return err
}
