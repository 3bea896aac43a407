package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/printable"
)

// programFlags are the flags for programs of OpenInfer.
type programFlags struct {
	model string // path of the weights
	steps int
}

func (f *programFlags) add(flags *pflag.FlagSet) {
	addProgramModel(flags, &f.model)
	flags.IntVar(&f.steps, "steps", 1, "`N` steps of a program of OpenInfer; {step} in the names of --input is their "+
		"number, from 0")
}

// addProgramModel adds the flag --model, the file of a program's tensors.
func addProgramModel(flags *pflag.FlagSet, model *string) {
	flags.StringVar(model, "model", "", "`FILE` (.oinf) with the tensors of a program of OpenInfer")
}

// openModel opens the model at path. If weights is not "", path is a program and weights the file
// of its tensors.
func openModel(ctx context.Context, path, weights string) (*nacre.Model, error) {
	if weights != "" {
		m, err := formats.LoadProgramWithin(formats.NewBudget(ctx, formats.Limits{}), path, weights)
		if err != nil {
			return nil, err
		}
		return nacre.NewModel(m)
	}
	return nacre.OpenContext(ctx, path)
}

// isProgram reports whether a model is a program of OpenInfer.
func isProgram(m *nacre.Model) bool { return formats.IsProgram(m.Source()) }

// given reports whether a flag for programs is used.
func (f *programFlags) given() bool { return f.model != "" || f.steps != 1 }

// program runs the steps of a program and stores its trace with --trace.
func (f *runFlags) program(ctx context.Context, m *nacre.Model, o nacre.Options, stdout, stderr io.Writer) (err error) {
	if f.programs.steps < 1 {
		return usagef("--steps %d: it takes 1 or more", f.programs.steps)
	}
	if f.forwards.tokens != "" {
		return usagef("--tokens is for decoders; the model is a program of OpenInfer")
	}
	trace := f.forwards.trace
	o.NoOptimize = o.NoOptimize || trace != ""
	s, err := m.NewSessionContext(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = join(err, s) }()
	p := &programRun{runFlags: f, model: m, session: s, traced: trace != ""}
	if len(m.States()) > 0 {
		if p.stream, err = s.NewStream(ctx, nacre.StreamOptions{}); err != nil {
			return err
		}
		defer p.stream.Close()
	}
	for i := range f.programs.steps {
		if err := p.step(ctx, i, stdout, stderr); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	if trace != "" {
		return writeFile(ctx, trace,
			func(w io.Writer) error { return writeEvents(w, p.events, filepath.Ext(trace) == ".txt") })
	}
	return nil
}

// programRun has the state of a program between its steps.
type programRun struct {
	*runFlags
	model   *nacre.Model
	session *nacre.Session
	stream  *nacre.Stream // nil for a program without persistent variables
	traced  bool
	events  []formats.ProgramEvent
}

// step runs step i and prints its outputs, or stores them with --out.
func (p *programRun) step(ctx context.Context, i int, stdout, stderr io.Writer) error {
	takes := p.session.Inputs()
	if p.stream != nil {
		takes = p.stream.Inputs()
	}
	inputs, err := p.input.step(ctx, takes, i)
	if err != nil {
		return err
	}
	start := time.Now()
	out, prof, err := p.once(ctx, inputs)
	if err != nil {
		return err
	}
	printable.Fprintf(stderr, "step %d ran in %v\n", i, time.Since(start).Round(time.Microsecond))
	if prof != nil {
		network, err := p.model.Network()
		if err != nil {
			return err
		}
		p.events = append(p.events, formats.TraceProgram(network, programSteps(prof))...)
	}
	computed := slices.DeleteFunc(p.session.Outputs(), func(v nacre.Info) bool { return out[v.Name] == nil })
	if p.out != "" {
		folder := p.out
		if p.programs.steps > 1 {
			folder = filepath.Join(folder, "step"+strconv.Itoa(i))
		}
		return writeOutputs(ctx, stdout, folder, computed, asValues(out))
	}
	for _, v := range computed {
		name := v.Name
		if p.programs.steps > 1 {
			name = fmt.Sprintf("step %d: %s", i, name)
		}
		if err := summary(ctx, stdout, name, out[v.Name]); err != nil {
			return err
		}
	}
	return nil
}

// once runs a step. The profile is nil unless the run is traced.
func (p *programRun) once(
	ctx context.Context, inputs map[string]*nacre.Tensor,
) (map[string]*nacre.Tensor, *nacre.Profile, error) {
	var r interface {
		profiler
		Run(ctx context.Context, inputs map[string]*nacre.Tensor) (map[string]*nacre.Tensor, error)
	} = p.session
	if p.stream != nil {
		r = p.stream
	}
	if !p.traced {
		out, err := r.Run(ctx, inputs)
		return out, nil, err
	}
	values, prof, err := r.Profile(ctx, asValues(inputs))
	out := map[string]*nacre.Tensor{}
	for name, v := range values {
		out[name], _ = v.(*nacre.Tensor) // programs have tensors only
	}
	return out, prof, err
}

// programSteps returns the steps of a profile for a trace.
func programSteps(p *nacre.Profile) (list []formats.ProgramStep) {
	for _, s := range p.Steps() {
		list = append(list, formats.ProgramStep{Node: s.Node, Within: s.Within, Nanos: s.Own.Nanoseconds()})
	}
	return list
}

// step reads the inputs of step i of a program. No input is required.
func (f *inputFlags) step(ctx context.Context, takes []nacre.Info, i int) (map[string]*nacre.Tensor, error) {
	inputs := map[string]*nacre.Tensor{}
	for _, arg := range f.files {
		name, path, ok := strings.Cut(arg, "=")
		if !ok || path == "" {
			return nil, usagef("--input %s: the form is NAME=VALUE", arg)
		}
		v := find(takes, name)
		if v.Name == "" {
			return nil, fmt.Errorf("the program takes no input %q; it takes %s", name, valueList(takes))
		}
		path = strings.ReplaceAll(path, "{step}", strconv.Itoa(i))
		t, err := f.value(ctx, path, v)
		if err != nil {
			return nil, fmt.Errorf("input %q: %s: %w", name, path, err)
		}
		inputs[name] = t
	}
	return inputs, nil
}

// writeEvents writes the nodes that ran, as lines of text or as JSON.
func writeEvents(w io.Writer, events []formats.ProgramEvent, text bool) error {
	if text {
		for _, e := range events {
			if _, err := printable.Fprintln(w, e); err != nil {
				return err
			}
		}
		return nil
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(events)
}
