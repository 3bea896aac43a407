package vulkan

import (
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/quant"
	"github.com/nacre-ml/nacre/shaders"
)

// unit is the weights of few bits that an invocation takes at a time, in products of few rows, and
// unitRows is the most rows of a workgroup.
const (
	unit     = 32
	unitRows = 8
)

// unitGroup is the work of a workgroup that multiplies rows by weights in units: its invocations, its
// rows, the invocations that share a column, and the units of rows in shared memory at a time. All are
// powers of two.
type unitGroup struct{ size, rows, lanes, chunk int }

// columns returns the columns of a workgroup.
func (g *unitGroup) columns() int { return g.size / g.lanes }

// shared returns the bytes of shared memory that a workgroup takes.
func (g *unitGroup) shared() int {
	const places, word = 9, 16
	return max(g.rows*g.chunk*places*word, 4*g.rows*g.size)
}

// constants returns the constants of include/units.glsl for rows of k elements that are not normalised.
func (g *unitGroup) constants(k int) (list words) {
	list.int(g.rows, g.lanes, g.chunk)
	list.bool(k%tileWord == 0)
	list.int(0)
	list.float(0)
	return list
}

// loops returns the most loop iterations of an invocation for rows of k elements.
func (g *unitGroup) loops(k int) int {
	units := (k + unit - 1) / unit
	chunks := (units + g.chunk - 1) / g.chunk
	staged := (g.rows*g.chunk + g.size - 1) / g.size
	return chunks*(1+5*staged) + (units/g.lanes+1)*(1+6*(1+3*g.rows)) + 16*(1+g.rows)
}

// unitGroup returns the workgroup for m rows of k elements. More rows than it has are computed by
// workgroups beside each other.
func (b *binder) unitGroup(m, k int) (*unitGroup, error) {
	g := b.dev.unitGroup(m, k)
	return g, b.loops(g.loops(k))
}

// unitLanes is the most invocations that share a column, by type of device; 32 for others. Devices in
// software have no neighbours that read memory together.
var unitLanes = map[string]int{"cpu": 4}

func (d *Device) unitGroup(m, k int) *unitGroup {
	const (
		mostChunk = 128
		long      = 4096     // elements of a row that make work for 512 invocations
		half      = 24 << 10 // bytes of shared memory that let workgroups run beside each other
	)
	mostLanes, ok := unitLanes[d.info.Type]
	if !ok {
		mostLanes = 32
	}
	c, units := &d.info.Caps, (k+unit-1)/unit
	g := &unitGroup{256, unitRows, mostLanes, mostChunk}
	if k > long {
		g.size = 512
	}
	for g.size > min(c.MaxInvocations, c.MaxGroupSize[0]) {
		g.size /= 2
	}
	for g.rows/2 >= m && g.rows > 1 {
		g.rows /= 2
	}
	for g.chunk > 1 && (g.chunk/2 >= units || g.shared() > c.MaxShared || g.chunk > mostLanes && g.shared() > half) {
		g.chunk /= 2
	}
	for g.lanes > g.chunk {
		g.lanes /= 2
	}
	return g
}

// dotVariant returns a variant, or the one that rounds rows to bytes: if the accuracy permits it, for a
// model that does or does not, and the device multiplies bytes by an instruction.
func (b *binder) dotVariant(variant string, model bool) string {
	if b.accuracy.Rounds(model) && b.dev.features&shaders.IntDot != 0 {
		return variant + "_dot"
	}
	return variant
}

// nbits4 adds the dispatch of a product of m rows and weights of 4 bits, in blocks of whole units.
func (b *binder) nbits4(o *quant.MatMulNBits, variant string, m int, w words, operands ...device.Operand) error {
	g, err := b.unitGroup(m, o.K)
	if err != nil {
		return err
	}
	constants := words{uint32(o.Bits), uint32(o.Block / unit), uint32(kit.Btoi(b.Has(3)))}
	groups := [3]int{(o.N + g.columns() - 1) / g.columns(), (m + g.rows - 1) / g.rows, 1}
	defer b.does(&rowProduct{m, g.columns(), shortName(b.Out[0].DType)}, "quant/nbits4")
	return b.dispatch("quant/nbits4", variant, g.size, groups, append(constants, g.constants(o.K)...), w,
		operands...)
}
