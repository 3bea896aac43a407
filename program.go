package nacre

import (
	"github.com/nacre-ml/nacre/formats"
)

// OpenProgram opens a program of OpenInfer, as JSON or in its text language, with the file
// of its tensors, size variables and metadata (.oinf).
//
// The inputs of the model are the program's dynamic variables. One that a run is not given
// has the value of the tensor or metadata of its name, else that of its @init, else zeros.
// The outputs are the volatile variables that the program writes, after a step, and the
// dynamic ones that it writes, under their names with ".out" behind. The persistent
// variables are states, so that a Stream runs one step after another; Stream.State returns
// a variable under its name with "past." before.
//
// The error is that of Open. Faults of the program are errors of Network and NewSession,
// before anything runs.
func OpenProgram(program, weights string) (_ *Model, err error) {
	defer enter(program).end(&err)
	return loaded(formats.LoadProgram(program, weights))
}

// ProgramEvent is one node of a program of OpenInfer that ran. As JSON, a list of events is
// a trace as OpenInfer writes it; String returns the line of its trace as text.
type ProgramEvent = formats.ProgramEvent

// ProgramTrace returns the nodes of a program that a run computed, in the order in which
// the program has them, from the profile of the run. The times of nodes that the optimiser
// has removed or joined with others are 0; NoOptimize keeps all. The error is that of
// Network, or ErrUnsupported for a model that is no program.
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
