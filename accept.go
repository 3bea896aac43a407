package nacre

import (
	"context"
	"slices"
	"sync"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// role is what an input of a network is to the runs of one program.
type role uint8

const (
	given   role = iota // runs take it
	ignored             // no chosen output needs it
	kept                // a constant, which runs of another program override
	fixed               // a constant
)

// input is an input of a network, as the runs of one program see it.
type input struct {
	*graph.Value
	role   role
	listed bool // Session.Inputs lists it
	at     int  // place among the inputs of the engine, if it is given
	// spare returns the value of a run that leaves the input out, if the value takes limit bytes or
	// less; 0 is no limit. It is nil if runs need the input.
	spare func(limit int) (*tensor.Tensor, error)
}

// splitInputs gives the inputs of the network their roles. Constant inputs named by taken are
// given.
func (p *program) splitInputs(used []*graph.Value, taken []string) {
	defaults := formats.ProgramDefaults(p.network)
	p.named = map[string]*input{}
	needed := make(map[*graph.Value]bool, len(used))
	for _, v := range used {
		needed[v] = true
	}
	for i, in := range inputsOf(p.network) {
		v := p.network.Graph.Inputs[i]
		x := &input{Value: v}
		p.inputs = append(p.inputs, x)
		p.named[v.Name] = x
		unused := !needed[v]
		switch d := defaults[v.Name]; {
		case in.Required || d != nil:
			x.listed = true
			if d != nil {
				x.spare = made(v.Name, d)
			}
			if unused {
				x.role = ignored
			}
		case p.network.IR < overridableIR:
			x.role = fixed
		case unused:
			x.role = ignored
		case slices.Contains(taken, v.Name):
			x.listed = true
			x.spare = func(limit int) (*tensor.Tensor, error) { return p.valueOf(v.Name, limit) }
		default:
			x.role = kept
		}
	}
}

// number gives the inputs and results of the network their places in the engine.
func (p *program) number() {
	for at, v := range p.engine.Inputs() {
		x := p.named[v.Name]
		x.at = at
		p.takes = append(p.takes, x)
	}
	for _, v := range p.engine.Outputs() {
		p.results = append(p.results, v.Name)
	}
}

// made returns the spare of an input with a default. It makes the default once.
func made(name string, from *formats.ProgramDefault) func(limit int) (*tensor.Tensor, error) {
	var mu sync.Mutex
	var t *tensor.Tensor
	return func(limit int) (*tensor.Tensor, error) {
		mu.Lock()
		defer mu.Unlock()
		if t != nil {
			return t, nil
		}
		if most := runtime.PhysicalMemory(); limit == 0 || most > 0 && most < limit {
			limit = most
		}
		if n := from.Bytes(); limit > 0 && n > limit {
			return nil, markf(ErrMemory, "the value of input %q, which is not given, takes %d bytes of %d", name, n, limit)
		}
		t = from.Tensor()
		return t, nil
	}
}

// accept returns the inputs of a run in the order of the engine, and the session whose engine
// takes them: s, or the session that overrides constant inputs among them. It reports inputs
// that are unknown or missing. The engine checks types and shapes.
func accept[V any](
	ctx context.Context, s *Session, inputs map[string]V, below func(V) (tensor.Value, error),
) (*Session, []tensor.Value, error) {
	s, in, err := place(ctx, s, inputs, below)
	if err != nil {
		return nil, nil, err
	}
	for at, x := range s.program.takes {
		if in[at] == nil {
			if in[at], err = s.spare(x, s.Inputs); err != nil {
				return nil, nil, err
			}
		}
	}
	return s, in, nil
}

// place is accept that leaves missing inputs nil.
func place[V any](
	ctx context.Context, s *Session, inputs map[string]V, below func(V) (tensor.Value, error),
) (*Session, []tensor.Value, error) {
	if err := s.usable(ctx); err != nil {
		return nil, nil, err
	}
	in := make([]tensor.Value, len(s.program.takes))
	var overridden []string
	for name, v := range inputs {
		value, err := below(v)
		if err != nil {
			return nil, nil, markf(ErrShape, "%s: input %q: %w", s.model.source.File, name, err)
		}
		if value == nil {
			continue
		}
		x, err := s.input(name, s.Inputs)
		if err != nil {
			return nil, nil, err
		}
		switch x.role {
		case given:
			in[x.at] = value
		case kept:
			overridden = append(overridden, name)
		}
	}
	if overridden == nil {
		return s, in, nil
	}
	s, err := s.taking(ctx, overridden)
	if err != nil {
		return nil, nil, err
	}
	return place(ctx, s, inputs, below)
}

// input returns the input of a name. The error is ErrUnknownInput if no run gives it; its message
// lists the inputs that runs take.
func (s *Session) input(name string, takes func() []Info) (*input, error) {
	x := s.program.named[name]
	file := s.model.source.File
	switch {
	case x == nil:
		return nil, markf(ErrUnknownInput, "%s: the model takes no input %q; it takes %s", file, name, names(takes()))
	case x.role == fixed && s.program.network.IR > 0:
		const text = "%s: input %q has a value in the model, which is a constant before IR version %d; " +
			"in a file of a later ir_version runs may give another"
		return nil, markf(ErrUnknownInput, text, file, name, overridableIR)
	case x.role == fixed:
		return nil, markf(ErrUnknownInput, "%s: input %q has a value in the model and cannot be given", file, name)
	}
	return x, nil
}

// spare returns the value of an input that a run leaves out. The error is ErrMissingInput if there
// is none; its message lists the inputs that runs take.
func (s *Session) spare(x *input, takes func() []Info) (tensor.Value, error) {
	if x.spare == nil {
		return nil, markf(ErrMissingInput, "%s: input %q is missing; the model takes %s", s.model.source.File, x.Name,
			names(takes()))
	}
	return x.spare(s.options.MemoryLimit)
}

// types returns the types of inputs in the order of the engine, and the session that has the
// engine.
func (s *Session) types(ctx context.Context, inputs []Info) (*Session, []graph.Type, error) {
	named := make(map[string]Info, len(inputs))
	for _, v := range inputs {
		named[v.Name] = v
	}
	s, in, err := place(ctx, s, named, func(Info) (tensor.Value, error) { return &tensor.Tensor{}, nil })
	if err != nil {
		return nil, nil, err
	}
	types := make([]graph.Type, len(in))
	for at, x := range s.program.takes {
		switch {
		case in[at] != nil:
			types[at] = named[x.Name].below()
		case x.spare != nil:
			types[at] = x.Type
		default:
			_, err := s.spare(x, s.Inputs)
			return nil, nil, err
		}
	}
	return s, types, nil
}
