package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/diagram"
	"github.com/nacre-ml/nacre/internal/diagram/page"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// picture writes a page with a picture of a model's graph.
func (f *inspectFlags) picture(ctx context.Context, m *nacre.Model) error {
	network, err := networkOf(m)
	if err != nil {
		return err
	}
	d, err := diagram.Draw(ctx, network)
	if err != nil {
		return err
	}
	switch {
	case f.profile != "":
		d.Steps, err = readTrace(f.profile)
	case f.plan:
		d.Steps, err = f.planned(ctx, m)
	}
	if err != nil {
		return err
	}
	if f.profile != "" && !anyOf(d.Steps, network) {
		return fmt.Errorf("--profile %s: none of its %s is a node of %s", f.profile, plural(len(d.Steps), "step"), m.Source().File)
	}
	return writeFile(ctx, f.html, func(w io.Writer) error { return page.Write(w, filepath.Base(m.Source().File), d) })
}

// readTrace reads the steps of a file of nacre run --profile.
func readTrace(path string) ([]diagram.Step, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var events []struct {
		Name string            `json:"name"`
		Dur  float64           `json:"dur"` // microseconds
		Args map[string]string `json:"args"`
	}
	if err := json.Unmarshal(data, &events); err != nil {
		return nil, fmt.Errorf("--profile %s: it is no file of nacre run --profile: %w", path, err)
	}
	steps := make([]diagram.Step, len(events))
	for i, e := range events {
		ms := e.Dur / 1000
		steps[i] = diagram.StepOf(e.Name, e.Args["within"], e.Args["op"], e.Args["how"], &ms)
	}
	return steps, nil
}

// anyOf reports whether a step is of a node of the main graph.
func anyOf(steps []diagram.Step, m *graph.Model) bool {
	names := map[string]bool{}
	for _, n := range m.Graph.Nodes {
		names[diagram.StepOf(n.Label(), "", "", "", nil).Node] = true
	}
	for _, s := range steps {
		if s.Within == "" && names[s.Node] {
			return true
		}
	}
	return false
}

// planned returns the steps of a run on inputs of the declared types.
func (f *inspectFlags) planned(ctx context.Context, m *nacre.Model) (_ []diagram.Step, err error) {
	s, err := m.NewSessionContext(ctx, nacre.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = join(err, s) }()
	e, err := f.dims.extents(s.Inputs())
	if err != nil {
		return nil, err
	}
	types, err := (&planFlags{}).types(ctx, s, s.Inputs(), e)
	if err != nil {
		return nil, err
	}
	p, err := s.PlanTypes(ctx, types)
	if err != nil {
		return nil, err
	}
	var steps []diagram.Step
	for _, step := range p.Steps() {
		steps = append(steps, diagram.StepOf(step.Node, "", step.Op, step.How, nil))
	}
	return steps, nil
}
