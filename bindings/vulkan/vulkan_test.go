package vulkan_test

import (
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/shaders"
)

// open opens the first device. Any message of the validation layer fails the test.
func open(t testing.TB) *vulkan.Device {
	t.Helper()
	i, err := vulkan.Open(vulkan.Options{Validate: func(message string) { t.Errorf("the validation layer says: %s", message) }})
	testenv.Need(t, err)
	t.Cleanup(i.Close)
	d, err := i.Open(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func buffer(t testing.TB, d *vulkan.Device, n int, kind vulkan.Kind) *vulkan.Buffer {
	t.Helper()
	b, err := d.NewBuffer(n, kind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Free)
	return b
}

func TestInfo(t *testing.T) {
	d := open(t)
	info := d.Info()
	c := &info.Caps
	if info.Name == "" || info.Type == "" || info.Version == "" {
		t.Errorf("name %q, type %q, version %q", info.Name, info.Type, info.Version)
	}
	// The minimum limits that Vulkan guarantees.
	if c.MaxRange < 1<<27 || c.MaxShared < 16<<10 || c.MaxInvocations < 128 || c.MaxPush < 128 || c.MaxBuffers < 4 ||
		c.HeapBytes <= 0 || c.OffsetAlign <= 0 || c.OffsetAlign > 256 || c.SubgroupSize < 1 {
		t.Errorf("limits are %+v", c)
	}
	for k := range 3 {
		if c.MaxGroups[k] < 65535 || c.MaxGroupSize[k] < 64 {
			t.Errorf("limits of grids are %v, %v", c.MaxGroups, c.MaxGroupSize)
		}
	}
}

func TestOpenFails(t *testing.T) {
	i, err := vulkan.Open(vulkan.Options{})
	testenv.Need(t, err)
	defer i.Close()
	for _, index := range []int{-1, len(i.Devices())} {
		if d, err := i.Open(index, nil); err == nil {
			d.Close()
			t.Errorf("device %d was opened", index)
		}
	}
}

func TestNoMemory(t *testing.T) {
	d := open(t)
	if b, err := d.NewBuffer(1<<50, vulkan.Local); !errors.Is(err, vulkan.ErrNoMemory) {
		t.Errorf("a buffer of a petabyte: %v", err)
		if b != nil {
			b.Free()
		}
	}
}

// program runs y = -x on n numbers.
type program struct {
	x, y     *vulkan.Buffer
	recorder *vulkan.Recorder
	n        int
}

func negation(t testing.TB, d *vulkan.Device, n, stamps int) *program {
	t.Helper()
	m, err := shaders.Find("eltwise/unary", "f32")
	if err != nil {
		t.Fatal(err)
	}
	f, ok := shaders.Number("unary", "neg")
	if !ok {
		t.Fatal("there is no negation")
	}
	p, err := d.NewPipeline(m.Code, []uint32{64, f}, m.Kernel.Operands, 4*m.Kernel.Push, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Free)
	bytes := (4*n + 255) / 256 * 256
	x := &program{x: buffer(t, d, bytes, vulkan.Staging), y: buffer(t, d, bytes, vulkan.Staging), n: n}
	far, near := buffer(t, d, bytes, vulkan.Local), buffer(t, d, bytes, vulkan.Local)
	r, err := d.NewRecorder(1, 2, stamps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Free)
	x.recorder = r
	if stamps > 0 {
		r.Timestamp()
	}
	r.Copy(far, 0, x.x, 0, 4*n)
	r.Barrier()
	push := make([]uint32, m.Kernel.Push)
	push[0] = uint32(n)
	if err := r.Dispatch(p, []vulkan.Operand{{Buffer: far, Bytes: bytes}, {Buffer: near, Bytes: bytes}}, push,
		[3]int{(n + 63) / 64, 1, 1}); err != nil {
		t.Fatal(err)
	}
	r.Barrier()
	r.Copy(x.y, 0, near, 0, 4*n)
	r.Barrier()
	if stamps > 0 {
		r.Timestamp()
	}
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	return x
}

// run runs the program on consecutive numbers.
func (p *program) run(t testing.TB, first float32) {
	for i := range p.n {
		binary.LittleEndian.PutUint32(p.x.Host()[4*i:], math.Float32bits(first+float32(i)))
	}
	if err := p.recorder.Run(); err != nil {
		t.Error(err)
		return
	}
	for i := range p.n {
		if got := math.Float32frombits(binary.LittleEndian.Uint32(p.y.Host()[4*i:])); got != -(first + float32(i)) {
			t.Errorf("element %d is %v", i, got)
			return
		}
	}
}

func TestRunAgain(t *testing.T) {
	p := negation(t, open(t), 1000, 0)
	for i := range 1000 {
		p.run(t, float32(i))
	}
}

func TestTimes(t *testing.T) {
	d := open(t)
	if d.Info().Caps.TimestampBits == 0 {
		t.Log("the device has no timestamps")
		return
	}
	p := negation(t, d, 100000, 2)
	p.run(t, 1)
	times, err := p.recorder.Times()
	if err != nil || len(times) != 2 || times[1] <= times[0] {
		t.Errorf("times are %v: %v", times, err)
	}
}

// TestManyAtOnce runs programs of one device from several goroutines during continuous garbage
// collection.
func TestManyAtOnce(t *testing.T) {
	d := open(t)
	var ended atomic.Bool
	var collecting, running sync.WaitGroup
	collecting.Go(func() {
		for !ended.Load() {
			runtime.GC()
		}
	})
	for g := range 8 {
		running.Go(func() {
			for end := time.Now().Add(2 * time.Second); time.Now().Before(end) && !t.Failed(); {
				sub := &scope{TB: t}
				p := negation(sub, d, 100+g, 0)
				p.run(t, float32(g))
				sub.end()
			}
		})
	}
	running.Wait()
	ended.Store(true)
	collecting.Wait()
}

// scope is a test that runs its cleanups at end.
type scope struct {
	testing.TB
	list []func()
}

func (s *scope) Cleanup(f func()) { s.list = append(s.list, f) }

func (s *scope) end() {
	for i := len(s.list) - 1; i >= 0; i-- {
		s.list[i]()
	}
}
