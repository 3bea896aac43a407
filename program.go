package nacre

import (
	"context"

	"github.com/nacre-ml/nacre/formats"
)

// OpenProgram opens a program of OpenInfer, as JSON or in its text language, with the file
// of its tensors, size variables and metadata (.oinf).
//
// The inputs of the model are the program's dynamic variables. If a run leaves one out, its
// value is the tensor or metadata of its name, or its @init, or zeros.
// The outputs are the volatile variables that the program writes, as they are after a step,
// and the dynamic variables that it writes, with ".out" added to their names. Persistent
// variables are states, so a Stream runs one step after another; Stream.State returns a
// variable by its name with "past." before it.
//
// The error is as for Open. Network and NewSession report faults of the program.
func OpenProgram(program, weights string) (*Model, error) {
	return OpenProgramContext(context.Background(), program, weights)
}

// OpenProgramContext is OpenProgram that ends with the context's error when the context is
// done. The error is ErrOption if ctx is nil.
func OpenProgramContext(ctx context.Context, program, weights string) (_ *Model, err error) {
	defer enter(program).end(&err)
	b, err := opening(ctx, program)
	if err != nil {
		return nil, err
	}
	return loaded(formats.LoadProgramWithin(b, program, weights))
}

// ProgramEvent is a node of a program of OpenInfer that ran. A list of events, as JSON, is a
// trace of OpenInfer; String returns the line of a trace as text.
type ProgramEvent = formats.ProgramEvent

// ProgramTrace returns the nodes of a program that a run computed, in the order of the
// program, with times from the profile of the run. Nodes that the optimiser removed or merged
// have the time 0; NoOptimize keeps all nodes. The error is as for Network, or ErrUnsupported
// for a model that is no program.
func (m *Model) ProgramTrace(p *Profile) (_ []ProgramEvent, err error) {
	defer m.enter().end(&err)
	n, err := m.network()
	if err != nil {
		return nil, err
	}
	var steps []formats.ProgramStep
	for _, s := range p.p.Steps {
		steps = append(steps, formats.ProgramStep{Node: s.Node, Within: s.Within, Nanos: s.Own.Nanoseconds()})
	}
	events := formats.TraceProgram(n, steps)
	if events == nil {
		return nil, markf(ErrUnsupported, "%s: a model of the format %s is no program of OpenInfer", m.source.File, m.source.Format)
	}
	return events, nil
}
