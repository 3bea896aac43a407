package vulkan

import (
	"slices"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
)

// shaderBlocks are the types of blocks that shaders decode.
var shaderBlocks = []*packed.Blocks{
	packed.Q4_0, packed.Q4_1, packed.Q5_0, packed.Q5_1, packed.Q8_0, packed.Q2_K, packed.Q3_K, packed.Q4_K, packed.Q5_K, packed.Q6_K,
	packed.IQ4_NL, packed.IQ4_XS, packed.TQ2_0, packed.MXFP4, packed.NVFP4, packed.Q2_0,
}

// bindBlocks multiplies by weights in blocks, read as they are stored.
func bindBlocks(o *arith.WidenedGemm, b *binder) error {
	of := b.DType(1).Blocks()
	if !slices.Contains(shaderBlocks, of) {
		return device.Refuse("blocks of %v are read on the CPU", b.DType(1))
	}
	m, n, k := b.OutShape(0)[0], b.Shape(1)[0], b.Shape(1)[1]
	c := b.gemmAddend(&o.Gemm)
	w := c.blockWords(m, n, k, o.Alpha)
	var constants words
	constants.int(slices.Index(packed.BlockTypes, of), of.Bytes, of.Elements/unit)
	defer b.works(m * n * k)
	p := &fewBits{m: m, n: n, k: k, shader: "quant/blocks", variant: "f32", isWhole: true, constants: constants, words: w,
		operands: []device.Operand{b.in(0), b.in(1), c.operand, b.out(0)}}
	if done, err := p.byMatrices(b, b.accuracy.Rounds(false)); done {
		return err
	}
	if done, err := p.byTiles(b); done {
		return err
	}
	g, err := b.unitGroup(m, k)
	if err != nil {
		return err
	}
	flat := b.flatGroups((n + g.columns() - 1) / g.columns())
	groups := [3]int{flat[0], (m + g.rows - 1) / g.rows, flat[1]}
	defer b.does(&rowProduct{m, g.columns(), "f32"}, "quant/blocks")
	return b.dispatch("quant/blocks", b.dotVariant("f32", false), g.size, groups, append(constants, g.constants(k)...), w, p.operands...)
}
