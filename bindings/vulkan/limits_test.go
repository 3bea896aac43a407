package vulkan_test

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/shaders"
)

func TestNewBufferErrors(t *testing.T) {
	d := open(t)
	c := d.Info().Caps
	for _, kind := range []vulkan.Kind{vulkan.Local, vulkan.Staging} {
		for _, n := range []int{c.MaxAllocation + 1, c.HeapBytes + 1, 1 << 44, math.MaxInt} {
			if b, err := d.NewBuffer(n, kind); !errors.Is(err, vulkan.ErrNoMemory) {
				t.Fatalf("%d bytes of kind %d: %v, %v", n, kind, b, err) // a software driver may take it all
			}
		}
		for _, n := range []int{0, -1} {
			if b, err := d.NewBuffer(n, kind); err == nil {
				t.Errorf("%d bytes of kind %d: %v", n, kind, b)
			}
		}
	}
}

func module(t testing.TB) *shaders.Module {
	t.Helper()
	m, err := shaders.Find("eltwise/unary", "f32")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestDispatchErrors(t *testing.T) {
	d := open(t)
	c := d.Info().Caps
	m := module(t)
	p, err := d.NewPipeline(m.Code, []uint32{64, 0}, m.Kernel.Operands, 4*m.Kernel.Push, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Free()
	b := buffer(t, d, 4096, vulkan.Local)
	r, err := d.NewRecorder(1, 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Free()
	whole, one := make([]uint32, m.Kernel.Push), [3]int{1, 1, 1}
	for name, tt := range map[string]struct {
		second vulkan.Operand
		push   []uint32
		groups [3]int
	}{
		"too many bytes":   {vulkan.Operand{Buffer: b, Bytes: 4097}, whole, one},
		"no bytes":         {vulkan.Operand{Buffer: b}, whole, one},
		"behind the end":   {vulkan.Operand{Buffer: b, Offset: 4096, Bytes: 4}, whole, one},
		"before the start": {vulkan.Operand{Buffer: b, Offset: -256, Bytes: 4}, whole, one},
		"unaligned":        {vulkan.Operand{Buffer: b, Offset: c.OffsetAlign + 1, Bytes: 4}, whole, one},
		"short push":       {vulkan.Operand{Buffer: b, Bytes: 4}, whole[1:], one},
		"many groups":      {vulkan.Operand{Buffer: b, Bytes: 4}, whole, [3]int{1, c.MaxGroups[1] + 1, 1}},
		"negative groups":  {vulkan.Operand{Buffer: b, Bytes: 4}, whole, [3]int{-1, 1, 1}},
	} {
		if name == "unaligned" && c.OffsetAlign == 1 {
			continue
		}
		if err := r.Dispatch(p, []vulkan.Operand{{Buffer: b, Bytes: 16}, tt.second}, tt.push, tt.groups); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := r.Dispatch(p, []vulkan.Operand{{Buffer: b, Bytes: 16}}, whole, one); err == nil {
		t.Error("one operand: no error")
	}
}

func TestNewPipelineErrors(t *testing.T) {
	d := open(t)
	c := d.Info().Caps
	m := module(t)
	for name, tt := range map[string]struct{ operands, push, subgroup int }{
		"no operands": {0, 8, 0}, "many operands": {c.MaxBuffers + 1, 8, 0}, "much push": {2, c.MaxPush + 4, 0}, "odd push": {2, 6, 0},
		"large subgroup": {2, 8, 2 * c.SubgroupMost}, "odd subgroup": {2, 8, 3},
	} {
		if p, err := d.NewPipeline(m.Code, []uint32{64, 0}, tt.operands, tt.push, tt.subgroup); err == nil {
			t.Errorf("%s: %v", name, p)
		}
	}
	if p, err := d.NewPipeline(nil, nil, 2, 8, 0); err == nil {
		t.Errorf("no code: %v", p)
	}
}

func TestSubgroup(t *testing.T) {
	d := open(t)
	c := d.Info().Caps
	m := module(t)
	p, err := d.NewPipeline(m.Code, []uint32{64, 0}, m.Kernel.Operands, 4*m.Kernel.Push, c.SubgroupMost)
	if (err == nil) != c.SubgroupControl {
		t.Fatalf("control of subgroups is %v: %v", c.SubgroupControl, err)
	}
	if err == nil {
		p.Free()
	}
}

func TestFill(t *testing.T) {
	d := open(t)
	b := buffer(t, d, 32, vulkan.Staging)
	clear(b.Host())
	r, err := d.NewRecorder(0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Free()
	r.Fill(b, 4, 12, 0xabcd1234)
	r.Barrier()
	if err := errors.Join(r.End(), r.Run()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint32{0, 0xabcd1234, 0xabcd1234, 0xabcd1234, 0, 0, 0, 0} {
		if got := binary.LittleEndian.Uint32(b.Host()[4*i:]); got != want {
			t.Errorf("word %d is %x, want %x", i, got, want)
		}
	}
}

// TestRecordErrors checks that invalid recordings make End and Run return an error.
func TestRecordErrors(t *testing.T) {
	d := open(t)
	b := buffer(t, d, 64, vulkan.Staging)
	for name, record := range map[string]func(r *vulkan.Recorder){
		"copy to behind the end":   func(r *vulkan.Recorder) { r.Copy(b, 60, b, 0, 8) },
		"copy from behind the end": func(r *vulkan.Recorder) { r.Copy(b, 0, b, 60, 8) },
		"fill of odd bytes":        func(r *vulkan.Recorder) { r.Fill(b, 0, 6, 1) },
		"a timestamp too many":     func(r *vulkan.Recorder) { r.Timestamp() },
	} {
		r, err := d.NewRecorder(0, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		record(r)
		if r.End() == nil || r.Run() == nil {
			t.Errorf("%s: no error", name)
		}
		r.Free()
	}
}
