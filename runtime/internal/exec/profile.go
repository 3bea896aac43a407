package exec

import (
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"text/tabwriter"
	"time"

	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
)

// Profile is the times of the steps of one or more runs. One profile may serve one run at a time.
type Profile struct {
	Begin time.Time
	Steps []StepTime
	// Waits lists the calls of an accelerator, during which the host copies values, submits commands
	// and waits for their end.
	Waits []Wait
	// Memory is the most bytes that arenas, scratch and results of a run took at a time, including
	// the bodies of nodes.
	Memory int

	inner time.Duration // of the steps so far in the body that runs
}

// StepTime is the name, place and time of one step in a run.
type StepTime struct {
	Node, Op string
	// How is the device and the kernels, as the plan prints them. For a step of an accelerator it has
	// the kernels that ran, and the steps with dispatches that did the work of this one.
	How    string
	Inputs string
	// Within is the path of bodies in which the step ran, each as NODE.ATTRIBUTE, outermost first
	// with " > " between them. It is empty for a step of the model's own graph.
	Within string
	Start  time.Duration // since Begin
	Time   time.Duration
	Own    time.Duration // Time without the steps in bodies of the node
	// Offloaded says that an accelerator computed the step, beside the host, and Stays why none did.
	Offloaded bool
	Stays     string
}

// Wait is a call of an accelerator for some steps.
type Wait struct {
	Steps int
	Start time.Duration // since Begin
	Time  time.Duration
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
	p.step(f, at, f.plan.How(at), p.start(begin), 0)
	p.inner = 0
	err := run()
	s := &p.Steps[i]
	s.Time = time.Since(begin)
	s.Own = s.Time - p.inner
	p.inner = outer + s.Time
	return err
}

// wait adds the call of an accelerator from begin until now, and returns when its commands began, by
// the accelerator's account but not before the call.
func (p *Profile) wait(seg *plan.Segment, begin, began time.Time) time.Time {
	p.Waits = append(p.Waits, Wait{seg.End - seg.First, p.start(begin), time.Since(begin)})
	if began.Before(begin) {
		return begin
	}
	return began
}

// segment adds the steps of a segment that began at time begin. A step lasts from the start of its
// first command to the end of its last. A step without commands takes no time. Times is nil if no
// step has commands. Ran has what ran for each command of an accelerator; it is nil for the session's
// device.
func (p *Profile) segment(f *frame, seg *plan.Segment, times []int64, ran []device.Ran, begin time.Time) {
	start, i := p.start(begin), 0
	for at := seg.First; at < seg.End; at++ {
		first := i
		for i < len(seg.Owner) && seg.Owner[i] == at {
			i++
		}
		if times == nil {
			p.step(f, at, f.plan.How(at), start, 0)
			continue
		}
		how := f.plan.How(at)
		if ran != nil {
			how = f.plan.HowRan(seg, at, ran[first:i])
		}
		d := time.Duration(times[i] - times[first])
		p.step(f, at, how, start+time.Duration(times[first]-times[0]), d)
		p.inner += d
	}
}

func (p *Profile) step(f *frame, at int, how string, start, d time.Duration) {
	s := &f.plan.Steps[at]
	p.Steps = append(p.Steps, StepTime{
		Node: s.Label(), Op: s.OpName(), How: how, Inputs: f.describe(s), Within: f.run.within, Start: start,
		Time: d, Own: d, Offloaded: s.Offloaded(), Stays: f.plan.Stays(at),
	})
}

// The lines of a trace.
const (
	hostLine = iota + 1
	deviceLine
)

// WriteTrace writes the steps in the Chrome trace event format (JSON array form). Trace viewers
// show it as a time line. Steps of an accelerator are on a line of their own, by the host's clock,
// and the host's line has its calls of the accelerator.
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
	events := make([]event, 0, len(p.Steps))
	for _, s := range p.Steps {
		line := hostLine
		if s.Offloaded {
			line = deviceLine
		}
		events = append(events, event{s.Node, s.Op, "X", micros(s.Start), micros(s.Time), 1, line,
			map[string]string{"op": s.Op, "how": s.How, "inputs": s.Inputs, "within": s.Within}})
	}
	for _, w := range p.Waits {
		events = append(events, event{fmt.Sprintf("%d steps", w.Steps), "call of the device", "X", micros(w.Start),
			micros(w.Time), 1, hostLine, nil})
	}
	if len(p.Waits) > 0 {
		for line, name := range map[int]string{hostLine: "host", deviceLine: "device"} {
			events = append(events, event{Name: "thread_name", Phase: "M", PID: 1, TID: line,
				Args: map[string]string{"name": name}})
		}
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
