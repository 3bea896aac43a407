package plan

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Listing describes a plan for readers: steps, devices, operands and memory.
type Listing struct {
	Steps  []ListedStep `json:"steps"`
	Left   []LeftNode   `json:"left,omitempty"`
	Memory Memory       `json:"memory"`
}

// ListedStep is one step.
type ListedStep struct {
	Node    string          `json:"node"`
	Op      string          `json:"op"`
	Device  string          `json:"device"`
	Binder  string          `json:"binder"`
	How     string          `json:"how"` // device, binder and kernels in one line, as profiles have it
	Kernels []ListedKernel  `json:"kernels,omitempty"`
	Scratch int             `json:"scratch_bytes"`
	Inputs  []ListedOperand `json:"inputs"`
	Outputs []ListedOperand `json:"outputs"`
	Bodies  []ListedBody    `json:"bodies,omitempty"`
	// Stays is the reason why the accelerator does not compute the step; empty without an
	// accelerator.
	Stays string `json:"stays,omitempty"`
}

// ListedKernel is one command of a step.
type ListedKernel struct {
	Kernel  string   `json:"kernel"`
	Parts   []string `json:"parts,omitempty"` // kernels that it calls
	Scratch int      `json:"scratch_bytes"`
}

// ListedOperand is an input or an output of a step.
type ListedOperand struct {
	Index  int    `json:"index"`
	Name   string `json:"name"`
	Type   string `json:"type"`
	Layout string `json:"layout,omitempty"` // empty for plain
	Bytes  *int   `json:"bytes,omitempty"`  // nil if known only while running
	Place  string `json:"place"`
	Room   int    `json:"room,omitempty"`         // rows of the memory of a growing state
	Offset *int   `json:"offset,omitempty"`       // in the arena
	Packed int    `json:"packed_bytes,omitempty"` // packed size of a constant
	View   string `json:"view_of,omitempty"`
	Over   string `json:"over,omitempty"` // the input that the output overwrites in place
}

// ListedBody is a graph that a step may run. If the extents of its inputs are known only while
// running, Plan is nil.
type ListedBody struct {
	Name  string `json:"name"`
	First bool   `json:"first_iteration,omitempty"` // later ones may have other extents
	// States are the states that runs of the graph hand on. Assumed lists the values assumed for
	// numbers that are known only while running.
	States  []ListedState `json:"states,omitempty"`
	Assumed string        `json:"assumed,omitempty"`
	Plan    *Listing      `json:"plan,omitempty"`
	Why     string        `json:"why,omitempty"` // the reason why there is no plan
}

// LeftNode is a node that is planned during the run, once the values that it waits for exist.
type LeftNode struct {
	Node     string   `json:"node"`
	Op       string   `json:"op"`
	Extents  []string `json:"waits_for_extents,omitempty"`  // of these values
	Elements []string `json:"waits_for_elements,omitempty"` // of these values
}

// Memory is the memory of a run in bytes, without weights, inputs and values of unknown size.
// Bodies is the most that the graphs of one step take.
type Memory struct {
	Arena    int `json:"arena_bytes"`
	Unshared int `json:"arena_bytes_without_sharing"`
	Scratch  int `json:"scratch_bytes"`
	Results  int `json:"result_bytes"`
	Bodies   int `json:"body_bytes,omitempty"`
	Device   int `json:"device_bytes,omitempty"` // of an accelerator's memory
	Packed   int `json:"packed_constant_bytes"`
	Peak     int `json:"peak_bytes"`
}

// Listing lists the plan. It plans the graphs of nodes as a run does.
func (pl *Plan) Listing() *Listing {
	packed := map[*byte]int{}
	l := pl.list(packed)
	for _, n := range packed {
		l.Memory.Packed += n
	}
	l.Memory.Peak += l.Memory.Packed
	return l
}

