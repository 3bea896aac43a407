package loom

import (
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// window is the geometry of a convolution.
type window struct {
	in, out                 []int // extents of the axes
	kernel, stride, padding int
}

// window returns the geometry of a convolution, with axes in the order of its input.
func (l *Layer) window() window {
	g := window{kernel: l.KernelSize, stride: l.Stride, padding: l.Padding}
	switch l.Type {
	case CNN1:
		g.in, g.out = []int{l.InputHeight}, []int{l.OutputHeight}
	case ConvTransposed1D:
		g.in, g.out = []int{l.InputWidth}, []int{l.OutputWidth}
	case CNN2, ConvTransposed2D:
		g.in, g.out = []int{l.InputHeight, l.InputWidth}, []int{l.OutputHeight, l.OutputWidth}
	case CNN3, ConvTransposed3D:
		g.in, g.out = []int{l.InputDepth, l.InputHeight, l.InputWidth}, []int{l.OutputDepth, l.OutputHeight, l.OutputWidth}
	}
	return g
}

// largest bounds extents of convolutions, so that sums of a few products of two extents fit an int.
const largest = 1 << 28

func (g window) check() error {
	for _, n := range append(slices.Concat(g.in, g.out), g.kernel, g.stride, g.padding) {
		if n < 0 || n > largest {
			return fmt.Errorf("an extent, kernel, stride or padding of %d cannot be", n)
		}
	}
	if slices.Contains(g.in, 0) || slices.Contains(g.out, 0) {
		return errShape
	}
	return nil
}

// cells returns the input reshaped to [batch, channels, extents].
func (w *lowerer) cells(l *Layer, g window, x flow) (string, error) {
	want := append([]int{-1, l.InputChannels}, g.in...)
	if slices.Equal(x.dims, want) {
		return x.name, nil
	}
	n, err := product(want[1:]...)
	if err != nil {
		return "", err
	}
	rows, err := w.rows(x, n)
	if err != nil {
		return "", err
	}
	return w.reshape(rows.name, ints(tensor.Shape(want))...), nil
}

// kernel returns the geometry of a convolution and its weights.
func (w *lowerer) kernel(l *Layer, path string) (window, string, error) {
	g := l.window()
	if err := g.check(); err != nil {
		return g, "", err
	}
	weights, err := w.store(l, path)
	return g, weights, err
}

// conv computes a convolution and its activation. The output has the extents in the configuration.
func (w *lowerer) conv(l *Layer, path string, x flow) (flow, error) {
	g, kernel, err := w.kernel(l, path)
	if err != nil {
		return x, err
	}
	in, err := w.cells(l, g, x)
	if err != nil {
		return x, err
	}
	y := flow{"", append([]int{-1, l.Filters}, g.out...)}
	if g.kernel == 0 { // an empty sum
		y.name = w.activate(l.Activation, w.zeros(w.concat(0, w.batch(x), w.b.Ints(ints(tensor.Shape(y.dims[1:]))...))))
		return y, nil
	}
	y.name = w.activate(l.Activation, w.convolve(in, kernel, g))
	return y, nil
}

// convolve pads or crops the input at its ends so that the output has the configured extents. If
// the stride is 0, one output fills all of an axis.
func (w *lowerer) convolve(in, kernel string, g window) string {
	axes := len(g.in)
	pads, crop := make([]int64, 2*axes), make([]int64, axes)
	cropped := false
	stride := max(g.stride, 1)
	for i := range axes {
		out := g.out[i]
		if g.stride == 0 {
			out = 1
		}
		end := (out-1)*stride + g.kernel - g.padding - g.in[i]
		pads[i], pads[axes+i], crop[i] = int64(g.padding), int64(max(end, 0)), int64(out)
		cropped = cropped || end < 0 && (g.in[i]+g.padding-g.kernel)/stride+1 > out
	}
	strides := slices.Repeat([]int64{int64(stride)}, axes)
	y := w.b.Op("Conv", []string{in, kernel}, graph.IntsAttr("pads", pads...), graph.IntsAttr("strides", strides...))
	if cropped {
		y = w.crop(y, make([]int64, axes), crop)
	}
	if g.stride == 0 {
		ones := slices.Repeat([]int64{1}, 2)
		y = w.op("Expand", y, w.b.Ints(append(ones, ints(tensor.Shape(g.out))...)...))
	}
	return y
}

// crop returns the elements from one index to another on the axes after the first two.
func (w *lowerer) crop(x string, from, to []int64) string {
	axes := make([]int64, len(from))
	for i := range axes {
		axes[i] = int64(i + 2)
	}
	return w.op("Slice", x, w.b.Ints(from...), w.b.Ints(to...), w.b.Ints(axes...))
}

// convTransposed scatters every input over a window of the output. The output has the extents in
// the configuration.
func (w *lowerer) convTransposed(l *Layer, path string, x flow) (flow, error) {
	g, kernel, err := w.kernel(l, path)
	if err != nil {
		return x, err
	}
	y := flow{"", append([]int{-1, l.Filters}, g.out...)}
	full := w.concat(0, w.batch(x), w.b.Ints(ints(tensor.Shape(y.dims[1:]))...))
	if d := w.dtype(l); w.quirks && d != Float32 && d != Float64 {
		y.name = w.zeros(full) // as in Loom, without the activation
		return y, nil
	}
	if g.kernel == 0 {
		y.name = w.activate(l.Activation, w.zeros(full))
		return y, nil
	}
	in, err := w.cells(l, g, x)
	if err != nil {
		return x, err
	}
	axes := len(g.in)
	if g.stride == 0 { // all inputs share one window
		list := make([]int64, axes)
		for i := range list {
			list[i] = int64(i + 2)
			g.in[i] = 1
		}
		in = w.op("ReduceSum", in, w.b.Ints(list...))
	}
	swapped := []int64{1, 0, 2, 3, 4}[:axes+2]
	y.name = w.activate(l.Activation, w.scatter(in, w.transpose(kernel, swapped...), g))
	return y, nil
}

// scatter is the transposed convolution with a kernel [channels, filters, ...]. The result is cut,
// or zeros are added, at the ends of the output.
func (w *lowerer) scatter(in, kernel string, g window) string {
	axes := len(g.in)
	stride := max(g.stride, 1)
	from, to := make([]int64, axes), make([]int64, axes)
	pads, rest := make([]int64, 2*axes), make([]int64, 2*(axes+2))
	strides := slices.Repeat([]int64{int64(stride)}, axes)
	plain := true
	for i := range axes {
		full := stride*(g.in[i]-1) + g.kernel
		end := min(g.padding+g.out[i], full)
		from[i], to[i] = int64(min(g.padding, full)), int64(end)
		pads[i], pads[axes+i] = int64(g.padding), int64(full-end)
		rest[axes+4+i] = int64(g.out[i] - (end - min(g.padding, full)))
		plain = plain && end == g.padding+g.out[i]
	}
	if plain {
		return w.b.Op("ConvTranspose", []string{in, kernel}, graph.IntsAttr("pads", pads...), graph.IntsAttr("strides", strides...))
	}
	y := w.crop(w.b.Op("ConvTranspose", []string{in, kernel}, graph.IntsAttr("strides", strides...)), from, to)
	return w.op("Pad", y, w.b.Ints(rest...))
}

// dtype returns the dtype of a layer's store. It may differ from the layer's.
func (w *lowerer) dtype(l *Layer) DType {
	if l.Weights != nil {
		return l.Weights.DType
	}
	return l.DType
}
