package vulkan

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/shaders"
)

// tiling describes how a shader computes products by tiles, one per workgroup.
type tiling struct {
	shader           string
	size             int // invocations of a workgroup
	rows, cols, step int // of a tile
	parts            int // workgroups that share the terms of a tile
	constants        []uint32
}

// grid returns the grid of tiles for z results [m,n].
func (t *tiling) grid(m, n, z int) [3]int {
	return [3]int{(n + t.cols - 1) / t.cols, (m + t.rows - 1) / t.rows, z}
}

// tileWord is the number of elements that tiles move at a time.
const tileWord = 4

// tile is the work of a workgroup that keeps sums in registers: the rows and columns of the tile, the
// terms of a step, and the rows and columns of an invocation. Slices are sets of invocations that
// take turns along the terms, and stages the steps of operands in shared memory. Alone and each are
// microseconds of a step on an NVIDIA H200, some of them estimates: of a workgroup by itself, and of
// one beside others.
type tile struct {
	m, n, step, rows, cols, slices, stages int
	alone, each                            float64
}

// productTiles are the tiles of matmul/gemm, and convTiles of conv/gemm. The last two of each fit
// devices with 16 KiB of shared memory and workgroups of 128 invocations.
var (
	productTiles = []tile{
		{128, 128, 16, 8, 8, 1, 2, 1.75, 1.63},
		{128, 128, 8, 8, 8, 1, 2, 0.95, 0.85},
		{64, 64, 16, 4, 4, 1, 2, 0.75, 0.55},
		{64, 64, 16, 8, 4, 2, 2, 0.9, 0.87},
		{32, 32, 16, 4, 4, 4, 1, 0.7, 0.67},
		{64, 64, 8, 8, 4, 1, 2, 0.6, 0.5},
		{32, 32, 16, 4, 4, 1, 2, 0.7, 0.2},
	}
	convTiles = []tile{
		{128, 128, 16, 8, 8, 1, 2, 2, 1.9},
		{128, 128, 8, 8, 8, 1, 2, 1.1, 1},
		{64, 64, 16, 4, 4, 1, 2, 0.8, 0.65},
		{32, 32, 16, 4, 4, 4, 2, 0.92, 0.9},
		{64, 64, 8, 8, 4, 1, 2, 0.65, 0.6},
		{32, 32, 16, 4, 4, 1, 2, 0.8, 0.25},
	}
)

// size returns the invocations of a workgroup.
func (t *tile) size() int { return t.m / t.rows * (t.n / t.cols) * t.slices }

// shared returns the bytes of shared memory that a workgroup takes for sums of the given bytes.
func (t *tile) shared(bytes int) int {
	const apart = 4
	operands := t.stages * t.slices * t.step * (t.m + t.n + 2*apart)
	handed := t.slices / 2 * t.m * t.n
	return max(operands, handed)*bytes + 16
}

// grid returns the tiles along the columns and the rows of a result [m,n].
func (t *tile) grid(m, n int) (across, down int) { return (n + t.n - 1) / t.n, (m + t.m - 1) / t.m }

// constants returns the constants of include/tile.glsl.
func (t *tile) constants(parts int, function uint32) (list words) {
	list.int(t.m, t.n, t.step, t.rows, t.cols, t.slices, t.stages, parts)
	return append(list, function)
}

// tiled is z products [m,n] of k terms, with sums of some bytes.
type tiled struct{ m, n, k, z, bytes int }

// choose returns the tile of the list that computes products in the least time, and the number of
// workgroups that share the terms of one. It returns nil if none fits the device.
func (d *Device) choose(list []tile, p tiled) (best *tile, parts int) {
	c, least := &d.info.Caps, math.Inf(1)
	for i := range list {
		t := &list[i]
		if t.size() > min(c.MaxInvocations, c.MaxGroupSize[0]) || t.shared(p.bytes) > c.MaxShared {
			continue
		}
		if cost, n := d.cost(p, t.m, t.n, t.step*t.slices, mostShares, t.alone, t.each); cost < least {
			least, best, parts = cost, t, n
		}
	}
	return best, parts
}

