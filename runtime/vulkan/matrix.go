package vulkan

import (
	"maps"
	"math"
	"slices"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/shaders"
)

// matrixTile is the work of a workgroup on cooperative matrices: its subgroups, the matrices of a
// subgroup, and the matrices along k that are in shared memory at a time, of codes and of floats.
// Alone and each are microseconds of 64 bytes along k on an NVIDIA H200, some of them estimates: of a
// workgroup by itself, and of one beside others.
type matrixTile struct {
	down, across, rows, cols int
	codes, floats            int
	alone, each              float64
}

// matrixTiles are the tiles. The last two fit devices with 16 KiB of shared memory.
var matrixTiles = []matrixTile{
	{2, 2, 4, 4, 4, 2, 0.55, 0.48},
	{2, 2, 2, 2, 4, 4, 0.26, 0.2},
	{2, 2, 1, 1, 8, 8, 0.1, 0.09},
	{2, 2, 2, 2, 2, 2, 0.45, 0.3},
	{2, 2, 1, 1, 2, 2, 0.3, 0.15},
}

// matrixElement is an element type of operands: its bytes, and the type of sums.
type matrixElement struct {
	bytes int
	sums  string
}

var matrixElements = map[string]matrixElement{"f16": {2, "f32"}, "bf16": {2, "f32"}, "i8": {1, "i32"}}

// Shaders read words of some bytes at a time, and keep pieces of some elements in shared memory.
// Extents of matrices are multiples of a piece.
const (
	wordBytes     = 16
	pieceElements = 8
)

// matrices returns, by element type of operands, the largest products of matrices that shaders of a
// device may use.
func matrices(c *vk.Caps, f shaders.Feature) map[string]vk.Matrix {
	best := map[string]vk.Matrix{}
	if f&shaders.CoopMatrix == 0 {
		return best
	}
	for _, m := range c.Matrices {
		old := best[m.Operands]
		whole := m.M%pieceElements == 0 && m.N%pieceElements == 0 && m.K%pieceElements == 0
		if whole && matrixElements[m.Operands].sums == m.Sums && m.M*m.N*m.K > old.M*old.N*old.K {
			best[m.Operands] = m
		}
	}
	return best
}

// Matrices lists the products of cooperative matrices that shaders use on a device, such as f16
// 16x16x16.
func Matrices(i *vk.Info) (list []string) {
	all := matrices(&i.Caps, Features(i))
	for _, elements := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[elements].String())
	}
	return list
}

// matrixSide is an operand of products by matrices.
type matrixSide struct {
	down  bool // neighbours in memory are along rows or columns, not along k
	words bool // read by whole words

	splits int // numbers that an element is the sum of, 1 or 2; 0 means 1
}

// numbers returns the numbers that an element is the sum of.
func (s matrixSide) numbers() int { return max(s.splits, 1) }

// sideOf describes an operand of n rows or columns of k elements, with strides step and kStep. Begins
// are its offsets and the strides of its batch. A word is the given number of elements.
func sideOf(word, n, k, step, kStep int, begins ...int) matrixSide {
	s := matrixSide{down: step == 1 && kStep != 1}
	neighbours, next, line := k, kStep, step
	if s.down {
		neighbours, next, line = n, step, kStep
	}
	s.words = next == 1
	for _, x := range append(begins, neighbours, line) {
		s.words = s.words && x%word == 0
	}
	return s
}

// wordConstants returns, for each operand, 1 if it is read by words.
func wordConstants(sides ...matrixSide) (list []uint32) {
	for _, s := range sides {
		list = append(list, uint32(kit.Btoi(s.words)))
	}
	return list
}

