package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// testBlocks are the block sizes, in channels, that kernels are tested with.
var testBlocks = []int{4, 8, 16, 32}

// TestBlockedLevels checks that codes are blocked only if a vector kernel multiplies them in blocks
// of that size, or if there is only scalar code.
func TestBlockedLevels(t *testing.T) {
	for _, level := range blockedLevels {
		base, err := bindings.ParseISA(level.name)
		if err != nil {
			t.Fatal(err)
		}
		all, err := bindings.ParseISA(level.codes)
		if err != nil {
			t.Fatal(err)
		}
		var rows []bindings.ISA
		for _, k := range bindings.Variants("i8_conv_blocked") {
			rows = append(rows, k.ISA())
		}
		// Rows exist only for this processor.
		if all != 0 && all&bindings.DetectISA() == all && !slices.Contains(rows, all) {
			t.Errorf("no row of i8_conv_blocked is of levels %s", level.codes)
		}
		for _, isa := range []bindings.ISA{base, base | all} {
			l, estimated, codes := blockedLayout(isa)
			if l.Block() != level.block || !estimated || codes != (all != 0 && isa == all) {
				t.Errorf("levels %v: blocks of %d, estimated %v, codes %v", isa, l.Block(), estimated, codes)
			}
		}
	}
	if _, estimated, codes := blockedLayout(0); estimated || !codes {
		t.Errorf("scalar code: estimated %v, codes %v", estimated, codes)
	}
}

// toBlocks returns a value in blocks with NaNs as padding.
func toBlocks(list []float64, s tensor.Shape, block int) []byte {
	if list == nil {
		return nil
	}
	all := slices.Repeat([]float64{math.NaN()}, device.Blocked(block).Extents(s).Len())
	for i, v := range list {
		all[blockPlace(i, s, block)] = v
	}
	return stored(tensor.F32, all)
}

// fromBlocks returns a blocked value as a plain one.
func fromBlocks(b []byte, s tensor.Shape, block int) []float64 {
	all, list := loaded(tensor.F32, b), make([]float64, s.Len())
	for i := range list {
		list[i] = all[blockPlace(i, s, block)]
	}
	return list
}

// blockPlace returns the index in blocks of element i of a value [N,C,...].
func blockPlace(i int, s tensor.Shape, block int) int {
	inner := s[2:].Len()
	at, channel, image := i%inner, i/inner%s[1], i/inner/s[1]
	blocks := (s[1] + block - 1) / block
	return ((image*blocks+channel/block)*inner+at)*block + channel%block
}

// TestBlockedPooling compares all variants to the formula on plain values.
func TestBlockedPooling(t *testing.T) {
	t.Parallel()
	pool := testPool(t)
	r := rand.New(rand.NewPCG(23, 24))
	tried := map[string]bool{}
	for i, p := range poolings {
		p.Planes = []int{2 * 17, 2 * 3, 2 * 16, 2 * 31}[i%4]
		in, out := tensor.Shape{2, p.Planes / 2}, tensor.Shape{2, p.Planes / 2}
		for _, a := range p.Axes {
			in, out = append(in, a.In), append(out, a.Out)
		}
		x := quarters(r, in.Len())
		x[r.IntN(len(x))], x[r.IntN(len(x))] = math.NaN(), math.Inf(-1)
		for v := range 4 {
			maximum := v%2 == 0
			p.CountPad = v/2 == 0
			want := poolingFormula(&p, maximum, x)
			for _, k := range runnable(t, "f32_pooling_blocked") {
				for _, block := range testBlocks {
					w := blockedPoolWords(&p, maximum, in, device.Blocked(block))
					if !k.Fits(numbersOf(t, w)) {
						continue
					}
					tried[k.Variant()] = true
					l := device.Blocked(block)
					got := fromBlocks(runGuarded(t, k, w, pool, l.Bytes(tensor.F32, out), 4, toBlocks(x, in, block)), out, block)
					if at := differ(got, want, 0, 0x1p-21); at >= 0 {
						t.Fatalf("%d, %s in blocks of %d, maximum %v: element %d is %v, not %v", i, k.Variant(), block, maximum, at,
							got[at], want[at])
					}
				}
			}
		}
	}
	if len(tried) != len(runnable(t, "f32_pooling_blocked")) {
		t.Errorf("only %v fit", tried)
	}
}

// layoutDevice returns a device of levels isa that offers blocked values.
func layoutDevice(t *testing.T, isa bindings.ISA, pool *bindings.Pool) *Device {
	t.Helper()
	packs := NewPacks()
	t.Cleanup(packs.Close)
	d, err := New(isa, pool, pool.Threads(), packs)
	if err != nil {
		t.Fatal(err)
	}
	return d.WithLayouts(device.LayoutsBlocked)
}

