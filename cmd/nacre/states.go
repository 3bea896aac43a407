package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nacre-ml/nacre"
)

// begin returns a stream for a model with states that no --input names, so that a run begins with
// empty ones. For other models it returns nil.
func (f *runFlags) begin(ctx context.Context, m *nacre.Model, s *nacre.Session) (*nacre.Stream, error) {
	states := m.States()
	for _, arg := range f.input.files {
		name, _, _ := strings.Cut(arg, "=")
		if slices.ContainsFunc(states, func(st nacre.State) bool { return st.Input == name }) {
			return nil, nil
		}
	}
	network, err := m.Network()
	if len(states) == 0 || err != nil || network == m.Source() {
		return nil, nil // a file with nodes declares all of its inputs
	}
	return s.NewStream(ctx, nacre.StreamOptions{})
}

// first runs a stream once and closes it.
func (f *runFlags) first(
	ctx context.Context, m *nacre.Model, s *nacre.Session, o nacre.Options, stream *nacre.Stream, stdout, stderr io.Writer,
) error {
	defer stream.Close()
	inputs, err := f.inputs(ctx, stream, stderr)
	if err != nil {
		return err
	}
	start := time.Now()
	var out map[string]nacre.Value
	if f.profile == "" {
		var tensors map[string]*nacre.Tensor
		tensors, err = stream.Run(ctx, inputs)
		out = asValues(tensors)
	} else {
		out, err = f.profiled(ctx, stream, asValues(inputs), stderr)
	}
	if err != nil {
		return err
	}
	if err := f.show(ctx, s, out, time.Since(start), stdout, stderr); err != nil {
		return err
	}
	return f.checkFinite(ctx, m, o, out, func(s *nacre.Session) (map[string]nacre.Value, error) {
		again, err := s.NewStream(ctx, nacre.StreamOptions{})
		if err != nil {
			return nil, err
		}
		defer again.Close()
		values, err := again.Run(ctx, inputs)
		return asValues(values), err
	})
}

// profiled runs a session or a stream once with a profile, and writes the profile.
func (f *runFlags) profiled(
	ctx context.Context, r profiler, inputs map[string]nacre.Value, stderr io.Writer,
) (map[string]nacre.Value, error) {
	out, prof, err := r.Profile(ctx, inputs)
	if err != nil {
		return nil, err
	}
	if err := writeFile(ctx, f.profile, prof.WriteTrace); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	return out, prof.WriteTable(stderr)
}

// profiler is a session or a stream.
type profiler interface {
	Profile(ctx context.Context, inputs map[string]nacre.Value) (map[string]nacre.Value, *nacre.Profile, error)
}
