package vulkan

import (
	"time"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/shaders"
)

// Probe is what a device does in a second, by timestamps of its own: the ceilings, and what
// products reach of them.
type Probe struct {
	CopyBytes   float64 // read and written by copies
	Multiplies  float64 // multiply-adds of float32
	GEMVBytes   float64 // of the matrix, in products of one row and a square matrix of float32
	GEMVSide    int     // of that matrix
	GEMM        float64 // multiply-adds, in products of square matrices of float32
	GEMMSide    int     // of those matrices
	HasTimes    bool    // false: the device has no timestamps, and the host's clock is taken
	Repetitions int     // of which the best counts
}

// probeRuns is the runs of which the best counts.
const probeRuns = 7

// Probe measures the device. One in software is given less to do.
func (d *Device) Probe() (*Probe, error) {
	p := &Probe{Repetitions: probeRuns, HasTimes: d.info.Caps.TimestampBits > 0, GEMVSide: 4096, GEMMSide: 4096}
	loops, bytes := 4096, 256<<20
	if d.info.Type == "cpu" {
		p.GEMVSide, p.GEMMSide, loops, bytes = 1024, 256, 256, 16<<20
	}
	bytes = min(bytes, d.info.Caps.MaxRange)
	const invocations, chains = 1 << 20, 8
	seconds, err := d.time("probe/fma", "f32", []uint32{256, uint32(loops)}, words{invocations, 0x3f800000, 0}, d.flatGroups(invocations/256), 4*invocations)
	if err != nil {
		return nil, err
	}
	p.Multiplies = float64(invocations*chains*loops) / seconds
	if seconds, err = d.time("probe/copy", "w16", []uint32{256}, words{uint32(bytes / 16)}, d.flatGroups(bytes/16/256), bytes, bytes); err != nil {
		return nil, err
	}
	p.CopyBytes = 2 * float64(bytes) / seconds
	n := p.GEMVSide
	if seconds, err = d.timeProduct(1, n); err != nil {
		return nil, err
	}
	p.GEMVBytes = 4 * float64(n*n) / seconds
	n = p.GEMMSide
	if seconds, err = d.timeProduct(n, n); err != nil {
		return nil, err
	}
	p.GEMM = float64(n*n*n) / seconds
	return p, nil
}

// timeProduct returns the seconds of a product [m,n] by [n,n].
func (d *Device) timeProduct(m, n int) (float64, error) {
	w := make(words, 0, shaders.MaxPush)
	w.int(m, n, n, n, 1, n, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	w.float(1, 0)
	w.int(0, 0, 0, 0)
	sizes := []int{4 * m * n, 4 * n * n, 256, 4 * m * n}
	if m == 1 {
		const columns = 16
		return d.time("matmul/gemv", "f32", []uint32{256, 1, columns, 1}, w, [3]int{n / columns, 1, 1}, sizes...)
	}
	t := plainTiling("matmul/gemm", m, n)
	return d.time(t.shader, "f32", append([]uint32{uint32(t.size)}, t.constants...), w, t.grid(m, n, 1), sizes...)
}

// time returns the seconds of the fastest run of a shader on buffers of those bytes.
func (d *Device) time(name, variant string, constants []uint32, w words, groups [3]int, sizes ...int) (float64, error) {
	m, err := shaders.Find(name, variant)
	if err != nil {
		return 0, err
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

// best returns the seconds of the fastest of several runs.
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
