package cpu

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/moe"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// levelsOf returns the sets of levels that kernels of the ops need.
func levelsOf(t *testing.T, ops ...string) (list []bindings.ISA) {
	t.Helper()
	for _, op := range ops {
		for _, k := range runnable(t, op) {
			if !slices.Contains(list, k.ISA()) {
				list = append(list, k.ISA())
			}
		}
	}
	return append(list, bindings.DetectISA())
}

// TestExperts compares mixtures with packed constants to the scalar kernels with weights as they
// are, exactly and with rounded rows. Levels give the same bits for rounded rows, if their
// activations do.
func TestExperts(t *testing.T) {
	t.Parallel()
	pool := testPool(t)
	levels := levelsOf(t, "i8_block_panels", "f32_block_panels", "f32_nbits")
	for i := range expertTests {
		e := &expertTests[i]
		want := e.run(t, 0, nil, device.AccuracyExact, true)
		size := 0.0
		for _, v := range want {
			size = max(size, math.Abs(v))
		}
		scalar := e.run(t, 0, nil, device.AccuracyFast, false)
		rounds := e.weights != tensor.F16 && min(e.size, e.deep) >= leastPacked
		if at := differ(scalar, want, 0.03*size, 0); at >= 0 {
			t.Errorf("%+v: element %d is %v rounded, and %v", *e, at, scalar[at], want[at])
		}
		if rounds == (differ(scalar, want, 1e-5*size, 0) < 0) {
			t.Errorf("%+v: rows are rounded, or not: want %v", *e, rounds)
		}
		tolerance := 0.0
		if e.activation == "silu" || e.activation == "swiglu" || !rounds {
			tolerance = 0.01 * size
		}
		for _, isa := range levels {
			if got := e.run(t, isa, pool, device.AccuracyFast, false); differ(got, scalar, tolerance, 0) >= 0 {
				t.Errorf("%+v: levels %v give others than scalar kernels", *e, isa)
			}
			exact := 1e-5 * size
			if e.half {
				exact = 2e-3 * size
			}
			got := e.run(t, isa, pool, device.AccuracyExact, false)
			if at := differ(got, want, exact, 0); at >= 0 {
				t.Errorf("%+v: levels %v: element %d is %v, not %v", *e, isa, at, got[at], want[at])
			}
			if slices.Equal(got, scalar) && rounds {
				t.Errorf("%+v: levels %v round where they may not", *e, isa)
			}
		}
	}
}

// TestExpertsLevel checks which levels of accuracy round the rows of codes.
func TestExpertsLevel(t *testing.T) {
	packs := NewPacks()
	defer packs.Close()
	d, err := New(bindings.DetectISA(), testPool(t), 1, packs)
	if err != nil {
		t.Fatal(err)
	}
	for level := range 5 {
		for a, rounds := range map[device.Accuracy]bool{
			device.AccuracyModel: level == 4, device.AccuracyExact: false, device.AccuracyFast: true,
		} {
			e := expertTest{weights: tensor.U8, bits: 4, block: 32, level: level, rows: 2, size: 32, deep: 32, experts: 2, k: 1, activation: "relu"}
			b, in := e.binding(t, d.WithAccuracy(a), false)
			e.bound(t, b, in)
			b.step.Call = func(*op.Run) error { return nil }
			if text := b.step.String(); strings.Contains(text, "i8_block_panels/") != rounds || strings.Contains(text, "f32_block_panels/") == rounds {
				t.Errorf("level %d, accuracy %d: %s", level, a, text)
			}
		}
	}
}

