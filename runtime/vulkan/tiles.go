package vulkan

// tiling describes how a shader computes products by tiles, one per workgroup.
type tiling struct {
	shader     string
	size       int // invocations of a workgroup
	rows, cols int // of a tile
	constants  []uint32
}

// grid returns the grid of tiles for z results [m,n].
func (t *tiling) grid(m, n, z int) [3]int {
	return [3]int{(n + t.cols - 1) / t.cols, (m + t.rows - 1) / t.rows, z}
}

// tileSide is the side of a workgroup that computes tiles in shared memory.
const tileSide = 16

// plainTiling returns the tiles of a shader for results [m,n]. Its constants are the rows and
// columns that an invocation computes.
func plainTiling(shader string, m, n int) *tiling {
	rows, cols := 4, 4
	for rows > 1 && m <= tileSide*rows/2 {
		rows /= 2
	}
	for cols > 1 && n <= tileSide*cols/2 {
		cols /= 2
	}
	return &tiling{shader, tileSide * tileSide, tileSide * rows, tileSide * cols, []uint32{uint32(rows), uint32(cols)}}
}
