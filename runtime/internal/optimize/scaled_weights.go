package optimize

import (
	"encoding/binary"
	"iter"
	"math"
	"slices"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// scaledRun is the number of weights that are scaled at a time. It bounds the memory of the float64
// copy.
const scaledRun = 1 << 14

// scaled returns the weights with each channel multiplied by its factor. If a product exceeds the
// element type, ok is false.
func (l *linear) scaled() (t *tensor.Tensor, ok bool) {
	w := *l
	if _, most := elements.Bounds[float64](w.weights.DType()); !w.within(most) {
		return nil, false
	}
	if codes := w.scaledCodes(); codes != nil {
		return codes.Floats(), true
	}
	return tensor.Derive(w.weights.DType(), w.weights.Shape(), func(data []byte) {
		if w.weights.DType() == tensor.F32 {
			for at, run := range w.runs() {
				scaleBy(&w, floatsOf(run), at)
				copy(piece(w.weights, data, at, run.Len()).Bytes(), run.Bytes())
			}
			return
		}
		for at, list := range w.products() {
			kit.PutDoubles(piece(w.weights, data, at, len(list)), list)
		}
	}), true
}

// scaledCodes returns the codes of a convolution's weights with scales multiplied by the factors, or
// nil if the weights have no codes, or if some channels, but not all, share a scale.
func (l *linear) scaledCodes() *kit.Codes {
	c := kit.CodesOf(l.weights)
	if c == nil || l.node.Op != "Conv" {
		return nil
	}
	r, shape := *c, c.Scales.Shape()
	if shape.Len() == 1 {
		shape = tensor.Shape{len(l.mul)}
		if c.Zeros != nil {
			r.Zeros = repeated(c.Zeros, len(l.mul))
		}
		r.Stretches = kit.Stretches{Outer: 1, Axis: len(l.mul), Inner: l.step, Block: 1, PerAxis: 1}
	}
	channel := make([]int, shape.Len())
	for i := range channel {
		channel[i] = -1
	}
	one := true
	r.Each(func(at, n, scale, step int) {
		of := at / l.step
		for i := scale; i <= scale+(n-1)*step; i++ {
			one = one && (channel[i] < 0 || channel[i] == of)
			channel[i] = of
		}
		one = one && (at+n-1)/l.step == of
	})
	if !one {
		return nil
	}
	list, _ := c.Numbers()
	r.Scales = tensor.New(tensor.F32, shape...)
	for i := range channel {
		tensor.View[float32](r.Scales)[i] = float32(float64(list[min(i, len(list)-1)]) * l.mul[max(channel[i], 0)])
	}
	return &r
}

// repeated returns n times the only element of t.
func repeated(t *tensor.Tensor, n int) *tensor.Tensor {
	of, list := make([]float64, 1), make([]float64, n)
	kit.GetDoubles(of, t, 0)
	for i := range list {
		list[i] = of[0]
	}
	y := tensor.New(t.DType(), n)
	kit.PutDoubles(y, list)
	return y
}

// within reports whether no weight times its factor exceeds most. For float32 it first tries the
// largest weight times the largest factor.
func (l *linear) within(most float64) bool {
	if l.weights.DType() == tensor.F32 {
		factor := 0.0
		for _, v := range l.mul {
			factor = max(factor, math.Abs(v))
		}
		largest := math.Float32frombits(largestBits(l.weights.Bytes()))
		l.weights.Forget()
		if factor*float64(largest) <= most {
			return true
		}
	}
	for _, list := range l.products() {
		for _, v := range list {
			if !(math.Abs(v) <= most) {
				return false
			}
		}
	}
	return true
}

// largestBits returns the bits of the largest magnitude in the bytes of float32 numbers. The bits of
// a NaN exceed the bits of a number.
func largestBits(b []byte) uint32 {
	bits := func(b []byte) uint32 { return binary.NativeEndian.Uint32(b) & math.MaxInt32 }
	var largest [4]uint32 // of independent parts
	for ; len(b) >= 16; b = b[16:] {
		largest[0] = max(largest[0], bits(b[:4]))
		largest[1] = max(largest[1], bits(b[4:8]))
		largest[2] = max(largest[2], bits(b[8:12]))
		largest[3] = max(largest[3], bits(b[12:16]))
	}
	for ; len(b) > 0; b = b[4:] {
		largest[0] = max(largest[0], bits(b))
	}
	return slices.Max(largest[:])
}

// runs yields copies of some weights at a time, with the index of the first. The next run
// overwrites the copies.
func (l *linear) runs() iter.Seq2[int, *tensor.Tensor] {
	return func(yield func(int, *tensor.Tensor) bool) {
		w := l.weights
		defer w.Forget()
		data := w.Bytes()
		buffer := tensor.New(w.DType(), min(scaledRun, w.Len()))
		for at := 0; at < w.Len(); at += scaledRun {
			from := piece(w, data, at, min(scaledRun, w.Len()-at))
			run := piece(w, buffer.Bytes(), 0, from.Len())
			copy(run.Bytes(), from.Bytes())
			if !yield(at, run) {
				return
			}
		}
	}
}

// products yields the weights times the factors of their channels, as runs does.
func (l *linear) products() iter.Seq2[int, []float64] {
	return func(yield func(int, []float64) bool) {
		buffer := make([]float64, min(scaledRun, l.weights.Len()))
		for at, run := range l.runs() {
			list := buffer[:run.Len()]
			kit.GetDoubles(list, run, 0)
			scaleBy(l, list, at)
			if !yield(at, list) {
				return
			}
		}
	}
}

// floatsOf returns the elements of a run of F32.
func floatsOf(run *tensor.Tensor) []float32 {
	list, err := tensor.Data[float32](run)
	if err != nil {
		panic(err) // run is F32
	}
	return list
}

// piece returns elements at..at+n-1 of data as a tensor of the type of t. They share memory.
func piece(t *tensor.Tensor, data []byte, at, n int) *tensor.Tensor {
	size := t.DType().Bytes(1)
	p, err := tensor.FromBytes(t.DType(), tensor.Shape{n}, data[at*size:][:n*size])
	if err != nil {
		panic(err) // the size is right
	}
	return p
}

// scaleBy multiplies weights of l, from index at on, by the factors of their channels.
func scaleBy[T float32 | float64](l *linear, list []T, at int) {
	for len(list) > 0 {
		by := l.mul[at/l.group*l.count:][at/l.step%l.count : l.count]
		n := 0
		if l.step == 1 {
			n = min(len(by), len(list))
			for i, v := range by[:n] {
				list[i] = T(float64(list[i]) * v)
			}
		} else {
			n = min(l.step-at%l.step, len(list))
			for i, v := range list[:n] {
				list[i] = T(float64(v) * by[0])
			}
		}
		list, at = list[n:], at+n
	}
}
