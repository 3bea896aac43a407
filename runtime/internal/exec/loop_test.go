package exec_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/exec"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/optest"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// counting is a device that counts allocations.
type counting struct {
	device.Device
	asked, held int
}

func (d *counting) Alloc(n int) []byte {
	d.asked++
	b := d.Device.Alloc(n)
	d.held += len(b)
	return b
}

func (d *counting) Free(b []byte) {
	d.held -= len(b)
	d.Device.Free(b)
}

const (
	loopWords = 11
	loopHeads = 2
	loopSize  = 4
	loopTexts = 2
	loopBeams = 3
)

// How a decoder makes its presents.
const (
	appends = "appends" // rows are added to the past
	copied  = "copied"  // the present is a copy
	slides  = "slides"  // one of two presents is cut to its last 5 rows
	both    = "both"    // one is cut and one a copy
	first   = "first"   // a graph of the first run makes the caches; later runs add rows to them
)

// noise returns a function that makes weights.
func noise(b *graph.Builder, r *rand.Rand, scale float64) func(shape ...int) string {
	return func(shape ...int) string {
		x := tensor.New(tensor.F32, shape...)
		for i := range tensor.View[float32](x) {
			tensor.View[float32](x)[i] = float32(r.NormFloat64() * scale)
		}
		return b.Constant(x)
	}
}

// declared returns a type with named extents.
func declared(d tensor.DType, text ...string) graph.Type {
	dims := make(graph.Dims, len(text))
	for i, x := range text {
		dims[i] = graph.ParseDim(x)
	}
	return graph.TensorOf(d, dims)
}

// loopDecoder builds a decoder of two layers.
func loopDecoder(b *graph.Builder, form string) *graph.Graph {
	weight := noise(b, rand.New(rand.NewPCG(3, 4)), 0.5)
	heads, size := fmt.Sprint(loopHeads), fmt.Sprint(loopSize)
	width := loopHeads * loopSize
	ids := b.Input("input_ids", declared(tensor.I32, "b", "s"))
	places := b.Input("position_ids", declared(tensor.I32, "b", "s"))
	mask := b.Input("attention_mask", declared(tensor.I32, "b", "t"))
	x := b.Op("Add", []string{b.Op("Gather", []string{weight(loopWords, width), ids}),
		b.Op("Gather", []string{weight(2000, width), places})})
	type present struct{ value, name string }
	var presents []present
	for i := range 2 {
		past := b.Input(fmt.Sprint("past_", i), declared(tensor.F32, "2", "b", heads, "p", size))
		seen := mask
		if (form == slides || form == both) && i == 1 {
			seen = ""
		}
		out := b.Node(kit.Microsoft, "Attention", []string{x, weight(width, 3*width), weight(3 * width), seen, past}, 2,
			graph.IntAttr("num_heads", loopHeads), graph.IntAttr("unidirectional", 1))
		x = b.Op("Add", []string{x, out[0]})
		p := present{out[1], fmt.Sprint("present_", i)}
		switch {
		case form == copied, form == both && i == 0:
			p.value = b.Op("Mul", []string{p.value, b.Float(1)})
		case form == slides, form == both:
			if i == 0 {
				break
			}
			p.value = b.Op("Slice", []string{p.value, b.Ints(-5), b.Ints(1 << 30), b.Ints(3)})
		}
		presents = append(presents, p)
	}
	b.Output(b.Op("MatMul", []string{x, weight(width, loopWords)}), "logits",
		declared(tensor.F32, "b", "s", fmt.Sprint(loopWords)))
	for _, p := range presents {
		b.Output(p.value, p.name, declared(tensor.F32, "2", "b", heads, "n", size))
	}
	return b.Graph()
}

// loopSearch builds a search with loopDecoder, for texts of most tokens.
func loopSearch(t *testing.T, name, form string, most int) *graph.Model {
	t.Helper()
	number := func(v int32) *tensor.Tensor {
		x := tensor.New(tensor.I32, 1)
		tensor.View[int32](x)[0] = v
		return x
	}
	b := graph.NewBuilder("g")
	b.Opset("", 17)
	in := []string{b.Input("ids", graph.TensorOf(tensor.I32, graph.Dims{graph.Known(loopTexts), graph.Known(3)})),
		b.Constant(number(int32(most))), ""}
	if name == "BeamSearch" {
		in = append(in, b.Constant(number(loopBeams)), b.Constant(number(1)))
	}
	attrs := []*graph.Attr{
		graph.IntAttr("eos_token_id", -1), graph.IntAttr("pad_token_id", loopWords-1), graph.GraphAttr("decoder", loopDecoder(b.Body("decoder"), form)),
	}
	if form == first {
		attrs = append(attrs, graph.GraphAttr("init_decoder", loopDecoder(b.Body("init_decoder"), form)))
	}
	out := b.Node(kit.Microsoft, name, in, 1, attrs...)
	b.Output(out[0], "texts", graph.Type{})
	m := b.Model(&graph.Model{File: "test"})
	if err := graph.Validate(m); err != nil {
		t.Fatal(err)
	}
	return m
}

