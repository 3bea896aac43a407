package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Groups returns the groups of rows in their order.
func Groups[R any](rows []R, group func(R) string) []string {
	var list []string
	for _, row := range rows {
		if g := group(row); !slices.Contains(list, g) {
			list = append(list, g)
		}
	}
	return list
}

// Text returns all results as tables, one for each group of rows.
func (r *Results) Text() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s, commit %s, %s, %d cores\n", r.Date, r.Commit, r.CPU, r.Cores)
	fmt.Fprintf(&b, "peers: %s\n", strings.Join(r.Peers, ", "))
	for _, m := range r.Missing {
		fmt.Fprintf(&b, "left out: %s\n", m)
	}
	fmt.Fprintf(&b, "load of the machine: %.2f in the minute before the start, %.2f before the end, of which 1 or 2 "+
		"are this run's own\n", r.Load[0], r.Load[1])
	for _, c := range r.Ceilings {
		fmt.Fprintf(&b, "ceilings of %d threads: %.0f GFLOP/s, %.0f GOP/s of int8, %.1f GB/s\n", c.Threads, c.FMA/1e9, c.Dot/1e9, c.Read/1e9)
	}
	fmt.Fprintf(&b, "Runs alternate, %d of each. Times are milliseconds, best/median. A ratio is the time of the "+
		"fastest peer over Nacre's.\n", r.Rounds)
	b.WriteString("scale: the time on one thread over that on more.\n" +
		"fma, read: operations, and bytes of weights, inputs and outputs, as a part of the ceiling. Winograd, int8 and " +
		"AMX need fewer\n" +
		"multiply-adds of float32 than are counted, and caches hold small models: both may exceed 100%.\n" +
		"memory: Nacre's peak in runs over the peer's. open: the peer's time to open the model over Nacre's.\n")
	for _, g := range Groups(r.Rows, func(row Row) string { return row.Group }) {
		fmt.Fprintf(&b, "\n%s\n", g)
		r.group(&b, g)
	}
	r.missed(&b)
	return b.String()
}

// group writes the table of a group.
func (r *Results) group(out io.Writer, name string) {
	var sides []string
	for _, row := range r.Rows {
		for _, s := range row.Sides {
			if row.Group == name && !slices.Contains(sides, s.Name) {
				sides = append(sides, s.Name)
			}
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\tthreads\t%s\tratio best\tmedian\tgoal\tscale\tfma\tread\tmemory\topen\t\n",
		strings.Join(sides, "\t"))
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Group == name {
			r.line(w, row, sides)
		}
	}
	w.Flush()
}

func (r *Results) line(w io.Writer, row *Row, sides []string) {
	fmt.Fprintf(w, "%s\t%d\t", row.Name, row.Threads)
	if row.Error != "" {
		fmt.Fprintf(w, "%s\n", row.Error)
		return
	}
	for _, name := range sides {
		i := slices.IndexFunc(row.Sides, func(s Side) bool { return s.Name == name })
		if i < 0 {
			fmt.Fprint(w, "-\t")
			continue
		}
		fmt.Fprintf(w, "%.4g/%.4g\t", 1e3*row.Sides[i].Best, 1e3*row.Sides[i].Median)
	}
	goal, scale := optional("%.2f", row.Goal), optional("%.2f", r.Scale(row))
	if row.Missed() {
		goal = "below " + goal
	}
	if row.ScaleGoal > 0 && scale != "-" && r.Scale(row) < row.ScaleGoal {
		scale += fmt.Sprintf(" below %.2f", row.ScaleGoal)
	}
	fma, read := r.Shares(row)
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", optional("%.2f", row.Best()), optional("%.2f", row.Median()),
		goal, scale,
		optional("%.0f%%", 100*fma), optional("%.0f%%", 100*read), optional("%.2f", row.Memory()), optional("%.2f", row.Opening()))
}

// optional returns a number as a text, or "-" for none.
func optional(format string, v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

// missed writes the costliest steps of the rows below their goals.
func (r *Results) missed(out io.Writer) {
	heading := "\nbelow the goal: the operators that take longest, with the inputs of their longest step\n"
	for i := range r.Rows {
		row := &r.Rows[i]
		if !row.Missed() || row.Group == Products || len(row.Costly) == 0 {
			continue
		}
		fmt.Fprintf(out, "%s%s, %d threads\n", heading, row.Name, row.Threads)
		for _, c := range row.Costly {
			fmt.Fprintf(out, "  %.0f%% %s x %d, %s: %.3g ms of %.3g with %s\n", 100*c.Share, c.Op, c.Count, c.How,
				1e3*c.Longest, 1e3*c.Seconds, c.Inputs)
		}
		heading = ""
	}
}

// Markdown returns the ratios of the best runs of networks, one in a line, by name. They are for one
// thread and, unless the machine was busy, for two.
func (r *Results) Markdown() string {
	var lines []string
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Group == Networks && row.Threads == 1 {
			two := 0.0
			if other := r.Find(row.Name, 2); other != nil && !r.Busy() {
				two = other.Best()
			}
			lines = append(lines, fmt.Sprintf("| %s | %s | %s |\n", row.Name, optional("%.2f", row.Best()), optional("%.2f", two)))
		}
	}
	slices.Sort(lines)
	return "| network | one thread | two threads |\n|---|---|---|\n" + strings.Join(lines, "")
}
