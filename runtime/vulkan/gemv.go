package vulkan

// fewRows is the most rows of products for which workgroups share the axis that is summed over.
const fewRows = 4

// fewRows adds the dispatch of z products of few rows.
func (b *binder) fewRows(x *multiplying, z int, variant string, w words, left, right matrixSide) error {
	size, columns := b.dev.rowSize(x.k, right)
	constants := rowConstants(x.m, left, right)
	groups := [3]int{(x.n + columns - 1) / columns, 1, z}
	if z == 1 && floats[x.dtype] && x.epilogue.Func == "" {
		defer b.does(&rowProduct{x.m, columns, b.typeName(x.dtype)}, "matmul/gemv")
	}
	return b.dispatch("matmul/gemv", variant, size, groups, constants, w, x.left, x.right, x.c.operand, x.out)
}

// rowSize returns the invocations of a workgroup of matmul/gemv, and the columns that it computes.
// More than the terms of a sum would have nothing to do.
func (d *Device) rowSize(k int, right matrixSide) (size, columns int) {
	const share, least = 32, 64
	size = 256
	if right.down && d.info.Type != "cpu" {
		size = 1024
	}
	most := min(d.info.Caps.MaxInvocations, d.info.Caps.MaxGroupSize[0])
	for size > least && (size > most || right.down && size >= 2*k) {
		size /= 2
	}
	if right.down {
		return size, share
	}
	return size, size / share
}

// rowConstants returns the constants of matmul/gemv.
func rowConstants(rows int, left, right matrixSide) (list words) {
	list.int(rows)
	list.bool(right.down, left.words && !left.down, right.words)
	return list
}