// searched runs a search once and returns its plan and tokens.
func searched(t *testing.T, d device.Device, m *graph.Model) (*plan.Plan, []int32) {
	t.Helper()
	p, err := plan.Compile(m, standard.Registry(), d)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := tensor.From([]int32{1, 2, 3, 4, 5, 6}, loopTexts, 3)
	if err != nil {
		t.Fatal(err)
	}
	pl := planFor(t, p, []*tensor.Tensor{ids})
	e := exec.New(d, exec.Limits{})
	e.KeepNoResults() // so that allocations show what is copied
	defer e.Close()
	out, err := e.Run(context.Background(), pl, []tensor.Value{ids}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pl, tensor.View[int32](out[0].(*tensor.Tensor))
}

// TestLoopsAgree compares decoders that add rows to caches in place with decoders that copy caches,
// over hundreds of steps in which beams change places.
func TestLoopsAgree(t *testing.T) {
	d := optest.Device(t)
	for _, name := range []string{"BeamSearch", "GreedySearch"} {
		pl, want := searched(t, d, loopSearch(t, name, copied, 400))
		if text := pl.String(); strings.Count(text, "a new tensor in each run") != 2 || strings.Contains(text, "in place") {
			t.Errorf("%s: caches that are copied: the plan is\n%s", name, text)
		}
		pl, got := searched(t, d, loopSearch(t, name, appends, 400))
		if text := pl.String(); strings.Count(text, "in place, room 400") != 2 ||
			strings.Contains(text, "a new tensor in each run") {
			t.Errorf("%s: caches that grow: the plan is\n%s", name, text)
		}
		if _, other := searched(t, d, loopSearch(t, name, first, 400)); !slices.Equal(other, want) {
			t.Errorf("%s: a graph of the first run: got %d, want %d", name, other, want)
		}
		met := map[int32]bool{}
		for i := range want {
			if met[want[i]] = true; got[i] != want[i] {
				t.Fatalf("%s: token %d of all is %d, want %d", name, i, got[i], want[i])
			}
		}
		if len(met) < 3 {
			t.Errorf("%s: the texts have %d words", name, len(met))
		}
	}
}

// TestLoopsApart compares two decoders with caches that come to differ in length. One of them adds
// rows to the other cache in place before they do.
func TestLoopsApart(t *testing.T) {
	d := optest.Device(t)
	_, got := searched(t, d, loopSearch(t, "BeamSearch", slides, 60))
	_, want := searched(t, d, loopSearch(t, "BeamSearch", both, 60))
	if len(got) != loopTexts*60 || !slices.Equal(got, want) {
		t.Errorf("got %d, want %d", got, want)
	}
}

// TestLoopLimit gives searches less memory than their caches take.
func TestLoopLimit(t *testing.T) {
	d := &counting{Device: optest.Device(t)}
	for _, form := range []string{appends, copied, slides} {
		p, err := plan.Compile(loopSearch(t, "BeamSearch", form, 1000), standard.Registry(), d)
		if err != nil {
			t.Fatal(err)
		}
		ids := tensor.New(tensor.I32, loopTexts, 3)
		e := exec.New(d, exec.Limits{Run: 1 << 19})
		_, err = e.Run(context.Background(), planFor(t, p, []*tensor.Tensor{ids}), []tensor.Value{ids}, nil)
		e.Close()
		if !errors.Is(err, graph.ErrMemory) {
			t.Errorf("%s: got %v", form, err)
		}
	}
	if d.held != 0 {
		t.Errorf("%d bytes of the device are not given back", d.held)
	}
}

// TestLoopMemory counts allocations of a search. Steps late in a text allocate as much as early
// ones, and no memory of the device.
func TestLoopMemory(t *testing.T) {
	for _, name := range []string{"BeamSearch", "GreedySearch"} {
		cost := func(form string, most int) (heap, asked int) {
			d := &counting{Device: optest.Device(t)}
			m := loopSearch(t, name, form, most)
			var before, after goruntime.MemStats
			goruntime.ReadMemStats(&before)
			searched(t, d, m)
			goruntime.ReadMemStats(&after)
			if d.held != 0 {
				t.Errorf("%s: %d bytes of the device are not given back", name, d.held)
			}
			return int(after.TotalAlloc - before.TotalAlloc), d.asked
		}
		cost(appends, 1000) // fills the caches of the process
		a, asked := cost(appends, 200)
		b, _ := cost(appends, 600)
		c, more := cost(appends, 1000)
		if asked != more {
			t.Errorf("%s: texts of 200 tokens ask for memory of the device %d times, of 1000 %d times", name, asked, more)
		}
		early, late := (b-a)/400, (c-b)/400
		if late > early*11/10 {
			t.Errorf("%s: a token takes %d bytes early and %d bytes late", name, early, late)
		}
		a, _ = cost(copied, 200)
		b, _ = cost(copied, 600)
		c, _ = cost(copied, 1000)
		if was, is := (b-a)/400, (c-b)/400; is < was*14/10 {
			t.Errorf("%s: caches that are values take %d bytes early and %d bytes late", name, was, is)
		}
		t.Logf("%s: %d bytes a token early, %d late", name, early, late)
	}
}
