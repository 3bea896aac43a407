package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/cmd/nacre/internal/compare"
	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// conformanceFlags are the flags of nacre conformance.
type conformanceFlags struct {
	session sessionFlags
	tol     compare.Tolerance
	pattern string
	json    string
	list    bool
	timeout time.Duration
	where   string
	places  places // nil without where
}

func conformanceCommand() *cobra.Command {
	f := conformanceFlags{session: sessionFlags{everything: true}}
	cmd := &cobra.Command{
		Use:   "conformance DIR...",
		Short: "Run folders of models with stored results, as the ONNX project has them",
		Long: `Walk folders of model.onnx with test_data_set_K, and light models (light_NAME.onnx
beside light_NAME_output_0.pb), run every model, and compare. A line is printed
for each failure, then how many passed, failed and were skipped. A model without
stored results is skipped. Of models that draw random numbers, type and shape are
compared. A device computes every node that it can. A failure of float16 or
bfloat16 that a tolerance for these types accepts names its flags. A folder
without stored results, or a --run that no case matches, is a failure.`,
		Example: `nacre conformance node simple
nacre conformance node --run '^test_conv' --device vulkan`,
		Args: atLeast(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.pattern, "run", "", "only cases with a name that matches this `REGEXP`")
	flags.BoolVar(&f.list, "list", false, "print the names of the cases and run none")
	flags.StringVar(&f.json, "json", "", "write the outcome of every case to `FILE`")
	flags.Float64Var(&f.tol.Rel, "rtol", 1e-3, "relative part of the tolerance")
	flags.Float64Var(&f.tol.Abs, "atol", 1e-7, "absolute part of the tolerance")
	flags.StringVar(&f.where, "where", "", "write to `FILE` the operators and element types that a device beside the "+
		"CPU computed")
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "time that one model may take")
	f.session.add(flags)
	return cmd
}

// outcome is the result of one case.
type outcome struct {
	Name    string  `json:"name"`
	Passed  bool    `json:"passed"`
	Reason  string  `json:"reason,omitempty"`
	Error   float64 `json:"error"` // largest compare.Result.Share of the compared outputs
	Seconds float64 `json:"seconds"`
}

// tally is the outcome of a whole run.
type tally struct {
	Passed  int       `json:"passed"`
	Failed  int       `json:"failed"`
	Skipped int       `json:"skipped"`
	Cases   []outcome `json:"cases"`
}

func (f *conformanceFlags) run(ctx context.Context, dirs []string, stdout, stderr io.Writer) error {
	match, err := regexp.Compile(f.pattern)
	if err != nil {
		return usagef("--run: %v", err)
	}
	o, err := f.session.options()
	if err != nil {
		return err
	}
	var cases []testCase
	var t tally
	for _, dir := range dirs {
		found, bare, err := findCases(dir, match)
		if err != nil {
			return err
		}
		if len(found) == 0 && f.pattern == "" {
			return fmt.Errorf("%s: no model with stored results is there (%d without); "+
				"a case is model.onnx beside test_data_set_0/output_0.pb", dir, bare)
		}
		cases, t.Skipped = append(cases, found...), t.Skipped+bare
	}
	if len(cases) == 0 {
		return fmt.Errorf("--run %s: no case of %s matches", f.pattern, strings.Join(dirs, ", "))
	}
	if f.list {
		for _, c := range cases {
			printable.Fprintln(stdout, c.name)
		}
		return nil
	}
	if f.where != "" {
		f.places = places{}
	}
	bar := newProgress(stderr, len(cases))
	for _, c := range cases {
		if err := ctx.Err(); err != nil {
			return err
		}
		r := f.judge(ctx, c, o)
		t.add(r)
		_ = bar.Add(1)
		if !r.Passed {
			_ = bar.Clear()
			printable.Fprintf(stdout, "FAIL %s: %s\n", r.Name, r.Reason)
		}
	}
	_ = bar.Clear()
	printable.Fprintf(stdout, "%d passed, %d failed, %d skipped\n", t.Passed, t.Failed, t.Skipped)
	if f.json != "" {
		if err := writeFile(ctx, f.json, func(w io.Writer) error { return writeJSON(w, t) }); err != nil {
			return err
		}
	}
	if f.where != "" {
		if err := writeFile(ctx, f.where, f.places.write); err != nil {
			return err
		}
	}
	if t.Failed > 0 {
		return errReported
	}
	return nil
}