// runStep runs a step on inputs of floats, nil if the step does not read one. It returns output 0,
// and checks that nothing around it is written.
func runStep(t *testing.T, d *Device, s *device.Step, n int, in ...[]byte) []byte {
	t.Helper()
	y, intact := guardedBytes(n, 4)
	list := make([]device.Recorded, len(s.Commands))
	for i := range s.Commands {
		list[i] = device.Record(&s.Commands[i], func(o device.Operand) int {
			if o.Place == device.In {
				return 3 + o.Index
			}
			return 2
		}, 1, device.AlignUp(s.Temp))
	}
	seg, err := d.Record(list)
	if err != nil {
		t.Fatal(err)
	}
	defer seg.Free()
	scratch := bindings.Alloc(s.Scratch() + 64)
	defer bindings.Free(scratch)
	var pin device.Pinner
	defer pin.Unpin()
	for i, b := range append([][]byte{scratch, y}, in...) {
		if b != nil {
			pin.Pin(unsafe.Pointer(unsafe.SliceData(b)))
			seg.Rebase(1+i, b)
		}
	}
	if _, err := seg.Run(nil, false); err != nil {
		t.Fatal(err)
	}
	if !intact() {
		t.Fatalf("%v wrote outside its result", s)
	}
	return y
}

func floatType(s ...int) *op.Value {
	return &op.Value{Type: graph.TensorOf(tensor.F32, graph.DimsOf(s))}
}

// eachLevels calls f with a device for each set of levels that this CPU can run.
func eachLevels(t *testing.T, f func(d *Device)) {
	pool := testPool(t)
	for _, name := range []string{"scalar", "avx2", "avx2,avx512", "neon"} {
		isa, err := bindings.ParseISA(name)
		if err != nil {
			t.Fatal(err)
		}
		if isa&^bindings.DetectISA() == 0 {
			f(layoutDevice(t, isa, pool))
		}
	}
}

// TestReorder copies values into blocks and back.
func TestReorder(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	eachLevels(t, func(d *Device) {
		for _, s := range []tensor.Shape{
			{1, 1, 1}, {2, 3, 5}, {1, 16, 4, 4}, {3, 17, 7, 9}, {2, 31, 1, 1}, {1, 40, 33, 5}, {1, 33, 2, 3, 4}, {2, 8, 100, 70}, {1, 150, 30, 30},
		} {
			v, block := floatType(s...), d.blocked.Block()
			x := quarters(r, s.Len())
			step, err := d.Bind(device.Reordering(v, device.Plain, d.blocked, "x", "y"))
			if err != nil {
				t.Fatal(err)
			}
			blocks := runStep(t, d, step, d.blocked.Bytes(tensor.F32, s), stored(tensor.F32, x))
			if i := differ(fromBlocks(blocks, s, block), x, 0, 0); i >= 0 {
				t.Fatalf("%v in blocks of %d: element %d differs", s, block, i)
			}
			if step, err = d.Bind(device.Reordering(v, d.blocked, device.Plain, "y", "x")); err != nil {
				t.Fatal(err)
			}
			back := loaded(tensor.F32, runStep(t, d, step, 4*s.Len(), toBlocks(x, s, block)))
			if i := differ(back, x, 0, 0); i >= 0 {
				t.Fatalf("%v out of blocks of %d: element %d is %v, not %v", s, block, i, back[i], x[i])
			}
		}
	})
}

// TestBlockedRows compares nodes computed on blocked values to the same on plain ones.
func TestBlockedRows(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 28))
	cases := []struct {
		op       string
		in       []tensor.Shape
		constant int // the constant input, from 1; 0 for none
	}{
		{"Relu", []tensor.Shape{{2, 17, 3, 5}}, 0},
		{"Sigmoid", []tensor.Shape{{1, 3, 70}}, 0},
		{"Clip", []tensor.Shape{{1, 31, 5, 5}, {}, {}}, 0},
		{"Sum", []tensor.Shape{{2, 5, 3, 3}, {2, 5, 3, 3}, {2, 5, 3, 3}}, 3},
		{"Add", []tensor.Shape{{2, 17, 3, 5}, {2, 17, 3, 5}}, 0},
		{"Sub", []tensor.Shape{{2, 17, 3, 5}, {2, 17, 3, 5}}, 2},
		{"Div", []tensor.Shape{{1}, {2, 17, 3, 5}}, 0},
		{"Mul", []tensor.Shape{{2, 48, 3, 5}, {2, 48, 1, 1}}, 0},
		{"Sub", []tensor.Shape{{48, 1, 1}, {2, 48, 3, 5}}, 0},
		{"Mul", []tensor.Shape{{2, 16, 7}, {1, 16, 1}}, 0},
		{"PRelu", []tensor.Shape{{2, 32, 7, 3}, {32, 1, 1}}, 2},
		{"Mul", []tensor.Shape{{2, 17, 3, 5}, {2, 17, 1, 1}}, 0},
		{"Div", []tensor.Shape{{1, 17, 1, 1}, {2, 17, 3, 5}}, 1},
		{"GlobalAveragePool", []tensor.Shape{{2, 17, 9, 5}}, 0},
		{"GlobalAveragePool", []tensor.Shape{{2, 16, 9, 5}}, 1},
		{"GlobalMaxPool", []tensor.Shape{{1, 48, 150}}, 0},
		{"GlobalLpPool", []tensor.Shape{{2, 17, 9, 5}}, 0},
	}
	eachLevels(t, func(d *Device) {
		for _, c := range cases {
			n := &graph.Node{Name: "n", Op: c.op, Version: 17, Outputs: []string{"y"}}
			b := &device.Binding{Node: n}
			var x [][]float64
			for i, s := range c.in {
				n.Inputs = append(n.Inputs, fmt.Sprint("x", i))
				b.In = append(b.In, floatType(s...))
				x = append(x, quarters(r, s.Len()))
				if i+1 == c.constant {
					b.In[i].Const, _ = tensor.FromBytes(tensor.F32, s, stored(tensor.F32, x[i]))
				}
			}
			o, row, err := standard.Registry().New(n)
			if err != nil {
				t.Fatal(err)
			}
			b.Op, b.Row = o, row
			if b.Out, err = kit.InferOutputs(o, n, b.In); err != nil {
				t.Fatal(err)
			}
			d.checkRow(t, b, x)
		}
	})
}

