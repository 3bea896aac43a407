package vulkan

import (
	"slices"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Tiles of include/winograd.glsl: the side in pixels, and the points of a tile. Products of the points
// of fewer than leastTiles tiles take longer than estimated.
const (
	winogradTile   = 4
	winogradPoints = (winogradTile + 2) * (winogradTile + 2)
	leastTiles     = 16
)

// transformTime is the microseconds of a transform without elements, and transformBytes the bytes that
// one multiprocessor reads and writes per microsecond: estimates for an NVIDIA H200, as times of tiles.
var (
	transformTime  = 7.0
	transformBytes = 32e3
)

// winogradTime returns the microseconds of a convolution of m filters over c channels as products of
// points: of n tiles to and from pixels of some bytes, and of filters unless they are constant.
func (d *Device) winogradTime(m, c, n, bytes int, constant bool) float64 {
	_, _, time := d.fastest(productTiles, tiled{m, n, c, winogradPoints, tensor.F32.Bytes(1)})
	moved := tensor.F32.Bytes(winogradPoints*(m+c)*n) + bytes*winogradTile*winogradTile*(m+c)*n
	transforms := 2
	if !constant {
		moved, transforms = moved+tensor.F32.Bytes((winogradPoints+9)*m*c), 3
	}
	return time + float64(transforms)*transformTime + float64(moved)/(transformBytes*float64(d.units()))
}

// bindWinograd binds convolutions by 3x3 filters as products of points of tiles, one matrix per
// point.
func bindWinograd(o *nn.Conv, epilogue kit.Epilogue, b *binder) error {
	s, err := b.convolution(o, epilogue)
	if err != nil {
		return err
	}
	one := []int{1, 1}
	switch {
	case b.directConv:
		return device.Refuse("convolutions are computed without transforms")
	case b.dev.matrices[s.variant] != vk.Matrix{}:
		return device.Refuse("cooperative matrices compute all products of %v elements in less time", b.DType(0))
	case s.Groups != 1 || !slices.Equal(s.Kernel, []int{3, 3}) || !slices.Equal(s.Stride, one) ||
		!slices.Equal(s.Dilation, one):
		return device.Refuse("the filters are not 3x3 elements side by side of all channels")
	case s.Filters < fewFilters:
		return device.Refuse("%d filters are few", s.Filters)
	}
	down, across := (s.Out[0]+winogradTile-1)/winogradTile, (s.Out[1]+winogradTile-1)/winogradTile
	tiles := s.Images * down * across
	if tiles < leastTiles {
		return device.Refuse("there are %d tiles", tiles)
	}
	_, _, direct := b.dev.fastest(convTiles, s.tiled())
	if time := b.dev.winogradTime(s.Filters, s.Channels, tiles, b.DType(0).Bytes(1), b.Const(1) != nil); !(time < direct) {
		return device.Refuse("products without transforms take %.0f us, and transforms and their products %.0f, by estimate",
			direct, time)
	}
	points := func(n int) device.Operand { return b.temp(tensor.F32.Bytes(winogradPoints * n)) }
	pixels, results := points(s.Channels*tiles), points(s.Filters*tiles)
	filters, err := b.filterPoints(s.variant, s.Filters*s.Channels)
	if err != nil {
		return err
	}
	var w words
	w.int(s.Channels*tiles, s.Channels, s.In[0], s.In[1], s.Pad[0], s.Pad[1], down, across, tiles)
	if err := b.flat("conv/points", s.variant, s.Channels*tiles, nil, w, b.in(0), pixels); err != nil {
		return err
	}
	p := &product{m: s.Filters, n: tiles, k: s.Channels, aRow: s.Channels, aCol: 1, bRow: tiles, bCol: 1,
		batch: []batchAxis{{winogradPoints, s.Filters * s.Channels, s.Channels * tiles}}}
	if err := b.products(&multiplying{product: p, dtype: tensor.F32, left: filters, right: pixels, out: results,
		alpha: 1}); err != nil {
		return err
	}
	w = words{}
	w.int(s.Filters*tiles, s.Filters, s.Out[0], s.Out[1], down, across, tiles, kit.Btoi(b.Has(2))|kit.Btoi(b.Has(3))<<1)
	w = append(w, s.function)
	w.float(epilogue.P, epilogue.Q)
	return b.flat("conv/pixels", s.variant, s.Filters*tiles, nil, w, results, b.in(2), b.in(3), b.out(0))
}

// filterPoints returns the points of n filters, each of a channel. Constant filters are transformed
// once for all plans of the model.
func (b *binder) filterPoints(variant string, n int) (device.Operand, error) {
	bytes, w := tensor.F32.Bytes(winogradPoints*n), words{uint32(n)}
	if c := b.Const(1); c != nil {
		return b.prepared(c.Bytes(), bytes, "conv/points_filter", variant, n, nil, w)
	}
	points := b.temp(bytes)
	return points, b.flat("conv/points_filter", variant, n, nil, w, b.in(1), points)
}
