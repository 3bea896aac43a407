package vulkan

import (
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
)

// run is the most weights of a column that an invocation decodes at a time, in products of many rows.
const run = 16

// fewBits is a product of rows [m,k] and weights [n,k] of 16 bits or fewer.
type fewBits struct {
	m, n, k   int
	shader    string   // the first part of the names of its shaders
	variant   string   // for the elements of rows
	isWhole   bool     // runs are parts of blocks
	constants []uint32 // of the weights
	words     words
	operands  []device.Operand // without sums of parts and their counters
}

// fits reports whether the device binds the operands of a product of many rows.
func (b *binder) fits(p *fewBits) bool {
	return p.isWhole && len(p.operands)+2 <= b.dev.info.Caps.MaxBuffers
}

// byMatrices adds the dispatch of a product by cooperative matrices. It reports whether it did: not for
// few rows, and not on a device without such matrices. Float32 is multiplied as sums of two bfloat16,
// or as one if it may be rounded.
func (p *fewBits) byMatrices(b *binder, rounds bool) (bool, error) {
	elements, splits := p.variant, 1
	if strings.HasPrefix(elements, "f32") {
		elements = "bf16"
		if !rounds {
			splits = 2
		}
	}
	left, right := sideOf(pieceElements, p.m, p.k, p.k, 1), matrixSide{words: true}
	left.splits = splits
	if p.variant != "f32_bf16" { // such weights are one bfloat16
		right.splits = splits
	}
	size := tiled{p.m, p.n, p.k, 1, 4}
	t := b.dev.matrixTiling(p.shader+"_matrix", elements, size, mostShares, left, right)
	if t == nil || t.step%run != 0 || !b.fits(p) {
		return false, nil
	}
	grid := t.grid(p.m, p.n, t.parts)
	sums, counters := b.shares(t.parts, grid[0]*grid[1], 4*t.rows*t.cols)
	constants := slices.Concat(t.constants, wordConstants(left),
		[]uint32{uint32(t.parts), uint32(kit.Btoi(t.isWhole(size, left, right))), uint32(splits)}, p.constants)
	return true, b.dispatch(t.shader, p.variant, t.size, grid, constants, p.words, append(p.operands, sums, counters)...)
}

// byTiles adds the dispatch of a product by tiles in registers. It reports whether it did: not for rows
// that workgroups of include/units.glsl compute together.
func (p *fewBits) byTiles(b *binder) (bool, error) {
	tiles := slices.DeleteFunc(slices.Clone(productTiles), func(t tile) bool {
		return t.step%run != 0 || t.n*t.step/run > t.size()/t.slices // a slice has an invocation for each run
	})
	t, parts := b.dev.choose(tiles, tiled{p.m, p.n, p.k, 1, 4})
	if p.m <= unitRows || t == nil || !b.fits(p) {
		return false, nil
	}
	across, down := t.grid(p.m, p.n)
	sums, counters := b.shares(parts, across*down, 4*t.m*t.n)
	constants := t.constants(parts, 0)
	constants.bool(p.k%tileWord == 0)
	return true, b.dispatch(p.shader+"_tile", p.variant, t.size(), [3]int{across, down, parts}, append(constants, p.constants...),
		p.words, append(p.operands, sums, counters)...)
}
