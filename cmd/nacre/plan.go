package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/nacre-ml/nacre"
)

// printedPlan is a plan as JSON.
type printedPlan struct {
	Model   string         `json:"model"`
	Inputs  []string       `json:"inputs"`
	Assumed map[string]int `json:"assumed,omitempty"` // extents that nothing says
	Plan    *nacre.Plan    `json:"plan"`
}

// printPlan prints the plan of a run on the inputs of files, and on inputs of the
// declared types for the rest.
func (f *runFlags) printPlan(path string, s *nacre.Session, stdout io.Writer) error {
	e, err := f.dims.extents(s.Inputs())
	if err != nil {
		return err
	}
	inputs, err := f.types(s, e)
	if err != nil {
		return err
	}
	p, err := s.PlanTypes(inputs)
	if err != nil && e.assumed != nil {
		return fmt.Errorf("%w; extents are 1 for want of --dim: %s", err, strings.Join(e.assumed, ", "))
	}
	if err != nil {
		return err
	}
	if !f.json {
		e.say(stdout)
		return p.WriteText(stdout)
	}
	out := printedPlan{Model: path, Plan: p, Assumed: map[string]int{}}
	for _, v := range inputs {
		out.Inputs = append(out.Inputs, v.String())
	}
	for _, name := range e.assumed {
		out.Assumed[name] = 1
	}
	return writeJSON(stdout, out)
}

// types are those of the required inputs, with numbers for all extents.
func (f *runFlags) types(s *nacre.Session, e *openExtents) ([]nacre.Info, error) {
	given, err := f.input.load(s)
	var missing missingError
	if err != nil && !errors.As(err, &missing) {
		return nil, err
	}
	for name, t := range given {
		if err := e.take(find(s.Inputs(), name), t.Shape()); err != nil {
			return nil, err
		}
	}
	var list []nacre.Info
	for _, v := range s.Inputs() {
		t := given[v.Name]
		switch {
		case !v.Required:
			continue
		case t != nil:
			v.DType, v.Shape = t.DType(), sizes(t.Shape())
		case v.Kind == nacre.TensorKind && v.Shape == nil:
			return nil, fmt.Errorf("the model leaves the number of axes of input %q open (--input %s=FILE says it)", v.Name, v.Name)
		case v.Kind == nacre.TensorKind:
			v.Shape = sizes(e.shape(v))
		}
		list = append(list, v)
	}
	return list, nil
}

// sizes is a shape without open extents.
func sizes(shape []int) []nacre.Dim {
	list := make([]nacre.Dim, len(shape))
	for k, n := range shape {
		list[k] = nacre.Dim{Size: n}
	}
	return list
}
