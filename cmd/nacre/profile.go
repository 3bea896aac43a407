package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/diagram"
	"github.com/nacre-ml/nacre/internal/diagram/page"
	"github.com/nacre-ml/nacre/internal/outline"
	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// profileFlags are the flags of nacre profile.
type profileFlags struct {
	session sessionFlags
	input   inputFlags
	dims    dimFlags
	count   int
	warmup  int
	html    string
	trace   string
	json    bool
}

func profileCommand() *cobra.Command {
	var f profileFlags
	cmd := &cobra.Command{
		Use:   "profile MODEL",
		Short: "Show where the time of a run goes",
		Long: `Run a model some times with the time of every step, and show the run of median time: by
operator, by layer, and the longest steps with their kernels. Layers are the scopes of the
nodes' names, as nacre inspect --layers has them. Inputs that no --input names are random,
and axes that the model leaves open have extent 1 unless --dim says otherwise, as for bench.

With --html it also writes a page for any browser, without a network: bars, a time line, a
table of all steps to sort and search, and the graph with the time of its nodes.`,
		Example: `nacre profile model.onnx --dim batch=8
nacre profile model.onnx --input image=cat.jpg --html profile.html`,
		Args: takes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.html, "html", "", "write a page with the profile to `FILE`")
	flags.StringVar(&f.trace, "trace", "", "`FILE` for the time of every step (Chrome trace)")
	flags.BoolVar(&f.json, "json", false, "print JSON, with every step")
	flags.IntVar(&f.count, "count", 10, "runs that are measured")
	flags.IntVar(&f.warmup, "warmup", 3, "runs before the measured ones")
	f.dims.add(flags)
	f.input.add(flags)
	f.session.add(flags)
	f.input.image.memory = &f.session.memory
	return cmd
}

// printedProfile is a profile as JSON.
type printedProfile struct {
	Model   string             `json:"model"`
	Threads int                `json:"threads"`
	Runs    int                `json:"runs"`
	Inputs  []string           `json:"inputs"`
	MS      float64            `json:"ms"` // of all steps
	Steps   []page.ProfileStep `json:"steps"`
}

func (f *profileFlags) run(ctx context.Context, path string, stdout io.Writer) (err error) {
	if f.count < 1 || f.warmup < 0 {
		return usagef("--count must be 1 or more and --warmup not negative")
	}
	o, err := f.session.options()
	if err != nil {
		return err
	}
	m, s, err := session(ctx, path, o)
	if err != nil {
		return err
	}
	defer func() { err = join(err, s, m) }()
	e, err := f.dims.extents(s.Inputs())
	if err != nil {
		return err
	}
	inputs, err := f.input.orRandom(ctx, s, e, f.session.seed)
	if err != nil {
		return err
	}
	prof, err := f.median(ctx, s, inputs)
	if err != nil {
		return err
	}
	network, err := networkOf(m)
	if err != nil {
		return err
	}
	out := &printedProfile{Model: path, Threads: f.session.count(), Runs: f.count}
	for _, v := range s.Inputs() {
		out.Inputs = append(out.Inputs, fmt.Sprintf("%s %v", v.Name, inputs[v.Name]))
	}
	if err := out.add(ctx, network, prof); err != nil {
		return err
	}
	if f.trace != "" {
		if err := writeFile(ctx, f.trace, prof.WriteTrace); err != nil {
			return err
		}
	}
	if f.html != "" {
		if err := out.page(ctx, f.html, network); err != nil {
			return err
		}
	}
	if f.json {
		return writeJSON(stdout, out)
	}
	out.text(stdout, prof)
	return nil
}