// list lists the plan, and notes the packed constants of its steps.
func (pl *Plan) list(packed map[*byte]int) *Listing {
	l := &Listing{Steps: []ListedStep{}, Memory: Memory{Arena: pl.ArenaBytes, Unshared: pl.NaiveBytes,
		Scratch: pl.ScratchBytes, Results: pl.ResultBytes, Device: pl.DeviceBytes}}
	for i := range pl.Steps {
		s := pl.listStep(i, packed)
		for _, b := range s.Bodies {
			if b.Plan != nil {
				l.Memory.Bodies = max(l.Memory.Bodies, b.Plan.Memory.Peak)
			}
		}
		l.Steps = append(l.Steps, s)
	}
	for _, n := range pl.rest {
		l.Left = append(l.Left, pl.listLeft(n))
	}
	l.Memory.Peak = pl.PeakBytes() + l.Memory.Bodies
	return l
}

func (pl *Plan) listStep(i int, packed map[*byte]int) ListedStep {
	s := &pl.Steps[i]
	l := ListedStep{
		Node: s.Label(), Op: s.OpName(), Device: pl.deviceOf(s), Binder: s.Binder, How: pl.How(i), Scratch: s.Scratch(),
		Inputs: []ListedOperand{}, Outputs: []ListedOperand{}, Stays: pl.Stays(i),
	}
	sizes := map[int]int{}
	listed := s.Listed()
	for k := range listed {
		c := &listed[k]
		l.Kernels = append(l.Kernels, listKernel(c))
		for _, o := range c.Operands {
			if o.Place == device.Packed {
				packed[unsafe.SliceData(o.Data)] = len(o.Data)
				sizes[o.Index] = len(o.Data)
			}
		}
	}
	for k, id := range s.inputs() {
		if id >= 0 {
			o := pl.listOperand(k, id, s.InLayouts)
			if o.Packed = sizes[k]; o.Packed == 0 && s.OnHost() && s.Drops(k) {
				o.Place += ", packed"
			}
			l.Inputs = append(l.Inputs, o)
		}
	}
	for k, id := range s.Out {
		if id < 0 {
			continue
		}
		o := pl.listOperand(k, id, s.OutLayouts)
		if k == 0 && s.Over >= 0 {
			o.Over = pl.Name(s.In[s.Over])
		}
		l.Outputs = append(l.Outputs, o)
	}
	for _, b := range pl.bodies(s) {
		l.Bodies = append(l.Bodies, b.list(packed))
	}
	return l
}

func listKernel(c *device.Command) ListedKernel {
	l := ListedKernel{Kernel: kernelName(c.Kernel), Scratch: c.Scratch}
	for _, p := range c.Parts {
		l.Parts = append(l.Parts, kernelName(p))
	}
	return l
}

func kernelName(k device.Kernel) string { return k.Op() + "/" + k.Variant() }

// places are the names of places.
var places = map[Place]string{
	Unused: "unused", Input: "input", Const: "constant", Arena: "arena", Result: "result",
	Dynamic: "made while running", View: "view", Earlier: "earlier stage", InState: "state",
}

func (pl *Plan) listOperand(k, id int, layouts []device.Layout) ListedOperand {
	s := &pl.Slots[id]
	o := ListedOperand{Index: k, Name: pl.Name(id), Type: s.Type.String(), Place: places[s.Place]}
	if n := s.Bytes(); s.Most != nil {
		o.Bytes = &n
	}
	if k < len(layouts) && layouts[k] != device.Plain && layouts[k] != device.Offloaded {
		o.Layout = layouts[k].String()
	}
	switch s.Place {
	case InState:
		pl.listState(&o, id)
	case Arena:
		if o.Offset = &s.Offset; s.Layout.IsOffloaded() {
			o.Place = pl.Program.device.Accelerator().Name()
		}
	case View:
		o.View = pl.Name(s.ViewOf)
	}
	return o
}

