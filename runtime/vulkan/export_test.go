package vulkan

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
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

// Widen makes shaders reach beyond their operands, where all bits are set.
func (d *Device) Widen() {
	const blockBytes = 1 << 20
	d.wide, d.pool.size = true, blockBytes
	d.pool.fresh = func(b *vk.Buffer) error {
		staging, err := d.dev.NewBuffer(b.Bytes(), vk.Staging)
		if err != nil {
			return err
		}
		defer staging.Free()
		copy(staging.Host(), bytes.Repeat([]byte{0xff}, b.Bytes()))
		return once(d.dev, func(r *vk.Recorder) { r.Copy(b, 0, staging, 0, b.Bytes()) })
	}
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
		if rest, ok := strings.CutPrefix(key, name); ok && (rest[0] == '/' || rest[0] == '[') {
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

// MatrixTile returns the rows and columns of the tiles for z products [m,n] of k terms of row-major
// matrices on a discrete device with caps c, and the workgroups that share one; 0 for none.
func MatrixTile(c vk.Caps, elements string, m, n, k, z int) (rows, cols, parts int) {
	d := &Device{info: vk.Info{Caps: c, Type: "discrete"}, matrices: matrices(&c, shaders.CoopMatrix)}
	t := d.matrixTiling("matmul/matrix", elements, tiled{m, n, k, z, 4}, mostShares, matrixSide{words: true},
		matrixSide{down: true, words: true})
	if t == nil {
		return 0, 0, 0
	}
	return t.rows, t.cols, t.parts
}

// Emulate gives a device these matrices: modules that use cooperative matrices are replaced by ones
// of spv/_emulated, for subgroups of 32 invocations.
func (d *Device) Emulate(list ...vk.Matrix) {
	const subgroup, needs = 32, shaders.CoopMatrix | shaders.CoopBF16
	c := &d.info.Caps
	c.CoopMatrix, c.CoopBF16, c.Matrices, c.SubgroupSize, c.Subgroups = true, true, list, subgroup, c.MaxInvocations/subgroup
	d.features = Features(&d.info) & d.options.Level.features()
	d.matrices = matrices(c, d.features)
	d.find = func(kernel, variant string) (*shaders.Module, error) {
		m, err := shaders.Find(kernel, variant)
		if err != nil || m.Variant.Needs&needs == 0 {
			return m, err
		}
		v := *m.Variant
		v.Needs &^= needs
		code, err := os.ReadFile("../../shaders/spv/_emulated/" + shaders.File(m.Kernel, &v))
		if err != nil {
			return nil, err
		}
		return shaders.NewModule(m.Kernel, &v, code)
	}
}

// MatrixKernels lists the kernels that compute products by cooperative matrices.
func MatrixKernels() (list []string) {
	for _, k := range shaders.Kernels() {
		if k.Variants[0].Needs&shaders.CoopMatrix != 0 && !strings.HasPrefix(k.Name, "probe/") {
			list = append(list, k.Name)
		}
	}
	return list
}

// MatrixTiles is the number of tiles of products by cooperative matrices.
var MatrixTiles = len(matrixTiles)

// OnlyMatrixTile makes products by cooperative matrices use one tile, on devices in software as if
// these computed units workgroups beside each other. It returns a function that ends this.
func OnlyMatrixTile(i, units int) (restore func()) {
	tiles, old := matrixTiles, deviceUnits["cpu"]
	matrixTiles, deviceUnits["cpu"] = tiles[i:i+1], units
	return func() { matrixTiles, deviceUnits["cpu"] = tiles, old }
}

// HoldsMatrixTile reports whether a workgroup of the device holds the first tile of products of
// float16.
func (d *Device) HoldsMatrixTile() bool {
	return d.holds(d.matrices["f16"], matrixTiles[0], matrixSide{}, matrixSide{})
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

// AlwaysTransformed makes convolutions by 3x3 filters use transforms if they can. It returns a function
// that ends this.
func AlwaysTransformed() (restore func()) {
	old := transformTime
	transformTime = math.Inf(-1)
	return func() { transformTime = old }
}

// WinogradTime returns the microseconds that convolutions by m constant 3x3 filters of c channels take
// on a device with caps c by transforms, and those of direct products. Images are squares of float32.
func WinogradTime(caps vk.Caps, deviceType string, m, c, images, side int) (transformed, direct float64) {
	d := &Device{info: vk.Info{Caps: caps, Type: deviceType}}
	tiles := (side + winogradTile - 1) / winogradTile
	_, _, direct = d.fastest(convTiles, tiled{m, images * side * side, 9 * c, 1, 4})
	return d.winogradTime(m, c, images*tiles*tiles, 4, true), direct
}

// EndsLoops reports whether devices with the defect end loops early.
func (x Defect) EndsLoops() bool { return x.mostLoop > 0 }

// Iterations returns the iterations that a loop of n takes in one invocation, n below a million.
func (d *Device) Iterations(n int) (int, error) {
	m, err := shaders.Find("probe/fma", "f32")
	if err != nil {
		return 0, err
	}
	p, err := d.pipeline(&kernel{module: m, constants: []uint32{1, uint32(n)}})
	if err != nil {
		return 0, err
	}
	const bytes = 16
	memory, err := d.pool.alloc(bytes)
	if err != nil {
		return 0, err
	}
	defer memory.Free()
	r, err := d.dev.NewRecorder(1, 1, 0)
	if err != nil {
		return 0, err
	}
	defer r.Free()
	one := math.Float32bits(1)
	if err := r.Dispatch(p, []vk.Operand{memory.operand(0, bytes)}, words{1, one, one}, [3]int{1, 1, 1}); err != nil {
		return 0, err
	}
	if err := r.End(); err != nil {
		return 0, err
	}
	if err := r.Run(); err != nil {
		return 0, err
	}
	y := make([]byte, bytes)
	err = memory.Read(0, y)
	const chains, first = 8, 0 + 1 + 2 + 3 + 4 + 5 + 6 + 7
	return (int(math.Float32frombits(binary.LittleEndian.Uint32(y))) - first) / chains, err
}

// Apart leaves all commands as they are bound. It returns a function that ends this.
func Apart() (restore func()) {
	old := merges
	merges = nil
	return func() { merges = old }
}
