package exec

import (
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"text/tabwriter"
	"time"

	"github.com/nacre-ml/nacre/runtime/plan"
)

// Profile is the times of the steps of one or more runs. One profile may serve
// one run at a time.
type Profile struct {
	Begin time.Time
	Steps []StepTime
}

// StepTime is when and how long one step ran, and on what.
type StepTime struct {
	Node, Op string
	How      string // where and with what: as the plan says
	Inputs   string
	Start    time.Duration // since Begin
	Time     time.Duration
}

// now is the time if the run is profiled.
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

// host adds a step that ran in Go.
func (p *Profile) host(f *frame, at int, begin time.Time) {
	p.step(f, at, p.start(begin), time.Since(begin))
}

// segment adds the steps of a segment that began at a time of the wall clock. A step
// lasts from the beginning of its first command to the end of its last.
func (p *Profile) segment(f *frame, seg *plan.Segment, times []int64, begin time.Time) {
	start := p.start(begin)
	for i := 0; i < len(seg.Owner); {
		at, from := seg.Owner[i], times[i]
		for i < len(seg.Owner) && seg.Owner[i] == at {
			i++
		}
		p.step(f, at, start+time.Duration(from-times[0]), time.Duration(times[i]-from))
	}
}

func (p *Profile) step(f *frame, at int, start, d time.Duration) {
	s := &f.plan.Steps[at]
	p.Steps = append(p.Steps, StepTime{Node: s.Label(), Op: s.OpName(), How: f.plan.How(at), Inputs: f.describe(s), Start: start, Time: d})
}

// WriteTrace writes the steps in the Chrome trace event format (JSON array
// form), which trace viewers show as a time line.
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
			map[string]string{"op": s.Op, "how": s.How, "inputs": s.Inputs}}
	}
	return json.NewEncoder(w).Encode(events)
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// OpTime is the time of all steps of one operator.
type OpTime struct {
	Op    string
	Steps int
	Time  time.Duration
	Share float64 // of the time of all steps
}

// Operators returns the time of each operator, most first.
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
		list[i].Time += s.Time
		total += s.Time
	}
	for i := range list {
		list[i].Share = float64(list[i].Time) / float64(max(total, 1))
	}
	sort.Slice(list, func(i, j int) bool {
		return list[i].Time > list[j].Time || list[i].Time == list[j].Time && list[i].Op < list[j].Op
	})
	return list
}

// WriteTable writes the time of each operator, most first.
func (p *Profile) WriteTable(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "operator\tsteps\ttime\tshare\t")
	for _, r := range p.Operators() {
		fmt.Fprintf(tw, "%s\t%d\t%v\t%.1f %%\t\n", r.Op, r.Steps, r.Time.Round(time.Microsecond), 100*r.Share)
	}
	return tw.Flush()
}