// listState sets the fields of an operand that is held in the memory of a state.
func (pl *Plan) listState(o *ListedOperand, id int) {
	for _, s := range pl.Lengths.States {
		if s.In != id && s.Out != id {
			continue
		}
		if s.InRoom {
			o.Room = s.Room
		}
		if s.Out == id {
			o.Over = pl.Program.Names[s.In]
		}
	}
}

func (b *bodyPlan) list(packed map[*byte]int) ListedBody {
	l := ListedBody{Name: b.attr, First: b.first}
	if b.err != nil {
		l.Why = b.err.Error()
		return l
	}
	l.Plan = b.plan.list(packed)
	if b.loops != nil {
		l.States, l.Assumed = b.plan.listStates(), b.loops.Assumed
	}
	return l
}

// listLeft lists the values that a node waits for: inputs with unknown extents, and inputs with
// elements that decide extents.
func (pl *Plan) listLeft(n *Node) LeftNode {
	l := LeftNode{Node: n.Label(), Op: n.OpName()}
	for _, id := range n.In {
		switch {
		case id < 0:
		case !pl.ready[id]:
			l.Extents = append(l.Extents, pl.Program.Names[id])
		case slices.Contains(pl.exposed, id):
			l.Elements = append(l.Elements, pl.Program.Names[id])
		}
	}
	return l
}

// How says where a step runs and with which kernels, such as "cpu gemm: f32_gemm/12x32_avx512". For
// a step in Go that makes commands while it runs, it names the row that bound it and the kernels
// that the row has chosen, such as "host: trees".
func (pl *Plan) How(i int) string {
	s := &pl.Steps[i]
	if s.OnHost() {
		if s.Binder != "host" {
			return "host: " + s.Step.String()
		}
		return "host"
	}
	return pl.deviceOf(s) + " " + s.Step.String()
}

// HowRan is How for step i of a segment, by what an accelerator ran for the step's commands. Kernels of
// other steps that did some of the work follow as "with" and the labels of these steps.
func (pl *Plan) HowRan(seg *Segment, i int, ran []device.Ran) string {
	s := &pl.Steps[i]
	var own device.Step
	var others []string
	for _, r := range ran {
		for _, k := range r.Kernels {
			own.Commands = append(own.Commands, device.Command{Kernel: k})
		}
		for _, by := range r.By {
			if at := seg.Owner[by]; at != i && !slices.Contains(others, pl.Steps[at].Label()) {
				others = append(others, pl.Steps[at].Label())
			}
		}
	}
	own.Binder = s.Binder
	how := pl.deviceOf(s) + " " + own.String()
	if len(others) > 0 {
		how += " with " + strings.Join(others, ", ")
	}
	return how
}

// Stays returns the reason why the accelerator does not compute step i; empty without an accelerator.
func (pl *Plan) Stays(i int) string {
	if i >= len(pl.stayed) {
		return ""
	}
	return pl.stayed[i]
}

// Work returns the multiplications and additions of step i; 0 if its row does not count them or an
// extent is not known.
func (pl *Plan) Work(i int) float64 {
	s := &pl.Steps[i]
	if s.Row.Work == nil {
		return 0
	}
	in, ok := pl.shapes(s.inputs())
	out, known := pl.shapes(s.Out)
	if !ok || !known {
		return 0
	}
	return s.Row.Work(in, out)
}

// shapes returns the extents of values, nil for -1. ok is false if one is not known.
func (pl *Plan) shapes(ids []int) (list []tensor.Shape, ok bool) {
	list = make([]tensor.Shape, len(ids))
	for i, id := range ids {
		if id >= 0 {
			if list[i], ok = pl.Slots[id].Type.Dims.Concrete(); !ok {
				return nil, false
			}
		}
	}
	return list, true
}

// deviceOf returns the name of the device that runs a step, or host.
func (pl *Plan) deviceOf(s *Step) string {
	switch {
	case s.OnHost():
		return "host"
	case s.Offloaded():
		return pl.Program.device.Accelerator().Name()
	}
	return pl.Program.device.Name()
}