// places is the set of operators, with the element type of their first operand, that a device
// beside the CPU computed, such as "Add float32".
type places map[string]bool

// run calls RunValues and adds the steps that ran to p, unless p is nil.
func (p places) run(ctx context.Context, s *nacre.Session, in map[string]nacre.Value) (map[string]nacre.Value, error) {
	if p == nil {
		return s.RunValues(ctx, in)
	}
	out, prof, err := s.Profile(ctx, in)
	if err != nil {
		return nil, err
	}
	for _, step := range prof.Steps() {
		device, _, _ := strings.Cut(step.How, " ")
		name, _, _ := strings.Cut(step.Op, "-")
		if device == "cpu" || device == "host:" || device == "host" || name == "Upload" || name == "Download" {
			continue
		}
		types := strings.FieldsFunc(step.Inputs, func(r rune) bool { return r == ',' || r == ' ' })
		at := slices.IndexFunc(types, func(t string) bool { return t != "none" })
		if at < 0 {
			continue
		}
		kind, _, _ := strings.Cut(types[at], "[")
		p[name+" "+kind] = true
	}
	return out, nil
}

// write writes a line for each member, sorted.
func (p places) write(w io.Writer) error {
	for _, line := range slices.Sorted(maps.Keys(p)) {
		if _, err := printable.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

func (t *tally) add(r outcome) {
	t.Cases = append(t.Cases, r)
	if r.Passed {
		t.Passed++
	} else {
		t.Failed++
	}
}

// newProgress returns a progress bar, visible only on a terminal.
func newProgress(w io.Writer, n int) *progressbar.ProgressBar {
	return progressbar.NewOptions(n, progressbar.OptionSetWriter(asIs(w)), progressbar.OptionSetVisibility(terminal(w)),
		progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
}

// judge runs one case within the time limit. A panic counts as a failure.
func (f *conformanceFlags) judge(ctx context.Context, c testCase, o nacre.Options) outcome {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	start := time.Now()
	var r outcome
	var worst float64 // not read if work may still run
	err := untilDone(ctx, func() error { return f.attempt(ctx, c, o, &worst) })
	switch {
	case err == nil:
		r.Error = worst
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		r.Reason = fmt.Sprintf("did not end within %v", f.timeout)
	default:
		r.Reason, r.Error = err.Error(), worst
	}
	r.Name, r.Passed = c.name, r.Reason == ""
	r.Seconds = time.Since(start).Seconds()
	return r
}

// attempt runs one case. It returns an error if the case fails, and raises worst to the largest
// error of an output.
func (f *conformanceFlags) attempt(ctx context.Context, c testCase, o nacre.Options, worst *float64) error {
	m, err := nacre.OpenContext(ctx, c.model)
	if err != nil {
		return err
	}
	defer m.Close()
	s, err := m.NewSessionContext(ctx, o)
	if err != nil {
		return err
	}
	defer s.Close()
	sets, err := c.data(ctx, s)
	if err != nil {
		return err
	}
	tol, err := c.tolerance(ctx, f.tol)
	if err != nil {
		return err
	}
	for i, data := range sets {
		err := f.places.check(ctx, m, s, data, tol, worst)
		if err != nil && len(sets) > 1 {
			err = fmt.Errorf("set %d: %w", i, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// check runs the model on one set and compares its outputs, up to the first that differs.
func (p places) check(
	ctx context.Context, m *nacre.Model, s *nacre.Session, data *testData, tol compare.Tolerance, worst *float64,
) error {
	out, err := p.run(ctx, s, data.inputs)
	if err != nil {
		return err
	}
	shapeOnly := isRandom(m.Source())
	for _, want := range data.outputs {
		got, expected := plain(out[want.name]), plain(want.value)
		if shapeOnly && got != nil {
			got, expected = blank(got), blank(expected)
		}
		r, err := compare.Values(ctx, got, expected, tol)
		if err != nil {
			return err
		}
		*worst = max(*worst, r.Share)
		if !r.Match() {
			reason, err := mismatch(ctx, r, got, expected, tol)
			if err != nil {
				return err
			}
			return fmt.Errorf("output %q: %s", want.name, reason)
		}
	}
	return nil
}

// blank returns a copy of v with the same types and shapes and zero elements.
func blank(v tensor.Value) tensor.Value {
	return tensor.Replace(v, func(t *tensor.Tensor) *tensor.Tensor { return tensor.New(t.DType(), t.Shape()...) })
}
