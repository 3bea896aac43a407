package vulkan

import (
	vk "github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/shaders"
)

// PoolBytes returns the bytes of device memory that blocks take, and how many of them are in use.
func (d *Device) PoolBytes() (all, used int) {
	d.pool.mu.Lock()
	defer d.pool.mu.Unlock()
	for _, b := range d.pool.blocks {
		all, used = all+b.bytes, used+b.bytes
		for _, g := range b.gaps {
			used -= g.bytes
		}
	}
	return all, used
}

// Recordings returns the number of times that segments were recorded.
func (d *Device) Recordings() int { return int(d.records.Load()) }

// Pipelines returns the number of pipelines.
func (d *Device) Pipelines() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.pipelines)
}

// MatrixTile returns the rows and columns of the tiles for z products [m,n] of row-major matrices
// on a device with caps c; 0 for none.
func MatrixTile(c vk.Caps, elements string, m, n, z int) (rows, cols int) {
	d := &Device{info: vk.Info{Caps: c}, matrices: matrices(&c, shaders.CoopMatrix)}
	t := d.matrixTiling("matmul/matrix", elements, m, n, z, 1, matrixSide{words: true},
		matrixSide{down: true, words: true})
	if t == nil {
		return 0, 0
	}
	return t.rows, t.cols
}
