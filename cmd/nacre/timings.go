package main

import (
	"io"
	"text/tabwriter"

	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/internal/stages"
)

// printedTimings is the times of stages as JSON.
type printedTimings struct {
	Model   string        `json:"model"`
	Stages  []stageTiming `json:"stages"`
	Seconds float64       `json:"seconds"` // of all stages
}

type stageTiming struct {
	Stage   string  `json:"stage"`
	Calls   int     `json:"calls"`
	Seconds float64 `json:"seconds"`
}

// printTimings prints the times of the stages from a file to a plan.
func (f *planFlags) printTimings(path string, list []stages.Stage, stdout io.Writer) error {
	out := printedTimings{Model: path}
	for _, s := range list {
		out.Stages = append(out.Stages, stageTiming{s.Name, s.Calls, s.Time.Seconds()})
		out.Seconds += s.Time.Seconds()
	}
	if f.json {
		return writeJSON(stdout, out)
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	printable.Fprintf(w, "ms\tshare\tcalls\t stage\n")
	for _, s := range out.Stages {
		printable.Fprintf(w, "%.3f\t%.1f%%\t%d\t %s\n", 1e3*s.Seconds, 100*s.Seconds/out.Seconds, s.Calls, s.Stage)
	}
	printable.Fprintf(w, "%.3f\t\t\t all\n", 1e3*out.Seconds)
	return w.Flush()
}
