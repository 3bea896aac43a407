package vulkan

import (
	"fmt"
	"strings"

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

// Recorded returns the commands of the last recording, and the barriers between them.
func (d *Device) Recorded() (commands, barriers int) {
	return int(d.commands.Load()), int(d.barriers.Load())
}

// Pipelines returns the number of pipelines.
func (d *Device) Pipelines() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.pipelines)
}

// Compiled reports whether there is a pipeline of a shader.
func (d *Device) Compiled(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key := range d.pipelines {
		if strings.HasPrefix(key, name+"/") {
			return true
		}
	}
	return false
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

// ShaderBlocks are the types of blocks that shaders decode.
var ShaderBlocks = shaderBlocks

// Tiles is the number of tiles of products and of convolutions.
var Tiles = [2]int{len(productTiles), len(convTiles)}

// TileShared returns the bytes of shared memory that a workgroup takes for a tile of products and for
// one of convolutions, with sums of 32 bits.
func TileShared(product, conv int) int {
	return max(productTiles[product].shared(4), convTiles[conv].shared(4))
}

// OnlyTile makes products and convolutions use one tile each, on devices in software as if these
// computed units workgroups beside each other. It returns a function that ends this.
func OnlyTile(product, conv, units int) (restore func()) {
	products, convs, old := productTiles, convTiles, deviceUnits["cpu"]
	productTiles, convTiles, deviceUnits["cpu"] = products[product:product+1], convs[conv:conv+1], units
	return func() { productTiles, convTiles, deviceUnits["cpu"] = products, convs, old }
}

// Tile is a way to divide a product.
type Tile struct{ M, N, Slices, Parts int }

// ProductTile returns how products [m,n] of k terms are divided on a device of a type with caps c.
func ProductTile(c vk.Caps, deviceType string, m, n, k int) Tile {
	d := &Device{info: vk.Info{Caps: c, Type: deviceType}}
	t, parts := d.choose(productTiles, tiled{m, n, k, 1, 4})
	if t == nil {
		return Tile{}
	}
	return Tile{t.m, t.n, t.slices, parts}
}

// TileFits checks that the invocations of a tile divide its operands, by the rules of
// include/tile.glsl and of the shaders that include it.
func TileFits() (wrong []string) {
	for name, list := range map[string][]tile{"matmul/gemm": productTiles, "conv/gemm": convTiles} {
		for _, t := range list {
			one := t.size() / t.slices
			ok := t.m*t.step/4%one == 0 && t.n*t.step/4%one == 0 && one%32 == 0 && t.n%(8*t.cols) == 0 && t.m%(4*t.rows) == 0
			if name == "conv/gemm" {
				ok = ok && one%t.n == 0 && t.step%(4*one/t.n) == 0
			}
			if !ok {
				wrong = append(wrong, fmt.Sprint(name, t))
			}
		}
	}
	return wrong
}

// OnlyLanes makes lanes invocations share a column in products by weights of few bits, on devices in
// software. It returns a function that ends this.
func OnlyLanes(lanes int) (restore func()) {
	old := unitLanes["cpu"]
	unitLanes["cpu"] = lanes
	return func() { unitLanes["cpu"] = old }
}

// UnitGroup is a workgroup of products by weights of few bits.
type UnitGroup struct{ Size, Rows, Lanes, Chunk int }

// UnitGroupOf returns the workgroup for m rows of k elements on a device of a type with caps c, and the
// bytes of shared memory that it takes.
func UnitGroupOf(c vk.Caps, deviceType string, m, k int) (UnitGroup, int) {
	d := &Device{info: vk.Info{Caps: c, Type: deviceType}}
	g := d.unitGroup(m, k)
	return UnitGroup{g.size, g.rows, g.lanes, g.chunk}, g.shared()
}

// AlwaysTiled makes devices in software compute attention by tiles if they can. It returns a function
// that ends this.
func AlwaysTiled() (restore func()) {
	old := tileWaste
	tileWaste = nil
	return func() { tileWaste = old }
}

// JoinedUnits joins products by weights in units on devices in software, and their norms, too. It returns
// a function that ends this.
func JoinedUnits() (restore func()) {
	old := unitsAlone
	unitsAlone = nil
	return func() { unitsAlone = old }
}

// Apart leaves all commands as they are bound. It returns a function that ends this.
func Apart() (restore func()) {
	old := merges
	merges = nil
	return func() { merges = old }
}
