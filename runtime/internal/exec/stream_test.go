package exec_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// TestStreams compares the runs of a stream with runs that are given the states.
func TestStreams(t *testing.T) {
	checkStreams(t, func(testing.TB) device.Accelerator { return nil })
}

// TestStreamsOffloaded is TestStreams of streams on an accelerator.
func TestStreamsOffloaded(t *testing.T) { checkStreams(t, offloading) }

// offloading returns an accelerator that computes every node it can.
func offloading(t testing.TB) device.Accelerator {
	t.Helper()
	d, err := vulkan.Open("0", vulkan.Options{Everything: true, Validate: func(message string) { t.Error(message) }})
	testenv.Need(t, err)
	t.Cleanup(d.Close)
	a, err := d.Accelerator()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func checkStreams(t *testing.T, accelerator func(testing.TB) device.Accelerator) {
	for _, tt := range streamNets {
		t.Run(tt.name, func(t *testing.T) {
			s := openNet(t, tt.build())
			states := graph.FindStates(tt.build().Graph)
			if len(states) != tt.states {
				t.Fatalf("states are %v", states)
			}
			a := accelerator(t)
			runs := openNetOn(t, tt.build(), a)
			st, err := runs.NewStream(states, 4)
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			d := &driver{t: t, session: s, stream: st, states: states, rand: rand.New(rand.NewPCG(7, 8))}
			for round := range 2 {
				d.reset()
				for _, rows := range []int{3, 1, 1, 1, 2, 1, 5, 1, 1, 1, 1, 9, 1, 1} {
					d.step(rows)
				}
				if round > 0 || !st.Grows() || tt.name == "window" {
					continue
				}
				d.fork()
				d.truncate(6)
				d.step(1)
				d.step(4)
			}
			pl, err := st.Plan(t.Context(), d.inputs(1))
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range pl.Lengths.States {
				if x.InRoom != tt.room {
					t.Errorf("state %q lies in room: %t", pl.Program.Names[x.In], x.InRoom)
				}
				if held := pl.Slots[x.In].Layout == device.Offloaded; a != nil && held == tt.here {
					t.Errorf("state %q lies on the accelerator: %t", pl.Program.Names[x.In], held)
				}
			}
		})
	}
}

func openNet(t *testing.T, m *graph.Model) byname.Session {
	t.Helper()
	return openNetOn(t, m, nil)
}

func openNetOn(t *testing.T, m *graph.Model, a device.Accelerator) byname.Session {
	t.Helper()
	if err := graph.Validate(m); err != nil {
		t.Fatal(err)
	}
	s, err := byname.New(m, runtime.Options{Threads: 2, Registry: standard.Registry(), Accelerator: a})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// driver runs a stream and, beside it, the session with states that the driver passes on.
type driver struct {
	t       *testing.T
	session byname.Session
	stream  byname.Stream
	states  []graph.State
	rand    *rand.Rand
	own     map[string]tensor.Value
}

func (d *driver) reset() {
	d.stream.Reset()
	d.own = map[string]tensor.Value{}
	for _, v := range d.session.Inputs() {
		for _, s := range d.states {
			if s.Input == v.Name {
				shape := make([]int, len(v.Type.Dims))
				for i, x := range v.Type.Dims {
					shape[i], _ = x.Eval(func(symbol string) (int, bool) {
						if symbol == "b" {
							return 2, true
						}
						return 0, true
					})
				}
				d.own[v.Name] = tensor.New(v.Type.DType, shape...)
			}
		}
	}
}

// inputs makes the inputs of a run that adds rows.
func (d *driver) inputs(rows int) map[string]tensor.Value {
	in := map[string]tensor.Value{}
	for _, v := range d.session.Inputs() {
		if d.own[v.Name] != nil {
			continue
		}
		shape := make([]int, len(v.Type.Dims))
		for i, x := range v.Type.Dims {
			n, _ := x.Eval(func(symbol string) (int, bool) {
				switch symbol {
				case "b":
					return 2, true
				case "s":
					return rows, true
				case "total_sequence_length":
					return d.stream.Length() + rows, true
				}
				return d.stream.Length(), true
			})
			shape[i] = n
		}
		x := tensor.New(v.Type.DType, shape...)
		switch v.Type.DType {
		case tensor.F32:
			for i := range tensor.View[float32](x) {
				tensor.View[float32](x)[i] = float32(d.rand.NormFloat64())
			}
		case tensor.I64:
			for i := range tensor.View[int64](x) {
				tensor.View[int64](x)[i] = 1
			}
		}
		in[v.Name] = x
	}
	return in
}

func (d *driver) step(rows int) {
	d.t.Helper()
	in := d.inputs(rows)
	got, err := d.stream.Run(context.Background(), in)
	if err != nil {
		d.t.Fatal(err)
	}
	for name, v := range d.own {
		in[name] = v
	}
	want, err := d.session.RunValues(context.Background(), in)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, s := range d.states {
		d.own[s.Input] = want[s.Output]
		x, err := d.stream.State(s.Input)
		if err != nil {
			d.t.Fatal(err)
		}
		d.same("state "+s.Input, x, want[s.Output])
	}
	d.same("y", got["y"], want["y"])
	if len(got) != len(want)-len(d.states) {
		d.t.Fatalf("a run of the stream gives %d results", len(got))
	}
}

func (d *driver) same(what string, got, want tensor.Value) {
	d.t.Helper()
	x, _ := got.(*tensor.Tensor)
	y := want.(*tensor.Tensor)
	if x == nil || !x.Shape().Equal(y.Shape()) || x.DType() != y.DType() {
		d.t.Fatalf("%s is %v, not %v (length %d)", what, x, y, d.stream.Length())
	}
	if x.DType() != tensor.F32 {
		if !slices.Equal(x.Bytes(), y.Bytes()) {
			d.t.Fatalf("%s differs", what)
		}
		return
	}
	for i, v := range tensor.View[float32](y) {
		if g := tensor.View[float32](x)[i]; math.Abs(float64(g-v)) > 1e-5*(1+math.Abs(float64(v))) {
			d.t.Fatalf("%s: element %d is %v, not %v (length %d)", what, i, g, v, d.stream.Length())
		}
	}
}

// fork runs a copy of the stream apart from it.
func (d *driver) fork() {
	d.t.Helper()
	other, err := d.stream.Fork()
	if err != nil {
		d.t.Fatal(err)
	}
	defer other.Close()
	own := map[string]tensor.Value{}
	for name, v := range d.own {
		own[name] = v
	}
	beam := &driver{d.t, d.session, other, d.states, d.rand, own}
	beam.step(2)
	d.step(1)
	beam.step(1)
	d.step(3)
}

func (d *driver) truncate(rows int) {
	d.t.Helper()
	if err := d.stream.Truncate(rows); err != nil {
		d.t.Fatal(err)
	}
	for _, s := range d.states {
		x, err := d.stream.State(s.Input)
		if err != nil {
			d.t.Fatal(err)
		}
		if x.Shape()[s.Axis] != rows {
			d.t.Fatalf("state %q is %v after %d rows were left", s.Input, x, rows)
		}
		d.own[s.Input] = x
	}
}

// TestStreamPlans checks that tokens share the plan of a room.
func TestStreamPlans(t *testing.T) {
	for _, tt := range streamNets {
		if !tt.room {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			s := openNet(t, tt.build())
			states := graph.FindStates(tt.build().Graph)
			st, err := s.NewStream(states, 32)
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			d := &driver{t: t, session: s, stream: st, states: states, rand: rand.New(rand.NewPCG(7, 8))}
			d.reset()
			d.step(2)
			first, err := st.Plan(t.Context(), d.inputs(1))
			if err != nil {
				t.Fatal(err)
			}
			for range 10 {
				d.step(1)
				if pl, err := st.Plan(t.Context(), d.inputs(1)); err != nil || pl != first {
					t.Fatalf("length %d has a plan of its own (%v): inputs %v and %v", st.Length(), err, inputTypes(pl),
						inputTypes(first))
				}
			}
		})
	}
}

// TestStreamErrors gives streams invalid states and inputs.
func TestStreamErrors(t *testing.T) {
	m := streamNets[0].build()
	s := openNet(t, m)
	states := graph.FindStates(m.Graph)
	for _, list := range [][]graph.State{
		{{Input: "none", Output: "present.key", Axis: 2}},
		{{Input: "past.key", Output: "none", Axis: 2}},
	} {
		if _, err := s.NewStream(list, 4); !errors.Is(err, graph.ErrMissing) {
			t.Errorf("%v: %v", list, err)
		}
	}
	if _, err := s.NewStream([]graph.State{{Input: "past.key", Output: "present.key", Axis: 3}},
		4); !errors.Is(err, graph.ErrShape) {
		t.Error(err)
	}
	st, err := s.NewStream(states, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	x := tensor.New(tensor.F32, 2, 3, 16)
	if _, err := st.Run(context.Background(),
		map[string]tensor.Value{"x": x, "past.key": x}); !errors.Is(err, graph.ErrState) {
		t.Error("a state is given:", err)
	}
	if _, err := st.Run(context.Background(), nil); !errors.Is(err, graph.ErrMissing) {
		t.Error("an input is missing:", err)
	}
	if _, err := st.Run(context.Background(), map[string]tensor.Value{"x": x}); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Run(context.Background(),
		map[string]tensor.Value{"x": tensor.New(tensor.F32, 3, 3, 16)}); !errors.Is(err, graph.ErrShape) {
		t.Error("another batch:", err)
	}
	if err := st.Truncate(4); !errors.Is(err, graph.ErrState) {
		t.Error("more rows than there are:", err)
	}
	if _, err := st.State("x"); !errors.Is(err, graph.ErrMissing) {
		t.Error(err)
	}
	if err := st.SetState("past.key", tensor.New(tensor.F64, 2, 2, 1, 8)); !errors.Is(err, graph.ErrShape) {
		t.Error(err)
	}
}

func inputTypes(pl *plan.Plan) []graph.Type {
	var list []graph.Type
	for _, id := range pl.Program.Inputs {
		list = append(list, pl.Slots[id].Type)
	}
	return list
}

// TestBoundStreams compares bound runs of a stream, between other runs that make its memory larger,
// with runs of another stream, and counts their allocations.
func TestBoundStreams(t *testing.T) {
	checkBoundStreams(t, func(testing.TB) device.Accelerator { return nil })
}

// TestBoundStreamsOffloaded is TestBoundStreams on an accelerator.
func TestBoundStreamsOffloaded(t *testing.T) { checkBoundStreams(t, offloading) }

func checkBoundStreams(t *testing.T, accelerator func(testing.TB) device.Accelerator) {
	for _, tt := range streamNets {
		if !tt.room && tt.name != "lstm" && tt.name != "scatter" || tt.name == "concat" {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			a := accelerator(t)
			s := openNetOn(t, tt.build(), a)
			states := graph.FindStates(tt.build().Graph)
			var streams [2]byname.Stream
			for i := range streams {
				st, err := s.NewStream(states, 4)
				if err != nil {
					t.Fatal(err)
				}
				defer st.Close()
				streams[i] = st
			}
			d := &driver{t: t, session: s, stream: streams[0], states: states, rand: rand.New(rand.NewPCG(7, 8))}
			d.reset()
			first := d.inputs(1)
			b, err := streams[1].Bind(t.Context(), first)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			at, out := inputOf(s, "x"), outputOf(s, "y")
			for i := range 20 {
				if i%7 == 3 {
					in := d.inputs(5)
					for _, st := range streams {
						if _, err := st.Run(context.Background(), in); err != nil {
							t.Fatal(err)
						}
					}
				}
				in := d.inputs(1)
				copy(b.Input(at).Bytes(), in["x"].(*tensor.Tensor).Bytes())
				if err := b.Run(context.Background()); err != nil {
					t.Fatal(err)
				}
				want, err := streams[0].Run(context.Background(), in)
				if err != nil {
					t.Fatal(err)
				}
				d.same("y", b.Output(out), want["y"])
				for _, x := range states {
					got, err := streams[1].State(x.Input)
					if err != nil {
						t.Fatal(err)
					}
					want, err := streams[0].State(x.Input)
					if err != nil {
						t.Fatal(err)
					}
					d.same(x.Input, got, want)
				}
			}
			if n := testing.AllocsPerRun(5, func() {
				if err := b.Run(context.Background()); err != nil {
					t.Fatal(err)
				}
			}); n != 0 && a == nil && goruntime.GOOS != "js" { // a pause for the page's events allocates
				t.Errorf("a run allocates %v times", n)
			}
			streams[1].Reset()
			if err := b.Run(context.Background()); err != nil {
				t.Fatal("after a reset:", err)
			}
		})
	}
}

func inputOf(s byname.Session, name string) int {
	return slices.IndexFunc(s.Inputs(), func(v *graph.Value) bool { return v.Name == name })
}

func outputOf(s byname.Session, name string) int {
	return slices.IndexFunc(s.Outputs(), func(v *graph.Value) bool { return v.Name == name })
}

// TestStreamUnnamedExtent gives a state with one open extent without a name the batch of the inputs,
// and refuses one with two.
func TestStreamUnnamedExtent(t *testing.T) {
	for _, tt := range []struct {
		state string
		want  tensor.Shape
	}{
		{"2,?,4", tensor.Shape{2, 3, 4}}, {"?,?,4", nil},
	} {
		n := newNet()
		n.input("x", tensor.F32, "?,4")
		n.input("state", tensor.F32, tt.state)
		n.output("stateN", tensor.F32, "?,?,?")
		n.node("Add state x -> stateN")
		st, err := openNet(t, n.model(17)).NewStream([]graph.State{{Input: "state", Output: "stateN", Axis: -1}}, 4)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		_, err = st.Run(t.Context(), map[string]tensor.Value{"x": tensor.New(tensor.F32, 3, 4)})
		if tt.want == nil {
			if !errors.Is(err, graph.ErrShape) || !strings.Contains(err.Error(), "set the state") {
				t.Errorf("%s: %v", tt.state, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := st.State("state"); err != nil || !got.Shape().Equal(tt.want) {
			t.Errorf("%s: the state is %v (%v), want %v", tt.state, got, err, tt.want)
		}
	}
}