// mostShares is the most workgroups that share the terms of a tile.
const mostShares = 32

// cost returns the least microseconds that products take by tiles [m,n] and steps of some terms, and
// the number of workgroups, at most the given one, that then share the terms of a tile. Products
// with too many tiles for a grid cost infinity.
func (d *Device) cost(p tiled, m, n, terms, most int, alone, each float64) (least float64, parts int) {
	const launch, join, joined = 5, 3, 60e3 // microseconds, and bytes per microsecond that one workgroup joins
	c, units := &d.info.Caps, d.units()
	least = math.Inf(1)
	across, down := (p.n+n-1)/n, (p.m+m-1)/m
	if across > c.MaxGroups[0] || down > c.MaxGroups[1] {
		return least, 0
	}
	tiles, all := across*down*p.z, (p.k+terms-1)/terms
	for _, share := range []int{1, 2, 3, 4, 6, 8, 12, 16, 24, mostShares} {
		steps := (all + share - 1) / share
		shares := units > 1 && steps > 1 && tiles*share <= 8*units && share*tiles*m*n*p.bytes <= c.MaxRange
		if share > most || share > 1 && !shares || share*p.z > c.MaxGroups[2] {
			break
		}
		if share > 1 && (share-1)*steps >= all {
			continue // the last has nothing to do
		}
		waves := (tiles*share + units - 1) / units
		cost := launch + float64(steps)*max(alone, each*float64(waves))
		if share > 1 {
			cost += join + float64(share*m*n*p.bytes)/joined
		}
		if cost < least {
			least, parts = cost, share
		}
	}
	return least, parts
}

// deviceUnits estimates the workgroups that a device computes beside each other, by its type.
var deviceUnits = map[string]int{"cpu": 1, "integrated": 16, "discrete": 64, "virtual": 64}

// units returns the workgroups that the device computes beside each other, an estimate.
func (d *Device) units() int { return max(deviceUnits[d.info.Type], 1) }

// tileVariant returns the variant of a shader with tiles that applies a function to results.
func tileVariant(variant string, function uint32) string {
	for _, name := range []string{"relu", "clip"} {
		if n, _ := shaders.Number("unary", name); n == function {
			return variant
		}
	}
	if function == 0 {
		return variant
	}
	return variant + shaders.AnyFunction
}

// shares returns scratch for the sums of parts, some bytes of each part of a tile, and counters of the
// parts that are done. A workgroup that adds the parts sets its counter to 0 again.
func (b *binder) shares(parts, tiles, bytes int) (sums, counters device.Operand) {
	if parts == 1 {
		return device.Operand{}, device.Operand{}
	}
	return b.temp(tiles * parts * bytes), constant(make([]uint32, tiles)...)
}

// byTiles adds the dispatch of z products by tiles in registers.
func (b *binder) byTiles(
	x *multiplying, z int, variant string, function uint32, w words, left, right matrixSide,
) error {
	p := tiled{x.m, x.n, x.k, z, max(4, x.dtype.Bits()/8)}
	t, parts := b.dev.choose(productTiles, p)
	if t == nil {
		return device.Refuse("no tile of a product [%d,%d] fits the device", x.m, x.n)
	}
	across, down := t.grid(x.m, x.n)
	sums, counters := b.shares(parts, across*down*z, t.m*t.n*p.bytes)
	constants := t.constants(parts, function)
	constants.bool(left.down, right.down, left.words, right.words, x.n%tileWord == 0)
	groups := [3]int{across, down, z * parts}
	return b.dispatch("matmul/gemm", tileVariant(variant, function), t.size(), groups, constants, w, x.left, x.right,
		x.c.operand, x.out, sums, counters)
}
