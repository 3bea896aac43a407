package exec

import (
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"text/tabwriter"
	"time"

	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
)

// Profile is the times of the steps of one or more runs. One profile may serve one run at a time.
type Profile struct {
	Begin time.Time
	Steps []StepTime
	// Memory is the most bytes that arenas, scratch and results of a run took at a time, including
	// the bodies of nodes.
	Memory int

	inner time.Duration // of the steps so far in the body that runs
}

// StepTime is the name, place and time of one step in a run.
type StepTime struct {
	Node, Op string
	How      string // device and kernel, as printed by the plan
	Inputs   string
	// Within is the path of bodies in which the step ran, each as NODE.ATTRIBUTE, outermost first
	// with " > " between them. It is empty for a step of the model's own graph.
	Within string
	Start  time.Duration // since Begin
	Time   time.Duration
	Own    time.Duration // Time without the steps in bodies of the node
}

// now returns the time if the run is profiled.
func (p *Profile) now() time.Time {
	if p == nil {
		return time.Time{}
	}
	return time.Now()
}

func (p *Profile) start(t time.Time) time.Duration {
	if p.Begin.IsZero() {
		p.Begin = t
	}
	return t.Sub(p.Begin)
}

// host runs a step in Go and adds it, before the steps of its bodies.
func (p *Profile) host(f *frame, at int, run func() error) error {
	begin, outer, i := time.Now(), p.inner, len(p.Steps)
	p.step(f, at, p.start(begin), 0)
	p.inner = 0
	err := run()
	s := &p.Steps[i]
	s.Time = time.Since(begin)
	s.Own = s.Time - p.inner
	p.inner = outer + s.Time
	return err
}

// segment adds the steps of a segment that began at time begin. A step lasts from the start of its
// first command to the end of its last. A step without commands takes no time. Times is nil if no
// step has commands.
func (p *Profile) segment(f *frame, seg *plan.Segment, times []int64, begin time.Time) {
	start, i := p.start(begin), 0
	for at := seg.First; at < seg.End; at++ {
		first := i
		for i < len(seg.Owner) && seg.Owner[i] == at {
			i++
		}
		if times == nil {
			p.step(f, at, start, 0)
			continue
		}
		d := time.Duration(times[i] - times[first])
		p.step(f, at, start+time.Duration(times[first]-times[0]), d)
		p.inner += d
	}
}

func (p *Profile) step(f *frame, at int, start, d time.Duration) {
	s := &f.plan.Steps[at]
	p.Steps = append(p.Steps, StepTime{
		Node: s.Label(), Op: s.OpName(), How: f.plan.How(at), Inputs: f.describe(s), Within: f.run.within, Start: start,
		Time: d, Own: d,
	})
}

// WriteTrace writes the steps in the Chrome trace event format (JSON array form). Trace viewers
// show it as a time line.
func (p *Profile) WriteTrace(w io.Writer) error {
	type event struct {
		Name  string            `json:"name"`
		Cat   string            `json:"cat"`
		Phase string            `json:"ph"`
		TS    float64           `json:"ts"`  // microseconds
		Dur   float64           `json:"dur"` // microseconds
		PID   int               `json:"pid"`
		TID   int               `json:"tid"`
		Args  map[string]string `json:"args"`
	}
	events := make([]event, len(p.Steps))
	for i, s := range p.Steps {
		events[i] = event{s.Node, s.Op, "X", micros(s.Start), micros(s.Time), 1, 1,
			map[string]string{"op": s.Op, "how": s.How, "inputs": s.Inputs, "within": s.Within}}
	}
	return json.NewEncoder(w).Encode(events)
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// OpTime is the time of all steps of one operator, without the steps in bodies of its nodes.
type OpTime struct {
	Op    string
	Steps int
	Time  time.Duration
	Share float64 // of the time of all steps
}

// Operators returns the time of each operator, longest first.
func (p *Profile) Operators() []OpTime {
	var list []OpTime
	var total time.Duration
	index := map[string]int{}
	for _, s := range p.Steps {
		i, ok := index[s.Op]
		if !ok {
			i = len(list)
			index[s.Op] = i
			list = append(list, OpTime{Op: s.Op})
		}
		list[i].Steps++
		list[i].Time += s.Own
		total += s.Own
	}
	for i := range list {
		list[i].Share = float64(list[i].Time) / float64(max(total, 1))
	}
	sort.Slice(list, func(i, j int) bool {
		return list[i].Time > list[j].Time || list[i].Time == list[j].Time && list[i].Op < list[j].Op
	})
	return list
}

// WriteTable writes the time of each operator, longest first.
func (p *Profile) WriteTable(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "operator\tsteps\ttime\tshare\t")
	for _, r := range p.Operators() {
		printable.Fprintf(tw, "%s\t%d\t%v\t%.1f %%\t\n", r.Op, r.Steps, r.Time.Round(time.Microsecond), 100*r.Share)
	}
	return tw.Flush()
}
