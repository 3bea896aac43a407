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
	Inputs   string
	Start    time.Duration // since Begin
	Time     time.Duration
}

func (p *Profile) add(pl *plan.Plan, i int, f *frame, start time.Time, d time.Duration) {
	if p.Begin.IsZero() {
		p.Begin = start
	}
	s := &pl.Steps[i]
	p.Steps = append(p.Steps, StepTime{s.Label(), s.OpName(), f.describe(s), start.Sub(p.Begin), d})
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
			map[string]string{"op": s.Op, "inputs": s.Inputs}}
	}
	return json.NewEncoder(w).Encode(events)
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// WriteTable writes the time of each operator, most first.
func (p *Profile) WriteTable(w io.Writer) error {
	type row struct {
		op    string
		count int
		time  time.Duration
	}
	byOp := map[string]*row{}
	var total time.Duration
	for _, s := range p.Steps {
		r := byOp[s.Op]
		if r == nil {
			r = &row{op: s.Op}
			byOp[s.Op] = r
		}
		r.count++
		r.time += s.Time
		total += s.Time
	}
	rows := make([]*row, 0, len(byOp))
	for _, r := range byOp {
		rows = append(rows, r)
	}
	sort.Slice(rows, func(i, j int) bool {
		return rows[i].time > rows[j].time || rows[i].time == rows[j].time && rows[i].op < rows[j].op
	})
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "operator\tsteps\ttime\tshare\t")
	for _, r := range rows {
		fmt.Fprintf(tw, "%s\t%d\t%v\t%.1f %%\t\n", r.op, r.count, r.time.Round(time.Microsecond), 100*float64(r.time)/float64(max(total, 1)))
	}
	return tw.Flush()
}
