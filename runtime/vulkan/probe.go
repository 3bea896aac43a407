package vulkan

import (
	"fmt"
	"maps"
	"slices"
	"time"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/shaders"
)

// Probe is the rates of a device per second, by its own timestamps if it has them: ceilings, and
// rates that products reach.
type Probe struct {
	CopyBytes   float64 // read and written by copies
	Multiplies  float64 // multiply-adds of float32
	GEMVBytes   float64 // bytes of the matrix, in products of one row and a square matrix of float32
	GEMVSide    int     // side of that matrix
	GEMM        float64 // multiply-adds, in products of square matrices of float32
	GEMMSide    int     // side of these matrices
	Matrices    []MatrixProbe
	Clock       float64 // ticks of the clock, in the work of the probe; 0 if shaders cannot read it
	HasTimes    bool    // if false, the host's clock timed the runs
	Repetitions int     // runs of each measurement; the best one counts
	// Shaders has statistics of the measured shaders if the device was opened with
	// Options.Statistics and its driver keeps them.
	Shaders []ShaderStatistics
}

// MatrixProbe is the rates per second of cooperative matrices of one element type. For Multiplies
// operands stay the same, and drivers in software then compute some of it only once.
type MatrixProbe struct {
	Matrix     string  // its extents, such as f16 16x16x16
	Multiplies float64 // multiply-adds
	GEMM       float64 // multiply-adds, in products of square matrices of GEMMSide
	Shader     string  // the shader of GEMM
}

// probeRuns is the number of runs of a measurement. The best one counts.
const probeRuns = 7

// Probe measures the device. A device in software gets smaller measurements.
func (d *Device) Probe() (*Probe, error) {
	p := &Probe{Repetitions: probeRuns, HasTimes: d.info.Caps.TimestampBits > 0, GEMVSide: 4096, GEMMSide: 4096}
	loops, bytes := 4096, 256<<20
	if d.info.Type == "cpu" {
		p.GEMVSide, p.GEMMSide, loops, bytes = 1024, 256, 256, 16<<20
	}
	bytes = min(bytes, d.info.Caps.MaxRange)
	const invocations, chains = 1 << 20, 8
	seconds, err := d.time("probe/fma", "f32", []uint32{256, uint32(loops)}, words{invocations, 0x3f800000, 0},
		d.flatGroups(invocations/256), 4*invocations)
	if err != nil {
		return nil, err
	}
	p.Multiplies = float64(invocations*chains*loops) / seconds
	if seconds, err = d.time("probe/copy", "w16", []uint32{256}, words{uint32(bytes / 16)}, d.flatGroups(bytes/16/256),
		bytes, bytes); err != nil {
		return nil, err
	}
	p.CopyBytes = 2 * float64(bytes) / seconds
	n := p.GEMVSide
	if seconds, err = d.timeRow(n); err != nil {
		return nil, err
	}
	p.GEMVBytes = 4 * float64(n*n) / seconds
	n = p.GEMMSide
	if seconds, _, err = d.TimeProduct("f32", n); err != nil {
		return nil, err
	}
	p.GEMM = float64(n*n*n) / seconds
	for _, elements := range slices.Sorted(maps.Keys(d.matrices)) {
		m, err := d.probeMatrix(elements, n, loops/32)
		if err != nil {
			return nil, err
		}
		p.Matrices = append(p.Matrices, *m)
	}
	if p.Clock, err = d.Clock(); err != nil {
		return nil, err
	}
	p.Shaders, err = d.Shaders()
	return p, err
}

// probeMatrix measures cooperative matrices of an element type, in loops and in products of square
// matrices with that side.
func (d *Device) probeMatrix(elements string, side, loops int) (*MatrixProbe, error) {
	x, subgroup := d.matrices[elements], d.info.Caps.SubgroupSize
	p := &MatrixProbe{Matrix: x.String()}
	const groups, subgroups, chains = 1 << 10, 4, 8
	constants := []uint32{uint32(subgroups * subgroup), uint32(x.M), uint32(x.N), uint32(x.K), uint32(subgroup),
		uint32(loops)}
	seconds, err := d.time("probe/matrix", elements, constants, words{1, 1}, [3]int{groups, 1, 1},
		4*groups*subgroups*x.M*x.N)
	if err != nil {
		return nil, err
	}
	p.Multiplies = float64(x.M*x.N*x.K*groups*subgroups*chains*loops) / seconds
	if seconds, p.Shader, err = d.TimeProduct(elements, side); err != nil {
		return nil, err
	}
	p.GEMM = float64(side*side*side) / seconds
	return p, nil
}

// squares returns the words of a product [m,n] by [n,n] up to its batch, which has one matrix.
func squares(m, n int) words {
	w := make(words, 0, shaders.MaxPush)
	w.int(m, n, n, n, 1, n, 1, 1, 1, 0, 0, 0, 0, 0, 0)
	return w
}

// plainSums appends the words of a product without bias and epilogue.
func (w words) plainSums() words {
	w.int(0, 0, 0, 0)
	w.float(1, 0)
	w.int(0, 0, 0, 0)
	return w
}

