package nacre

import (
	"encoding/json"
	"io"
	"time"

	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// Profile is the times of the steps of one run. Session.Profile makes one.
type Profile struct{ p *runtime.Profile }

// StepTime is the begin, the time and the device of one step.
type StepTime struct {
	Node   string // the name of the node, or its first output
	Op     string // its operator with domain and version, such as Conv-17
	How    string // device, binder and the kernels that ran
	Inputs string // types and shapes
	// Within is the path to the graph of the step, such as the body of a Loop: NODE.ATTRIBUTE
	// of each node around it, outermost first, with " > " between them. It is empty for
	// a step of the model's main graph.
	Within string
	Start  time.Duration // since the first step began
	Time   time.Duration
	Own    time.Duration // Time without that of the steps in graphs of the node
}

// OpTime is the time of all steps of one operator, without steps in graphs of its nodes.
type OpTime struct {
	Op    string
	Steps int
	Time  time.Duration
	Share float64 // of the time of all steps, from 0 to 1
}

// Steps returns the steps in the order of their begin. Steps in a graph of a node follow the
// step of the node.
func (p *Profile) Steps() []StepTime {
	if !p.made() {
		return nil
	}
	list := make([]StepTime, len(p.p.Steps))
	for i, s := range p.p.Steps {
		list[i] = StepTime{s.Node, s.Op, s.How, s.Inputs, s.Within, s.Start, s.Time, s.Own}
	}
	return list
}

// Operators returns the time of each operator, the longest first.
func (p *Profile) Operators() []OpTime {
	if !p.made() {
		return nil
	}
	rows := p.p.Operators()
	list := make([]OpTime, len(rows))
	for i, r := range rows {
		list[i] = OpTime{r.Op, r.Steps, r.Time, r.Share}
	}
	return list
}

// WriteTable writes the time of each operator as a table, the longest first.
func (p *Profile) WriteTable(w io.Writer) (err error) {
	defer p.enter().end(&err)
	return p.p.WriteTable(w)
}

// WriteTrace writes the steps in the Chrome trace event format, which trace viewers
// show as a time line.
func (p *Profile) WriteTrace(w io.Writer) (err error) {
	defer p.enter().end(&err)
	return p.p.WriteTrace(w)
}

// Plan is the steps of a run with inputs of known types and shapes, and the memory
// that it takes. Session.Plan makes one.
type Plan struct{ p *runtime.Plan }

// Step is one step of a plan: a node of the optimised graph, or a change of layout
// between two nodes.
type Step struct {
	Node    string // the name of the node, or its first output
	Op      string // its operator with domain and version, such as Conv-17
	How     string // device, binder and kernels, as WriteText has them
	Inputs  []Info // without those that are left out
	Outputs []Info
	// Work is the number of multiplications and additions of a convolution, a product or a recurrent
	// layer; 0 for other operators, and if an extent is not known.
	Work float64
}

// Steps returns the steps in the order in which they run.
func (p *Plan) Steps() []Step {
	if !p.made() {
		return nil
	}
	list := make([]Step, len(p.p.Steps))
	for i, s := range p.p.Steps {
		list[i] = Step{Node: s.Label(), Op: s.OpName(), How: p.p.How(i), Inputs: p.infos(s.In[:len(s.Inputs)]),
			Outputs: p.infos(s.Out), Work: p.p.Work(i)}
	}
	return list
}

// infos describes values of the plan.
func (p *Plan) infos(ids []int) []Info {
	var list []Info
	for _, id := range ids {
		if id >= 0 {
			list = append(list, infoOf(&graph.Value{Name: p.p.Name(id), Type: p.p.Slots[id].Type}, false))
		}
	}
	return list
}

// PeakBytes returns the memory of a run: its intermediate values and outputs, except values of
// a size that only the run can tell. Weights and inputs do not count.
func (p *Plan) PeakBytes() int {
	if !p.made() {
		return 0
	}
	return p.p.PeakBytes()
}

// OutputBytes returns the memory of the outputs of known size. PeakBytes includes it.
func (p *Plan) OutputBytes() int {
	if !p.made() {
		return 0
	}
	return p.p.ResultBytes
}

// WriteText writes every step with its operator, its device and its kernels, and below
// it its inputs and outputs with their types, bytes and places; then the nodes that are
// planned only in the run, and the memory that a run takes.
func (p *Plan) WriteText(w io.Writer) (err error) {
	defer p.enter().end(&err)
	return p.p.Listing().WriteText(w)
}

// MarshalJSON returns the contents of WriteText as JSON.
func (p *Plan) MarshalJSON() (_ []byte, err error) {
	defer p.enter().end(&err)
	return json.Marshal(p.p.Listing())
}

// String returns the text of WriteText.
func (p *Plan) String() string {
	if !p.made() {
		return "none"
	}
	return p.p.String()
}
