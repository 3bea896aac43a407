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

// PipelineFile is a file of compiled shaders for a device.
type PipelineFile struct{ pipelineFile }

// NewPipelineFile returns the file at a path.
func NewPipelineFile(path string, info *vk.Info) PipelineFile {
	return PipelineFile{pipelineFile{path, info}}
}

// PipelinePath returns the path of the file for a device.
func PipelinePath(o Options, info *vk.Info) string { return o.pipelinePath(info) }

// Read returns the driver's data in the file; nil if it may not be used.
func (f *PipelineFile) Read() []byte { return f.read() }

// Write writes the driver's data.
func (f *PipelineFile) Write(data []byte) error { return f.write(data) }

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
