package nacre

import (
	"context"
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// overridableIR is the version of ONNX from which an initializer that is also an input is
// the default of that input. Before it, such an initializer is a constant.
const overridableIR = 4

// mostOverridden bounds the sets of overridden inputs that have a program of their own.
// Further sets share the program that takes all of them.
const mostOverridden = 8

// Overridable describes the constant inputs that runs may override, in the order of the model
// and in a new slice. They are the initializers that an ONNX file of IR version 4 or later also
// lists as inputs. Inputs does not list them.
//
// A session folds and packs such values as constants. The first run that overrides some of
// them makes another program, with these as inputs, and later runs that override the same ones
// share it. It takes as long to make as a session, and shares the other weights.
func (s *Session) Overridable() []Info {
	if !s.made() {
		return nil
	}
	var list []Info
	for _, v := range s.program.overridable() {
		list = append(list, infoOf(v, false))
	}
	return list
}

// overridable returns the inputs that runs of another program override.
func (p *program) overridable() []*graph.Value {
	var list []*graph.Value
	for _, x := range p.inputs {
		if x.role == kept {
			list = append(list, x.Value)
		}
	}
	return list
}

// withoutDefaults returns the model without the values of the named inputs. It shares
// everything else with m.
func withoutDefaults(m *graph.Model, names []string) *graph.Model {
	if len(names) == 0 {
		return m
	}
	g := *m.Graph
	g.Initializers = slices.DeleteFunc(slices.Clone(g.Initializers), func(t *graph.Initializer) bool {
		return slices.Contains(names, t.Name)
	})
	g.Sparse = slices.DeleteFunc(slices.Clone(g.Sparse), func(t *graph.SparseInitializer) bool {
		return slices.Contains(names, t.Name)
	})
	c := *m
	c.Graph, c.Closer = &g, nil
	return &c
}

// valueOf returns the model's value of an input. A sparse value may take limit bytes.
func (p *program) valueOf(name string, limit int) (*tensor.Tensor, error) {
	for _, t := range p.network.Graph.Initializers {
		if t.Name == name {
			return t.Tensor, nil
		}
	}
	for _, t := range p.network.Graph.Sparse {
		if t.Name == name {
			return runtime.Dense(t.Tensor, limit)
		}
	}
	return nil, fmt.Errorf("input %q has no value in the model", name)
}

// taking returns a session with the inputs of s and the named ones of Overridable. It ends
// with s.
func (s *Session) taking(ctx context.Context, names []string) (*Session, error) {
	if s.of != nil {
		of, err := s.of.taking(ctx, names)
		if err != nil {
			return nil, err
		}
		return s.again(ctx, of)
	}
	names = slices.Clone(names)
	slices.Sort(names)
	names, key := slices.Compact(names), ""
	s.mu.Lock()
	key = fmt.Sprintf("%q", names)
	if s.overriding[key] == nil && len(s.overriding) >= mostOverridden {
		names = names[:0]
		for _, v := range s.program.overridable() {
			names = append(names, v.Name)
		}
		slices.Sort(names)
		key = fmt.Sprintf("%q", names)
	}
	o := s.overriding[key]
	s.mu.Unlock()
	if o != nil {
		return o, nil
	}
	made, err := s.model.newSession(ctx, s.options, names)
	if err != nil {
		return nil, err
	}
	return s.keep(key, made), nil
}

// keep stores a session for runs that override inputs, and returns it. If another caller
// was first, it closes made and returns the session of that caller.
func (s *Session) keep(key string, made *Session) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.overriding[key]; o != nil {
		made.Close()
		return o
	}
	if s.overriding == nil {
		s.overriding = map[string]*Session{}
	}
	s.overriding[key] = made
	if s.closed.Load() {
		made.Close()
	}
	return made
}
