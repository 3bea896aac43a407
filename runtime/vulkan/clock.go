package vulkan

import (
	"encoding/binary"
	"time"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/shaders"
)

// Warm keeps the device at work for at least the given time. Devices without work lower their
// clock, and take a part of a second of work to raise it again. For a device in software, Warm does
// nothing.
func (d *Device) Warm(least time.Duration) error {
	const invocations = 1 << 20
	loops := d.probeLoops()
	for begin := time.Now(); d.info.Type != "cpu" && time.Since(begin) < least; {
		if _, err := d.time("probe/fma", "f32", []uint32{groupSize, uint32(loops)}, words{invocations, 0x3f800000, 0},
			d.flatGroups(invocations/groupSize), 4*invocations); err != nil {
			return err
		}
	}
	return nil
}

// Waited returns the time that runs have waited for the device. The rest of a run's time is the
// host's.
func (d *Device) Waited() time.Duration { return time.Duration(d.waited.Load()) }

// probeLoops returns the steps of loops that measure arithmetic.
func (d *Device) probeLoops() int {
	if d.info.Type == "cpu" {
		return 256
	}
	return 4096
}

// Clock returns the ticks per second of the clock that shaders read; 0 if they cannot.
func (d *Device) Clock() (float64, error) {
	if d.features&shaders.Clock == 0 || d.info.Caps.TimestampBits == 0 {
		return 0, nil
	}
	m, err := shaders.Find("probe/clock", "ticks")
	if err != nil {
		return 0, err
	}
	p, err := d.pipeline(&kernel{module: m, constants: []uint32{1, uint32(64 * d.probeLoops())}})
	if err != nil {
		return 0, err
	}
	const bytes, stamps = 16, 2
	memory, err := d.pool.alloc(bytes)
	if err != nil {
		return 0, err
	}
	defer memory.Free()
	r, err := d.dev.NewRecorder(1, 1, stamps)
	if err != nil {
		return 0, failure(err)
	}
	defer r.Free()
	r.Timestamp()
	if err := r.Dispatch(p, []vk.Operand{memory.operand(0, bytes)}, words{0x3f800000, 0}, [3]int{1, 1, 1}); err != nil {
		return 0, failure(err)
	}
	r.Timestamp()
	if err := r.End(); err != nil {
		return 0, failure(err)
	}
	if err := r.Run(); err != nil {
		return 0, failure(err)
	}
	times, err := r.Times()
	if err != nil {
		return 0, failure(err)
	}
	y := make([]byte, bytes)
	if err := memory.Read(0, y); err != nil {
		return 0, err
	}
	ticks := binary.LittleEndian.Uint32(y[4:]) - binary.LittleEndian.Uint32(y)
	return float64(ticks) / max(time.Duration(times[1]-times[0]).Seconds(), 1e-9), nil
}
