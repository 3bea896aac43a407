package optimize

import (
	"iter"
	"math"

	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// scaledRun is the number of weights that are scaled at a time. It bounds the
// memory of their copy in float64.
const scaledRun = 1 << 14

// largest is the largest number of each type of floats.
var largest = map[tensor.DType]float64{tensor.F32: math.MaxFloat32, tensor.F64: math.MaxFloat64, tensor.F16: 65504, tensor.BF16: 0x1.fep127}

// scaled returns the weights with each channel multiplied by its factor; ok is false if a
// product exceeds the element type.
func (l *linear) scaled() (t *tensor.Tensor, ok bool) {
	w, most := *l, largest[l.weights.DType()]
	for _, list := range w.products() {
		for _, v := range list {
			if !(math.Abs(v) <= most) {
				return nil, false
			}
		}
	}
	return tensor.Derive(w.weights.DType(), w.weights.Shape(), func(data []byte) {
		for at, list := range w.products() {
			op.PutDoubles(elements(w.weights, data, at, len(list)), list)
		}
	}), true
}

// products yields the weights times the factors of their channels, some at a time with the
// index of the first, in memory that the next ones take over.
func (l *linear) products() iter.Seq2[int, []float64] {
	return func(yield func(int, []float64) bool) {
		w := l.weights
		defer w.Forget()
		data, buffer := w.Bytes(), make([]float64, min(scaledRun, w.Len()))
		aligned := tensor.New(w.DType(), len(buffer))
		for at := 0; at < w.Len(); at += scaledRun {
			from := elements(w, data, at, min(scaledRun, w.Len()-at))
			to := elements(w, aligned.Bytes(), 0, from.Len())
			copy(to.Bytes(), from.Bytes())
			list := buffer[:from.Len()]
			op.GetDoubles(list, to)
			l.scale(list, at)
			if !yield(at, list) {
				return
			}
		}
	}
}

// elements returns n elements of the type of t, which are those of data from an index on.
func elements(t *tensor.Tensor, data []byte, at, n int) *tensor.Tensor {
	size := t.DType().Bytes(1)
	p, err := tensor.FromBytes(t.DType(), tensor.Shape{n}, data[at*size:][:n*size])
	if err != nil {
		panic(err) // the size is right
	}
	return p
}

// scale multiplies weights, from an index on, by the factors of their channels.
func (l *linear) scale(list []float64, at int) {
	for len(list) > 0 {
		by := l.mul[at/l.group*l.count:][at/l.step%l.count : l.count]
		n := 0
		if l.step == 1 {
			n = min(len(by), len(list))
			for i, v := range by[:n] {
				list[i] *= v
			}
		} else {
			n = min(l.step-at%l.step, len(list))
			for i := range list[:n] {
				list[i] *= by[0]
			}
		}
		list, at = list[n:], at+n
	}
}
