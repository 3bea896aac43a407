package vulkan

import (
	"maps"
	"slices"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/shaders"
)

// matrixTile is the work of a workgroup on cooperative matrices: its subgroups, the matrices of a
// subgroup, and the matrices along k that are in shared memory at a time.
type matrixTile struct {
	down, across, rows, cols, deep int
	leastM, leastN                 int // least rows and columns of products that use the tile
}

// matrixTiles are the tiles, largest first. A product takes the first that fits it and makes enough
// workgroups, else the last that fits. If none fits, it is computed without matrices.
var matrixTiles = []matrixTile{
	{2, 4, 4, 4, 2, 65, 129},
	{2, 4, 4, 2, 2, 65, 65},
	{2, 2, 2, 2, 2, 33, 33},
	{1, 4, 2, 1, 2, 17, 17},
	{1, 2, 1, 1, 2, fewRows + 1, fewRows + 1},
}

// matrixElement is an element type of operands: its bytes, and the type of sums.
type matrixElement struct {
	bytes int
	sums  string
}

var matrixElements = map[string]matrixElement{"f16": {2, "f32"}, "bf16": {2, "f32"}, "i8": {1, "i32"}}

// wordElements is the number of elements that shaders read at a time. Extents of matrices are
// multiples of it.
const wordElements = 8

// matrices returns, by element type of operands, the largest products of matrices that shaders of a
// device may use.
func matrices(c *vk.Caps, f shaders.Feature) map[string]vk.Matrix {
	best := map[string]vk.Matrix{}
	if f&shaders.CoopMatrix == 0 {
		return best
	}
	for _, m := range c.Matrices {
		old := best[m.Operands]
		whole := m.M%wordElements == 0 && m.N%wordElements == 0 && m.K%wordElements == 0
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
}

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

// matrixTiling returns the tiles for z products [m,n] by cooperative matrices. Parts workgroups
// share each tile. It is nil if the device has no such matrices or no tile fits.
func (d *Device) matrixTiling(shader, elements string, m, n, z, parts int, left, right matrixSide) *tiling {
	x, ok := d.matrices[elements]
	if !ok {
		return nil
	}
	tiles := matrixTiles
	if shader == lastConv {
		tiles = lastTiles
	}
	var best *tiling
	for _, t := range tiles {
		if m < t.leastM || n < t.leastN || !d.holds(x, t, left, right) {
			continue
		}
		subgroup := d.info.Caps.SubgroupSize
		best = &tiling{shader: shader, size: t.down * t.across * subgroup, rows: x.M * t.rows * t.down,
			cols: x.N * t.cols * t.across}
		for _, c := range []int{x.M, x.N, x.K, subgroup, t.down, t.across, t.rows, t.cols, t.deep, kit.Btoi(left.down),
			kit.Btoi(right.down)} {
			best.constants = append(best.constants, uint32(c))
		}
		if grid := best.grid(m, n, z); product3(grid[:])*parts >= manyGroups {
			break
		}
	}
	return best
}

// holds reports whether a workgroup of the device has the invocations and the memory for a tile.
func (d *Device) holds(x vk.Matrix, t matrixTile, left, right matrixSide) bool {
	c := &d.info.Caps
	subgroups := t.down * t.across
	if subgroups > c.Subgroups || subgroups*c.SubgroupSize > min(c.MaxInvocations, c.MaxGroupSize[0]) {
		return false
	}
	m, n, k := x.M*t.rows*t.down, x.N*t.cols*t.across, x.K*t.deep
	element := matrixElements[x.Operands]
	bytes := 4*subgroups*x.M*x.N + element.staged(m, k, left) + element.staged(n, k, right)
	if x.Operands == "i8" {
		bytes += 4 * (m + n) // sums of codes
	}
	return bytes <= c.MaxShared
}

// staged returns the bytes of shared memory of a tile of n rows or columns of k elements.
func (e matrixElement) staged(n, k int, s matrixSide) int {
	const apart = 16
	if s.down {
		n, k = k, n
	}
	return n * (k*e.bytes + apart)
}

// byMatrices adds the dispatches of z products by cooperative matrices. After are the words of what
// follows the sums.
func (b *binder) byMatrices(x *multiplying, t *tiling, z int, variant string, w, after words) error {
	const size = 4
	grid, total := t.grid(x.m, x.n, z), z*x.m*x.n
	parts, sums := b.parts(product3(grid[:]), x.k, leastTerms, size*total), device.Operand{}
	if parts = min(parts, b.dev.info.Caps.MaxGroups[2]/z); parts > 1 {
		sums = b.temp(parts * size * total)
	}
	parts = max(parts, 1)
	grid[2] *= parts
	err := b.dispatch(t.shader, variant, t.size, grid, append(t.constants, uint32(parts)), w, x.left, x.right, x.c.operand,
		x.out, sums)
	if err != nil || parts == 1 {
		return err
	}
	w = words{}
	w.int(total, x.m, x.n, parts)
	return b.flat("matmul/join", variant, total, nil, append(w, after...), sums, x.c.operand, x.out)
}
