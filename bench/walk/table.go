package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/nacre-ml/nacre/bench/report"
)

// results is the measurements of a walk.
type results struct {
	Date, Commit string // a "+" after the commit says that files were changed since
	Peer         string
	Rounds       int
	Rows         []timed
}

// timed is the times of a row.
type timed struct {
	Group, Name  string
	Best, Median [2]float64 // seconds of Nacre and of the peer
	Error        string     `json:",omitempty"` // why there are no times
}

// ratio returns the peer's best time over Nacre's: above 1, Nacre is faster.
func (t *timed) ratio() float64 { return t.Best[1] / t.Best[0] }

// medianRatio is ratio for the median runs.
func (t *timed) medianRatio() float64 { return t.Median[1] / t.Median[0] }

// line describes the result of a row.
func (t *timed) line() string {
	if t.Error != "" {
		return fmt.Sprintf("%s/%s: %s", t.Group, t.Name, t.Error)
	}
	return fmt.Sprintf("%s/%s: %.4g ms, %.4g; ratio %.2f, %.2f",
		t.Group, t.Name, 1e3*t.Best[0], 1e3*t.Best[1], t.ratio(), t.medianRatio())
}

// worst is the number of rows that are printed apart.
const worst = 20

// groups returns the groups of the rows in their order.
func (r *results) groups() []string {
	return report.Groups(r.Rows, func(t timed) string { return t.Group })
}

// sorted returns the rows of a group that have times, worst first, and the rows that failed.
func (r *results) sorted(group string) (list, failed []timed) {
	for _, row := range r.Rows {
		switch {
		case row.Group != group:
		case row.Error != "":
			failed = append(failed, row)
		default:
			list = append(list, row)
		}
	}
	slices.SortStableFunc(list, func(a, b timed) int { return cmp.Compare(a.ratio(), b.ratio()) })
	return list, failed
}

// summary returns the findings of a group: the rows that failed, and the worst.
func (r *results) summary(group string) string {
	list, failed := r.sorted(group)
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %d rows, %d failed", group, len(list)+len(failed), len(failed))
	if len(list) > 0 {
		below, half := 0, 0
		for _, t := range list {
			if t.ratio() < 1 {
				below++
			}
			if t.ratio() < 0.5 {
				half++
			}
		}
		middle := list[len(list)/2]
		fmt.Fprintf(&b, "; median ratio %.2f; %d below 1, %d below 0.5", middle.ratio(), below, half)
	}
	b.WriteString("\n")
	for _, t := range failed {
		fmt.Fprintf(&b, "  failed %s: %s\n", t.Name, t.Error)
	}
	table(&b, list[:min(worst, len(list))])
	return b.String()
}

// table writes rows.
func table(b *bytes.Buffer, list []timed) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\tNacre\tpeer\tratio best\tmedian\t\n")
	for _, t := range list {
		fmt.Fprintf(w, "%s\t%.4g/%.4g\t%.4g/%.4g\t%.2f\t%.2f\t\n", t.Name,
			1e3*t.Best[0], 1e3*t.Median[0], 1e3*t.Best[1], 1e3*t.Median[1], t.ratio(), t.medianRatio())
	}
	w.Flush()
}

// text returns all tables, each after its summary.
func (r *results) text() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s, commit %s, beside %s, one thread\n", r.Date, r.Commit, r.Peer)
	fmt.Fprintf(&b, "Runs alternate, %d of each. Times are milliseconds, best/median. "+
		"A ratio is the peer's time over Nacre's: above 1, Nacre is faster.\n", r.Rounds)
	for _, g := range r.groups() {
		fmt.Fprintf(&b, "\n%s\nall:\n", r.summary(g))
		list, _ := r.sorted(g)
		table(&b, list)
	}
	return b.String()
}

// finish prints the summaries. If a folder is given, it writes the tables there. If a row failed,
// it returns an error.
func (w *walk) finish() error {
	r := &w.results
	for _, g := range r.groups() {
		fmt.Println(r.summary(g))
	}
	if w.Out != "" {
		name := r.Date + "-" + strings.TrimSuffix(r.Commit, "+") + "-operators"
		if err := report.WriteTables(w.Out, name, r, r.text()); err != nil {
			return err
		}
	}
	failed := 0
	for _, t := range r.Rows {
		if t.Error != "" {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d rows failed; the tables say why", failed)
	}
	return nil
}