// checkRow compares the step on blocked operands to the step on plain ones.
func (d *Device) checkRow(t *testing.T, b *device.Binding, x [][]float64) {
	t.Helper()
	bind := func() *device.Step {
		t.Helper()
		s, err := d.Bind(b)
		if err != nil {
			t.Fatalf("%s: %v", b.Node.Op, err)
		}
		return s
	}
	out := b.OutShape(0)
	operands := func() (list [][]byte) {
		for i := range x {
			if l := b.InLayout(i); l == device.Plain {
				list = append(list, stored(tensor.F32, x[i]))
			} else {
				list = append(list, toBlocks(x[i], b.Shape(i), l.Block()))
			}
		}
		return list
	}
	want := loaded(tensor.F32, runStep(t, d, bind(), 4*out.Len(), operands()...))
	choices := d.Layouts(b)
	if len(choices) != 2 {
		t.Fatalf("%s of %v has choices %v", b.Node.Op, b.In[0].Type, choices)
	}
	b.InLayouts, b.OutLayouts = choices[1].In, choices[1].Out
	got := runStep(t, d, bind(), b.OutLayout(0).Bytes(tensor.F32, out), operands()...)
	list := loaded(tensor.F32, got)
	if l := b.OutLayout(0); l != device.Plain {
		list = fromBlocks(got, out, l.Block())
	}
	if i := differ(list, want, 0, 1e-6); i >= 0 {
		t.Fatalf("%s of %v in %v: element %d is %v, not %v", b.Node.Op, b.In[0].Type, b.InLayouts, i, list[i], want[i])
	}
}

// TestMostlyPadding uses convolutions with and without blocks that take much memory for padding.
func TestMostlyPadding(t *testing.T) {
	for _, c := range []struct {
		in, kernel, dilation, before int
		want                         bool
	}{
		{56, 3, 1, 1, false}, {7, 7, 1, 3, false}, {1, 1, 1, 0, false}, {1, 3, 20, 20, true}, {1, 2, 100000, 100000, true}, {40, 3, 60, 60, true},
	} {
		two := func(n int) []int { return []int{n, n} }
		x := convCase{images: 1, groups: 1, channels: 16, filter: 16, in: two(c.in), kernel: two(c.kernel), stride: ones(2),
			dilation: two(c.dilation), before: two(c.before), behind: two(c.before)}
		if got := mostlyPadding(x.shape()); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestNotBlocked uses nodes that are computed only on plain values.
func TestNotBlocked(t *testing.T) {
	d := layoutDevice(t, bindings.DetectISA(), testPool(t))
	for _, c := range []struct {
		op string
		in []tensor.Shape
	}{
		{"Relu", []tensor.Shape{{4, 17}}},
		{"Relu", []tensor.Shape{{4, 0, 3, 3}}},
		{"Add", []tensor.Shape{{2, 17, 3, 5}, {17, 1, 1}}},
		{"Add", []tensor.Shape{{2, 16, 3, 5}, {3, 5}}},
		{"Add", []tensor.Shape{{2, 16, 3, 1}, {2, 16, 1, 5}}},
		{"Less", []tensor.Shape{{2, 16, 3, 5}, {2, 16, 3, 5}}},
		{"Softmax", []tensor.Shape{{2, 16, 3, 5}}},
	} {
		n := &graph.Node{Op: c.op, Version: 17, Outputs: []string{"y"}}
		b := &device.Binding{Node: n}
		for i, s := range c.in {
			n.Inputs = append(n.Inputs, fmt.Sprint("x", i))
			b.In = append(b.In, floatType(s...))
		}
		o, row, err := standard.Registry().New(n)
		if err != nil {
			t.Fatal(err)
		}
		b.Op, b.Row = o, row
		if b.Out, err = kit.InferOutputs(o, n, b.In); err != nil {
			t.Fatal(err)
		}
		if list := d.Layouts(b); list != nil {
			t.Errorf("%s of %v has choices %v", c.op, c.in, list)
		}
		b.InLayouts = []device.Layout{d.blocked}
		if s, err := d.Bind(b); err == nil {
			t.Errorf("%s of %v is bound to %v", c.op, c.in, s)
		}
	}
}
