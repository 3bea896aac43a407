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
func (f *runFlags) begin(m *nacre.Model, s *nacre.Session) (*nacre.Stream, error) {
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
	return s.NewStream(nacre.StreamOptions{})
}

// first runs a stream once and closes it.
func (f *runFlags) first(ctx context.Context, s *nacre.Session, stream *nacre.Stream, stdout, stderr io.Writer) error {
	defer stream.Close()
	inputs, err := f.input.load(ctx, stream)
	if err != nil {
		return err
	}
	start := time.Now()
	var tensors map[string]*nacre.Tensor
	if f.profile == "" {
		tensors, err = stream.Run(ctx, inputs)
	} else {
		tensors, err = f.profiled(ctx, stream, inputs, stderr)
	}
	if err != nil {
		return err
	}
	return f.show(ctx, s, asValues(tensors), time.Since(start), stdout, stderr)
}

// profiled runs a stream once with a profile, and writes the profile.
func (f *runFlags) profiled(ctx context.Context, stream *nacre.Stream, inputs map[string]*nacre.Tensor, stderr io.Writer) (map[string]*nacre.Tensor, error) {
	out, prof, err := stream.Profile(ctx, inputs)
	if err != nil {
		return nil, err
	}
	if err := writeFile(ctx, f.profile, prof.WriteTrace); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	return out, prof.WriteTable(stderr)
}