// matrixTiling returns the tiles by which cooperative matrices compute products in the least time, and
// the number of workgroups that share the terms of one, most at most. It is nil if the device has no
// such matrices, no tile fits, or there are few rows or columns.
func (d *Device) matrixTiling(shader, elements string, p tiled, most int, left, right matrixSide) *tiling {
	x, ok := d.matrices[elements]
	if !ok || min(p.m, p.n) <= fewRows {
		return nil
	}
	var best *tiling
	least := math.Inf(1)
	for _, t := range matrixTiles {
		deep := t.deep(elements)
		rows, cols, step := x.M*t.rows*t.down, x.N*t.cols*t.across, x.K*deep
		if !d.holds(x, t, left, right) {
			continue
		}
		products := left.numbers() + right.numbers() - 1 // without the one of lower numbers, if both have them
		by := float64(step*matrixElements[elements].bytes*products) / 64
		cost, parts := d.cost(p, rows, cols, step, most, by*t.alone, by*t.each)
		if cost >= least {
			continue
		}
		subgroup := d.info.Caps.SubgroupSize
		least = cost
		best = &tiling{shader: shader, size: t.down * t.across * subgroup, rows: rows, cols: cols, step: step, parts: parts}
		for _, c := range []int{x.M, x.N, x.K, subgroup, t.down, t.across, t.rows, t.cols, deep, kit.Btoi(left.down),
			kit.Btoi(right.down)} {
			best.constants = append(best.constants, uint32(c))
		}
	}
	return best
}

// deep returns the matrices of a type of elements along k.
func (t *matrixTile) deep(elements string) int {
	if matrixElements[elements].bytes == 1 {
		return t.codes
	}
	return t.floats
}

// isWhole reports whether tiles and steps have no elements outside operands that are read by words.
func (t *tiling) isWhole(p tiled, left, right matrixSide) bool {
	return left.words && right.words && p.k > 0 && p.m%t.rows == 0 && p.n%t.cols == 0 && p.k%t.step == 0
}

// holds reports whether a workgroup of the device has the invocations and the memory for a tile, whose
// lines are whole words.
func (d *Device) holds(x vk.Matrix, t matrixTile, left, right matrixSide) bool {
	c := &d.info.Caps
	subgroups := t.down * t.across
	if subgroups > c.Subgroups || subgroups*c.SubgroupSize > min(c.MaxInvocations, c.MaxGroupSize[0]) {
		return false
	}
	m, n, k := x.M*t.rows*t.down, x.N*t.cols*t.across, x.K*t.deep(x.Operands)
	element := matrixElements[x.Operands]
	for _, extent := range []int{m, n, k} {
		if extent*element.bytes%wordBytes != 0 {
			return false
		}
	}
	bytes := 4*subgroups*x.M*x.N + element.staged(m, k, left) + element.staged(n, k, right) + 4
	return bytes <= c.MaxShared
}

// staged returns the bytes of shared memory of a tile of n rows or columns of k elements.
func (e matrixElement) staged(n, k int, s matrixSide) int {
	const apart = 16
	if s.down {
		n, k = k, n
	}
	return n * (k*e.bytes + apart) * s.numbers()
}

// byMatrices adds the dispatch of z products by cooperative matrices.
func (b *binder) byMatrices(
	x *multiplying, t *tiling, z int, variant string, function uint32, w words, left, right matrixSide,
) error {
	p := tiled{x.m, x.n, x.k, z, 4}
	grid, whole := t.grid(x.m, x.n, z), t.isWhole(p, left, right)
	constants := slices.Concat(t.constants, wordConstants(left, right), []uint32{uint32(t.parts), uint32(kit.Btoi(whole))})
	if whole && t.parts == 1 && function == 0 && x.c.operand.Place == device.None && b.dev.sumsIn(variant) {
		variant += "_straight"
	}
	sums, counters := b.shares(t.parts, product3(grid[:]), 4*t.rows*t.cols)
	grid[2] *= t.parts
	return b.dispatch(t.shader, variant, t.size, grid, constants, w, x.left, x.right, x.c.operand, x.out, sums, counters)
}

// sumsIn reports whether shaders may convert the sums of products of elements to matrices of the same
// elements. They do so for float16.
func (d *Device) sumsIn(elements string) bool {
	x := d.matrices[elements]
	return elements == "f16" && slices.ContainsFunc(d.info.Caps.Matrices, func(m vk.Matrix) bool {
		return m.Sums == elements && m.M == x.M && m.N == x.N
	})
}
