package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/invent"
	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/internal/stages"
)

// planFlags are the flags of nacre plan.
type planFlags struct {
	session sessionFlags
	input   inputFlags
	dims    dimFlags
	model   string
	stream  bool
	json    bool
	timings bool
}

func planCommand() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan MODEL",
		Short: "Print the steps of a run with their kernels, and its memory",
		Long: `Print the plan of a run: for every step its device, its kernels, its operands and
their places, and the memory of the whole run. Nothing runs. Extents that the model
leaves open come from the files of --input or from --dim, and are 1 without either.

With --stream the plan is of the first run of a stream: inputs that are states of the
model are in its memory, and lengths are symbols.

With --timings print how long each stage took from the file to the plan, in place of the
plan. A stage's time excludes the stages that it contains, such as packing weights.`,
		Example: `nacre plan model.onnx --dim batch=8
nacre plan model.onnx --input image=cat.jpg --device vulkan
nacre plan decoder.onnx --stream --json`,
		Args: takes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.input.add(flags)
	f.dims.add(flags)
	flags.BoolVar(&f.stream, "stream", false, "plan a run of a stream, with the model's states")
	flags.BoolVar(&f.json, "json", false, "print the plan as JSON")
	flags.BoolVar(&f.timings, "timings", false, "print the times of the stages in place of the plan")
	f.session.add(flags)
	f.input.image.memory = &f.session.memory
	addProgramModel(flags, &f.model)
	return cmd
}

func (f *planFlags) run(ctx context.Context, path string, stdout io.Writer) (err error) {
	o, err := f.session.options()
	if err != nil {
		return err
	}
	var times *stages.Times
	if f.timings {
		times = &stages.Times{}
		ctx = stages.With(ctx, times)
	}
	m, err := openModel(ctx, path, f.model)
	if err != nil {
		return err
	}
	defer func() { err = join(err, m) }()
	if !isProgram(m) && f.model != "" {
		return usagef("--model is for programs of OpenInfer")
	}
	s, err := m.NewSessionContext(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = join(err, s) }()
	return f.print(ctx, path, m, s, times, stdout)
}

// printedPlan is a plan as JSON.
type printedPlan struct {
	Model   string         `json:"model"`
	Inputs  []string       `json:"inputs"`
	Assumed map[string]int `json:"assumed,omitempty"` // extents that no flag or file gives
	Plan    *nacre.Plan    `json:"plan"`
}

// print prints the plan of a run on inputs from files, and for the other inputs on tensors of
// their declared types.
func (f *planFlags) print(
	ctx context.Context, path string, m *nacre.Model, s *nacre.Session, times *stages.Times, stdout io.Writer,
) error {
	infos, held := s.Inputs(), map[string]bool{}
	if f.stream {
		for _, state := range m.States() {
			held[state.Input] = true
		}
		infos = slices.DeleteFunc(infos, func(v nacre.Info) bool { return held[v.Name] })
	}
	e, err := f.dims.extents(infos)
	if err != nil {
		return err
	}
	inputs, err := f.types(ctx, s, infos, e)
	if err != nil {
		return err
	}
	p, err := f.planOf(ctx, s, inputs)
	if err != nil && e.Assumed != nil {
		return fmt.Errorf("%w; extents are 1 for want of --dim: %s", err, strings.Join(e.Assumed, ", "))
	}
	if err != nil {
		return err
	}
	if times != nil {
		return f.printTimings(path, times.List(), stdout)
	}
	if !f.json {
		sayAssumed(stdout, e)
		if err := p.WriteText(stdout); err != nil {
			return err
		}
		_, err := printable.Fprintf(stdout, "memory of a run %s, of its outputs %s\n", humanize.IBytes(uint64(p.PeakBytes())),
			humanize.IBytes(uint64(p.OutputBytes())))
		return err
	}
	out := printedPlan{Model: path, Plan: p, Assumed: map[string]int{}}
	for _, v := range inputs {
		out.Inputs = append(out.Inputs, v.String())
	}
	for _, name := range e.Assumed {
		out.Assumed[name] = 1
	}
	return writeJSON(stdout, out)
}

// planOf returns the plan of a run on inputs of these types, or of the first run of a stream.
func (f *planFlags) planOf(ctx context.Context, s *nacre.Session, types []nacre.Info) (*nacre.Plan, error) {
	if !f.stream {
		return s.PlanTypes(ctx, types)
	}
	var overridden []string
	for _, v := range s.Overridable() {
		if find(types, v.Name).Name != "" {
			overridden = append(overridden, v.Name)
		}
	}
	stream, err := s.NewStream(ctx, nacre.StreamOptions{Override: overridden})
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	inputs := map[string]*nacre.Tensor{}
	for _, v := range types {
		if v.Kind != nacre.TensorKind {
			continue
		}
		shape := make([]int, len(v.Shape))
		for k, d := range v.Shape {
			shape[k] = d.Size
		}
		if inputs[v.Name], err = nacre.Zeros(v.DType, shape...); err != nil {
			return nil, fmt.Errorf("input %v: %w", v, err)
		}
	}
	return stream.Plan(ctx, inputs)
}

// types returns the types of the given inputs and of the required ones among infos. Every extent
// has a number.
func (f *planFlags) types(
	ctx context.Context, s *nacre.Session, infos []nacre.Info, e *invent.Extents,
) ([]nacre.Info, error) {
	given, err := f.input.load(ctx, s)
	var missing missingError
	if err != nil && !errors.As(err, &missing) {
		return nil, err
	}
	for name, t := range given {
		if err := e.Take(find(accepted(s), name), t.Shape()); err != nil {
			return nil, err
		}
	}
	var list []nacre.Info
	for _, v := range slices.Concat(infos, s.Overridable()) {
		t := given[v.Name]
		switch {
		case t != nil:
			v.DType, v.Shape = t.DType(), sizes(t.Shape())
		case !v.Required:
			continue
		case v.Kind == nacre.TensorKind && v.Shape == nil:
			return nil, fmt.Errorf("the model leaves the number of axes of input %q open (--input %s=FILE says it)", v.Name,
				v.Name)
		case v.Kind == nacre.TensorKind:
			v.Shape = sizes(e.Shape(v))
		}
		list = append(list, v)
	}
	return list, nil
}

// sizes returns a shape as dimensions that are not open.
func sizes(shape []int) []nacre.Dim {
	list := make([]nacre.Dim, len(shape))
	for k, n := range shape {
		list[k] = nacre.Dim{Size: n}
	}
	return list
}