// TestExpertPieces packs experts one by one, in several threads, and all at once.
func TestExpertPieces(t *testing.T) {
	testenv.Need(t, bindings.Available())
	const experts = 5
	s := cases.NewSource("experts")
	check := func(k bindings.Kernel, w *tensor.Tensor, n int, cut pieces) {
		t.Helper()
		if cut.rows != experts || cut.step < experts || cut.unit != 1 {
			t.Fatalf("%s: %d rows in steps of %d", k.Variant(), cut.rows, cut.step)
		}
		whole, parts := make([]byte, n), make([]byte, n)
		if err := cut.each(w, whole, 1); err != nil {
			t.Fatal(err)
		}
		cut.step = 1
		if err := cut.each(w, parts, 3); err != nil || !bytes.Equal(whole, parts) {
			t.Errorf("%s: pieces are not the whole: %v", k.Variant(), err)
		}
		if each := n / experts; bytes.Equal(whole[:each], whole[each:][:each]) {
			t.Errorf("%s: two experts are equal", k.Variant())
		}
	}
	l := &moe.QMoELayer{ExpertLayer: moe.ExpertLayer{Out: 21, In: 40}, Bits: 4, Block: 64, Blocks: 1, RowBytes: 20, PackedZeros: true}
	c := &nbitsConstants{s.Between(tensor.U8, 0, 255, experts, 21, 20), s.Any(tensor.F16, experts, 21), s.Between(tensor.U8, 0, 255, experts, 11)}
	codes, blocks := expertNBits(*l, tensor.F16, true), s.Any(tensor.Q5_K, experts, 21, 512)
	for _, k := range runnable(t, "i8_block_panels") {
		for _, of := range []struct {
			v panelsWords
			w *tensor.Tensor
			c *expertCodes
		}{
			{panelsWords{n: 21, k: 512, of: tensor.Q5_K.Blocks()}, blocks, nil},
			{panelsWords{n: 21, k: 40, codes: &codes}, c.codes, &expertCodes{c, l}},
		} {
			of.v.m = graph.Known(1)
			list := numbersOf(t, of.v.words())
			check(k, of.w, experts*k.Packed(list, panelsBlocks), panelsPieces(k, list, experts, of.w, of.c))
		}
	}
}

// TestExpertGroups checks which experts are computed at a time.
func TestExpertGroups(t *testing.T) {
	for _, c := range []struct {
		rows, want []int
		most       int
	}{
		{[]int{1, 0, 1, 1}, []int{3}, 64},
		{[]int{40, 24, 1, 0, 63, 64, 0}, []int{64, 64, 64}, 64},
		{[]int{5, 70, 0, 2}, []int{5, 70, 2}, 70},
		{[]int{0, 0}, []int{0}, 64},
	} {
		lists := make([][]moe.Route, len(c.rows))
		for e, n := range c.rows {
			lists[e] = make([]moe.Route, n)
		}
		var got []int
		for g := (expertGroup{}); g.end < len(lists); {
			g = nextGroup(lists, g.end, c.most)
			got = append(got, g.rows)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("experts with %v rows: groups of %v, not %v", c.rows, got, c.want)
		}
	}
}

// TestExpertsListed multiplies rows of one expert, of all numbers that it may get. The kernels of
// the commands are those that the step lists.
func TestExpertsListed(t *testing.T) {
	for i := range expertTests {
		e := &expertTests[i]
		for _, variable := range []bool{false, true} {
			for _, a := range []device.Accuracy{device.AccuracyExact, device.AccuracyFast} {
				e.checkListed(t, a, variable)
			}
		}
	}
}

func (e *expertTest) checkListed(t *testing.T, a device.Accuracy, variable bool) {
	t.Helper()
	pool := testPool(t)
	packs := NewPacks()
	defer packs.Close()
	d, err := New(bindings.DetectISA(), pool, 1, packs)
	if err != nil {
		t.Fatal(err)
	}
	b, in := e.binding(t, d.WithAccuracy(a), variable)
	x, layers := e.bound(t, b, in)
	listed := map[string]bool{}
	for _, c := range b.step.Called {
		one := device.Step{Commands: []device.Command{c}}
		listed[one.String()] = true
	}
	met := map[string]bool{}
	for m := 1; m <= e.rows; m++ {
		c := &calls{binder: &binder{Binding: &device.Binding{}, dev: b.dev, step: &device.Step{}}}
		list := make([]float32, m*max(2*e.deep, e.size))
		for i, l := range x.layers {
			if l == nil {
				continue
			}
			if err := l.multiply(c, &layers[i], e.experts-1, m, list, list); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.activate(c, list[:m*e.deep], list[:m*e.deep]); err != nil {
			t.Fatal(err)
		}
		for _, command := range c.step.Commands {
			one := device.Step{Commands: []device.Command{command}}
			met[one.String()] = true
			if !listed[one.String()] {
				t.Errorf("%+v: %d rows run %v, which %v lacks", *e, m, &one, listed)
			}
		}
	}
	for text := range listed {
		if !met[text] && !strings.Contains(text, "_to_") {
			t.Errorf("%+v: %s is listed and does not run", *e, text)
		}
	}
}