// timeRow returns the seconds of a product [1,n] by [n,n] of float32.
func (d *Device) timeRow(n int) (float64, error) {
	left, right := matrixSide{words: true}, matrixSide{down: true, words: true}
	size, columns := d.rowSize(n, right)
	constants := append(words{uint32(size)}, rowConstants(1, left, right)...)
	return d.time("matmul/gemv", "f32", constants, squares(1, n).plainSums(), [3]int{n / columns, 1, 1}, 4*n, 4*n*n, 256, 4*n)
}

// TimeProduct returns the seconds of a product of n by n matrices, and the name of the shader that
// computes it. Elements are f32, f16, bf16 or i8.
func (d *Device) TimeProduct(elements string, n int) (seconds float64, shader string, err error) {
	left, right := matrixSide{words: true}, matrixSide{down: true, words: true}
	size := tiled{n, n, n, 1, 4}
	bytes := map[string]int{"f32": 4, "f16": 2, "bf16": 2, "i8": 1}[elements] * n * n
	if elements == "i8" {
		right.down = false // as constants are turned
		t := d.matrixTiling("quant/matrix", elements, size, 1, left, right)
		if t == nil {
			return 0, "", failure(fmt.Errorf("the device has no cooperative matrices of %s", elements))
		}
		signed := []uint32{1, 1, 0, 0}
		variant, constants := "integers", slices.Concat([]uint32{uint32(t.size)}, t.constants, wordConstants(left, right),
			signed, []uint32{1, 0, 0})
		if t.isWhole(size, left, right) {
			variant, constants[len(constants)-2] = "integers_straight", 1
		}
		w := append(squares(n, n), make(words, 10)...)
		const bRow, bCol = 5, 6
		w[bRow], w[bCol] = w[bCol], w[bRow]
		seconds, err = d.time(t.shader, variant, constants, w, t.grid(n, n, 1), bytes, 256, 256, bytes, 256, 256, 256,
			256, 256, 256, 4*bytes, 256, 256, 256, 256)
		return seconds, t.shader, err
	}
	sizes := []int{bytes, bytes, 256, bytes, 256, 256}
	w := squares(n, n).plainSums()
	if t := d.matrixTiling("matmul/matrix", elements, size, 1, left, right); t != nil {
		variant, constants := elements, slices.Concat([]uint32{uint32(t.size)}, t.constants, wordConstants(left, right),
			[]uint32{1, uint32(kit.Btoi(t.isWhole(size, left, right)))})
		if t.isWhole(size, left, right) && d.sumsIn(elements) {
			variant += "_straight"
		}
		seconds, err = d.time(t.shader, variant, constants, w, t.grid(n, n, 1), sizes...)
		return seconds, t.shader, err
	}
	t, parts := d.choose(productTiles, size)
	if t == nil || parts > 1 {
		return 0, "", failure(fmt.Errorf("no tile of products of %d rows and columns fits the device", n))
	}
	across, down := t.grid(n, n)
	constants := t.constants(parts, 0)
	constants.bool(left.down, right.down, true, true, true)
	seconds, err = d.time("matmul/gemm", elements, append(words{uint32(t.size())}, constants...), w, [3]int{across, down, 1},
		sizes...)
	return seconds, "matmul/gemm", err
}

// time returns the seconds of the fastest run of a shader on buffers with sizes in bytes.
func (d *Device) time(name, variant string, constants []uint32, w words, groups [3]int, sizes ...int) (float64, error) {
	m, err := d.find(name, variant)
	if err != nil {
		return 0, err
	}
	if missing := m.Variant.Needs &^ d.features; missing != 0 {
		return 0, failure(fmt.Errorf("shader %s/%s needs %v, which the device lacks", name, variant, missing))
	}
	p, err := d.pipeline(&kernel{module: m, constants: constants})
	if err != nil {
		return 0, err
	}
	operands := make([]vk.Operand, len(sizes))
	for i, n := range sizes {
		memory, err := d.pool.alloc(n)
		if err != nil {
			return 0, err
		}
		defer memory.Free()
		operands[i] = memory.operand(0, n)
	}
	stamps := 0
	if d.info.Caps.TimestampBits > 0 {
		stamps = 2
	}
	r, err := d.dev.NewRecorder(1, len(operands), stamps)
	if err != nil {
		return 0, failure(err)
	}
	defer r.Free()
	if stamps > 0 {
		r.Timestamp()
	}
	if err := r.Dispatch(p, operands, w, groups); err != nil {
		return 0, failure(err)
	}
	r.Barrier()
	if stamps > 0 {
		r.Timestamp()
	}
	if err := r.End(); err != nil {
		return 0, failure(err)
	}
	return best(r, stamps > 0)
}

// best returns the seconds of the fastest of probeRuns runs.
func best(r *vk.Recorder, stamped bool) (seconds float64, err error) {
	for i := range probeRuns {
		begin := time.Now()
		if err := r.Run(); err != nil {
			return 0, failure(err)
		}
		took := time.Since(begin)
		if stamped {
			times, err := r.Times()
			if err != nil {
				return 0, failure(err)
			}
			took = time.Duration(times[1] - times[0])
		}
		if s := max(took.Seconds(), 1e-9); i == 0 || s < seconds {
			seconds = s
		}
	}
	return seconds, nil
}
