package formats

import (
	"errors"
	"io"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/formats/openinfer"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// LoadProgram loads a program of OpenInfer, as JSON or in its text language, with tensors, size
// variables and metadata from the file weights (.oinf).
//
// The inputs of the network are the program's dynamic variables. If a run leaves one out, its value
// is the tensor or metadata of its name, or its @init, or zeros. The outputs are the volatile
// variables that the program writes, as they are after a step, and the dynamic variables that it
// writes, with ".out" added to their names. Persistent variables are states, so a nacre.Stream runs
// one step after another. The state of a variable is the input with its name after "past.".
func LoadProgram(program, weights string) (*graph.Model, error) {
	return LoadProgramWithin(nil, program, weights)
}

// LoadProgramWithin is LoadProgram with a budget for memory. It fails if the budget's context ends.
func LoadProgramWithin(b *Budget, program, weights string) (_ *graph.Model, err error) {
	defer guard.At(program).End(&err)
	p, err := LoadWithin(b, program)
	if err != nil {
		return nil, err
	}
	w, err := LoadWithin(b, weights)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	m, err := openinfer.WithWeights(p, w)
	if err != nil {
		return nil, errors.Join(err, w.Close(), p.Close())
	}
	return m, p.Close()
}

// saveProgram writes a program. It is JSON if the extension is .json; if not, it is in the text
// language.
func saveProgram(path string, m *graph.Model, o Options) error {
	return container.Save(path, func(w io.Writer) error {
		if err := openinfer.Write(o.Counted(w, m), m, extension(path) == ".json"); err != nil {
			return err
		}
		return Intact(m)
	})
}

// ProgramStep is one step of a run of a program's graph, from the profile of the run: its Node, the
// nodes that it is Within, and its time in Nanos.
// "go doc github.com/nacre-ml/nacre/formats/openinfer.Step" shows it.
type ProgramStep = openinfer.Step

// ProgramEvent is one node of a program that ran. A list of events, as JSON, is a trace of
// OpenInfer; String returns the line of a trace as text. The fields Block, Index, ID, Kind, Params,
// Output, Micros and Text are those of a trace.
// "go doc github.com/nacre-ml/nacre/formats/openinfer.Event" shows them.
type ProgramEvent = openinfer.Event

// IsProgram reports whether a model is a program of OpenInfer.
func IsProgram(m *graph.Model) bool { return m.Format == openinfer.Name }

// ProgramDefault is the value of a program's input in runs that leave the input out, with its DType and
// its Shape. "go doc github.com/nacre-ml/nacre/formats/openinfer.Default" shows its methods.
type ProgramDefault = openinfer.Default

// ProgramDefaults returns the defaults of the inputs of a program's network, by name. It returns
// nil for other networks.
func ProgramDefaults(network *graph.Model) map[string]*ProgramDefault {
	return openinfer.Defaults(network)
}

// TraceProgram returns the nodes of a program that ran, in the order of the program, given the
// steps of a run of its network. Nodes that the optimiser removed or merged have the time 0.
// TraceProgram returns nil for other networks.
func TraceProgram(network *graph.Model, steps []ProgramStep) []ProgramEvent {
	return openinfer.Trace(network, steps)
}

// keepsProgram returns an error if saving a program in format f would lose the program.
func (f *Format) keepsProgram(m *graph.Model, o Options) error {
	if !IsProgram(m) || f.nodes || f.Name == openinfer.Name || o.DropGraph {
		return nil
	}
	return graph.Errorf(graph.ErrUnsupported, "the program has no place in %s, which holds tensors only (it can be left out)", f.Name)
}
