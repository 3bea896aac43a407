package lower

import (
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/vision"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// ResizeTables returns the tables of the resampled axes of input 0. Other inputs that they depend on
// must be constant. Resize.Tables says what take is.
func ResizeTables(o *vision.Resize, f *device.Binding, take func(bytes int) error) ([]*vision.Resample, error) {
	list := make([]*tensor.Tensor, len(f.In))
	for i := 1; i < len(list); i++ {
		if !f.Has(i) || !o.Reads(i) || f.Shape(i).Len() == 0 {
			continue
		}
		if list[i] = f.Const(i); list[i] == nil {
			return nil, &device.NeedValue{Input: i}
		}
	}
	return o.Tables(list, f.Shape(0), take)
}
