package speech

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/packed"
)

// port is an input or an output of a graph.
type port struct {
	name string
	ids  bool // integers; else floats
	rank int
}

// fits reports whether a value can be a port, by its type.
func (p port) fits(v nacre.Info) bool {
	if v.Kind != nacre.TensorKind || v.Shape != nil && len(v.Shape) != p.rank {
		return false
	}
	if p.ids {
		return v.DType == nacre.Int64 || v.DType == nacre.Int32
	}
	return v.DType.IsFloat()
}

func (p port) String() string {
	kind := "floats"
	if p.ids {
		kind = "integers"
	}
	return fmt.Sprintf("%s, %s with %d axes", p.name, kind, p.rank)
}

// network is a graph of a voice.
type network struct {
	path    string // for messages
	model   *nacre.Model
	session *nacre.Session // nil before start
	inputs  []nacre.Info   // of the ports, in their order
	outputs []nacre.Info
	extra   []nacre.Info // required inputs that are no ports
}

// openNetwork opens a graph and finds its ports: by name, else the next of the type. Inputs that
// states replace are none.
func openNetwork(f files, name string, inputs, outputs []port) (_ *network, err error) {
	n := &network{path: f.path(name)}
	if n.model, err = f.model(name); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = n.close()
		}
	}()
	states := n.model.States()
	in := slices.DeleteFunc(n.model.Inputs(), func(v nacre.Info) bool {
		return slices.ContainsFunc(states, func(s nacre.State) bool { return s.Input == v.Name })
	})
	out := slices.DeleteFunc(n.model.Outputs(), func(v nacre.Info) bool {
		return slices.ContainsFunc(states, func(s nacre.State) bool { return s.Output == v.Name })
	})
	if n.inputs, in, err = found(in, inputs); err != nil {
		return nil, errorf(nacre.ErrUnsupported, "%s: the graph takes no input %w", n.path, err)
	}
	if n.outputs, _, err = found(out, outputs); err != nil {
		return nil, errorf(nacre.ErrUnsupported, "%s: the graph gives no output %w", n.path, err)
	}
	n.extra = slices.DeleteFunc(in, func(v nacre.Info) bool { return !v.Required })
	return n, nil
}

// found returns the values of ports and the other values.
func found(list []nacre.Info, ports []port) (values, others []nacre.Info, err error) {
	others = slices.Clone(list)
	values = make([]nacre.Info, len(ports))
	take := func(i int, is func(nacre.Info) bool) bool {
		at := slices.IndexFunc(others, is)
		if at >= 0 {
			values[i] = others[at]
			others = slices.Delete(others, at, at+1)
		}
		return at >= 0
	}
	named := make([]bool, len(ports))
	for i, p := range ports {
		named[i] = take(i, func(v nacre.Info) bool { return v.Name == p.name })
		if named[i] && !p.fits(values[i]) {
			return nil, nil, fmt.Errorf("%v: it has %v", p, values[i])
		}
	}
	for i, p := range ports {
		if !named[i] && !take(i, p.fits) {
			return nil, nil, fmt.Errorf("%v: it has %s", p, infoList(list))
		}
	}
	return values, others, nil
}

// infoList names values in messages.
func infoList(list []nacre.Info) string {
	if len(list) == 0 {
		return "none"
	}
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = v.String()
	}
	return strings.Join(words, ", ")
}

// start makes the session.
func (n *network) start(ctx context.Context, o nacre.Options) (err error) {
	if n.session == nil {
		n.session, err = n.model.NewSessionContext(ctx, o)
	}
	return err
}

// run runs the graph on tensors in the order of the ports, and on others by name.
func (n *network) run(
	ctx context.Context, others map[string]*nacre.Tensor, in ...*nacre.Tensor,
) ([]*nacre.Tensor, error) {
	inputs, err := n.given(others, in)
	if err != nil {
		return nil, err
	}
	results, err := n.session.Run(ctx, inputs)
	if err != nil {
		return nil, err
	}
	return n.results(results)
}

// given returns tensors by the names of inputs, in their types.
func (n *network) given(others map[string]*nacre.Tensor, in []*nacre.Tensor) (map[string]*nacre.Tensor, error) {
	inputs := make(map[string]*nacre.Tensor, len(in)+len(others))
	for name, t := range others {
		inputs[name] = t
	}
	for i, t := range in {
		v := n.inputs[i]
		if !takes(v, t.Shape()) {
			const text = "%s: input %v does not fit %v, which the other graphs of the voice give"
			return nil, errorf(nacre.ErrShape, text, n.path, v, t)
		}
		t, err := converted(t, v.DType)
		if err != nil {
			return nil, fmt.Errorf("%s: input %v: %w", n.path, v, err)
		}
		inputs[v.Name] = t
	}
	return inputs, nil
}

// takes reports whether an input can have these extents.
func takes(v nacre.Info, shape []int) bool {
	return v.Shape == nil || slices.EqualFunc(v.Shape, shape, func(d nacre.Dim, n int) bool {
		return d.Open() || d.Size == n
	})
}

// results returns the outputs of a run in the order of the ports.
func (n *network) results(byName map[string]*nacre.Tensor) ([]*nacre.Tensor, error) {
	out := make([]*nacre.Tensor, len(n.outputs))
	for i, v := range n.outputs {
		if out[i] = byName[v.Name]; out[i] == nil {
			return nil, errorf(nacre.ErrUnsupported, "%s: a run gives no output %v", n.path, v)
		}
	}
	return out, nil
}

// close closes the session and the model.
func (n *network) close() error {
	if n == nil || n.model == nil {
		return nil
	}
	if n.session != nil {
		if err := n.session.Close(); err != nil {
			return err
		}
		n.session = nil
	}
	return n.model.Close()
}

// converted returns a tensor with elements of a type: floats as floats of another width, and
// integers likewise.
func converted(t *nacre.Tensor, to nacre.DType) (*nacre.Tensor, error) {
	if t.DType() == to {
		return t, nil
	}
	switch {
	case to == nacre.Int32 && t.DType() == nacre.Int64:
		return mapped(t, func(x int64) int32 { return int32(x) })
	case to == nacre.Int64 && t.DType() == nacre.Int32:
		return mapped(t, func(x int32) int64 { return int64(x) })
	}
	data, err := nacre.Float32s(t)
	if err != nil {
		return nil, err
	}
	wide, err := nacre.NewTensor(data, t.Shape()...)
	if err != nil {
		return nil, err
	}
	switch to {
	case nacre.Float32:
		return wide, nil
	case nacre.Float16:
		return mapped(wide, packed.ToF16)
	case nacre.BFloat16:
		return mapped(wide, packed.ToBF16)
	case nacre.Float64:
		return mapped(wide, func(x float32) float64 { return float64(x) })
	}
	return nil, errorf(nacre.ErrUnsupported, "%v cannot be made of %v", to, t)
}

// mapped returns the tensor of a function of elements.
func mapped[A, B nacre.Element](t *nacre.Tensor, f func(A) B) (*nacre.Tensor, error) {
	data, err := nacre.Data[A](t)
	if err != nil {
		return nil, err
	}
	out := make([]B, len(data))
	for i, x := range data {
		out[i] = f(x)
	}
	return nacre.NewTensor(out, t.Shape()...)
}