// median returns the profile of median time.
func (f *profileFlags) median(ctx context.Context, s *nacre.Session, inputs map[string]*nacre.Tensor) (*nacre.Profile, error) {
	var list []*nacre.Profile
	for k := range f.warmup + f.count {
		out, p, err := s.Profile(ctx, asValues(inputs))
		if err != nil {
			return nil, err
		}
		for _, v := range out {
			if t, ok := v.(*nacre.Tensor); ok {
				t.Release()
			}
		}
		if k >= f.warmup {
			list = append(list, p)
		}
	}
	time := func(p *nacre.Profile) (ms float64) {
		for _, o := range p.Operators() {
			ms += milliseconds(o.Time)
		}
		return ms
	}
	slices.SortStableFunc(list, func(a, b *nacre.Profile) int {
		switch x, y := time(a), time(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return list[len(list)/2], nil
}

// add adds the steps with their layers. A step that is no node of the model, such as a change of
// layout, is in the layers that the steps beside it share.
func (p *printedProfile) add(ctx context.Context, m *graph.Model, prof *nacre.Profile) error {
	o, err := outline.Of(ctx, m, outline.Options{})
	if err != nil {
		return err
	}
	layers := map[string][]string{}
	main := o.Graphs[0]
	main.Root.Find(func(within []*outline.Group, node int) {
		names := []string{}
		for _, g := range within {
			names = append(names, outline.Shown(g.Name, 80))
		}
		layers[main.Nodes[node].Label()] = names
	})
	steps := prof.Steps()
	next := make([][]string, len(steps)) // by step, the layers of the next node of the model
	var last []string
	for i := len(steps) - 1; i >= 0; i-- {
		if l, ok := layers[steps[i].Node]; ok && steps[i].Within == "" {
			last = l
		}
		next[i] = last
	}
	last = nil
	for i, s := range steps {
		layer, ok := layers[s.Node]
		switch {
		case s.Within != "": // steps in a graph follow the step of its node
			layer = append(slices.Clone(last), outline.Shown(s.Within, 80))
		case !ok:
			layer = shared(last, next[i])
		default:
			last = layer
		}
		p.Steps = append(p.Steps, page.ProfileStep{Node: s.Node, Op: s.Op, How: s.How, Inputs: s.Inputs, Within: s.Within,
			Layer: append([]string{}, layer...), Start: milliseconds(s.Start), Time: milliseconds(s.Time), Own: milliseconds(s.Own)})
		p.MS += milliseconds(s.Own)
	}
	return nil
}

// shared returns the names with which both lists begin.
func shared(a, b []string) []string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// page writes the page of the profile.
func (p *printedProfile) page(ctx context.Context, path string, m *graph.Model) error {
	d, err := diagram.Draw(ctx, m)
	if err != nil {
		return err
	}
	facts := []string{fmt.Sprintf("%.3f ms", p.MS), "median of " + plural(p.Runs, "run"), plural(p.Threads, "thread"),
		plural(len(p.Steps), "step"), strings.Join(p.Inputs, ", ")}
	return writeFile(ctx, path, func(w io.Writer) error {
		return page.WriteProfile(w, filepath.Base(p.Model), &page.Profile{Facts: facts, Steps: p.Steps}, d)
	})
}

// The text has layers from a hundredth of the time on, and so many steps.
const (
	leastShare = 0.01
	mostSteps  = 10
)

func (p *printedProfile) text(w io.Writer, prof *nacre.Profile) {
	printable.Fprintf(w, "%s, %s, %s\n", p.Model, plural(p.Threads, "thread"), strings.Join(p.Inputs, ", "))
	printable.Fprintf(w, "%.3f ms in %s, median of %s\n\n", p.MS, plural(len(p.Steps), "step"), plural(p.Runs, "run"))
	row := func(ms float64, name, rest string) []string {
		return []string{name, fmt.Sprintf("%.3f", ms), fmt.Sprintf("%.1f %%", 100*ms/max(p.MS, 1e-9)), rest}
	}
	rows := [][]string{{"operator", "ms", "share", "steps"}}
	for _, o := range prof.Operators() {
		rows = append(rows, row(milliseconds(o.Time), o.Op, fmt.Sprint(o.Steps)))
	}
	printTable(w, rows)
	if rows = p.layers(row); len(rows) > 1 {
		printable.Fprintln(w)
		printTable(w, rows)
	}
	longest := slices.Clone(p.Steps)
	slices.SortStableFunc(longest, func(a, b page.ProfileStep) int {
		switch {
		case a.Own > b.Own:
			return -1
		case a.Own < b.Own:
			return 1
		}
		return 0
	})
	rows = [][]string{{"longest steps", "ms", "share", "kernel"}}
	for _, s := range longest[:min(mostSteps, len(longest))] {
		rows = append(rows, row(s.Own, s.Node+"  "+s.Op, s.How))
	}
	printable.Fprintln(w)
	printTable(w, rows)
}

// profiledLayer is the time of a layer, with the layers in it in the order of their begin.
type profiledLayer struct {
	name  string
	ms    float64
	steps int
	inner []*profiledLayer
}

// in returns the layer of a name within another, a new one if there is none.
func (l *profiledLayer) in(name string) *profiledLayer {
	for _, x := range l.inner {
		if x.name == name {
			return x
		}
	}
	x := &profiledLayer{name: name}
	l.inner = append(l.inner, x)
	return x
}

// layers returns the rows of layers, with the layers of a layer below it.
func (p *printedProfile) layers(row func(ms float64, name, rest string) []string) [][]string {
	root := &profiledLayer{}
	for _, s := range p.Steps {
		at := root
		for _, name := range s.Layer {
			at = at.in(name)
			at.ms += s.Own
			at.steps++
		}
	}
	rows := [][]string{{"layer", "ms", "share", "steps"}}
	var walk func(list []*profiledLayer, depth int)
	walk = func(list []*profiledLayer, depth int) {
		for _, l := range list {
			if l.ms >= leastShare*p.MS {
				rows = append(rows, row(l.ms, strings.Repeat("  ", depth)+l.name, fmt.Sprint(l.steps)))
				walk(l.inner, depth+1)
			}
		}
	}
	walk(root.inner, 0)
	return rows
}
