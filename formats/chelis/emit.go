package chelis

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/formats/hnw"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Fact is the knowledge of a value before a run: its type, and the value itself or, for integers,
// expressions.
type Fact struct {
	graph.Type
	Const *tensor.Tensor
	Ints  []graph.Dim
}

// MaxElements is the default of Options.MaxElements.
const MaxElements = 1 << 20

// Options set how a model is emitted. Infer is required.
type Options struct {
	// Module is the name of the module; if empty, it is made from the file's name.
	Module string
	// Placeholder gives every weight one literal in place of its values.
	Placeholder bool
	// Archive leaves the values of initializers to an archive. A definition with the IO effect
	// reads them, and forward takes them as a parameter.
	Archive bool
	// MaxElements bounds the elements of a weight with values; 0 means the constant MaxElements.
	MaxElements int
	// Infer returns the facts of a node's outputs, given its inputs'.
	Infer func(n *graph.Node, in []*Fact) ([]*Fact, error)
}

// Emit returns the module of a model. Its functions must be inlined. Errors are of the kinds in
// this package.
func Emit(m *graph.Model, o Options) (_ []byte, err error) {
	defer guard.At(m.File).End(&err)
	if o.Module == "" {
		o.Module = hnw.ModuleName(m)
	}
	if o.MaxElements == 0 {
		o.MaxElements = MaxElements
	}
	e := &emitter{o: o, m: m, ids: hnw.NewIdentifiers(), facts: map[string]*Fact{}, code: map[string]string{}, weights: map[string]*weight{}, symbols: map[string]string{}, extents: map[string]string{}, missing: map[string]error{}}
	text, err := e.module()
	if err == nil {
		return []byte(text), nil
	}
	var known *graph.Error
	if errors.As(err, &known) {
		return nil, err
	}
	return nil, &graph.Error{Stage: "emit", File: m.File, Offset: -1, Kind: graph.ErrUnsupported, Err: err}
}

type emitter struct {
	o       Options
	m       *graph.Model
	ids     *hnw.Identifiers
	facts   map[string]*Fact   // by name in the graph
	code    map[string]string  // by name in the graph: an expression without calls of operators
	weights map[string]*weight // by identifier
	order   []*weight
	lines   []binding
	symbols map[string]string // dimension variables by symbol
	dims    []string          // dimension variables in order
	extents map[string]string // expressions of their values by symbol
	missing map[string]error  // why a name has no expression
	bundle  string            // parameter of forward with the weights of an archive
}

// weight is a constant with a definition of its own.
type weight struct {
	id, name string
	tensor   *tensor.Tensor
	archived bool
}

// binding is a line of forward.
type binding struct{ id, expr string }

func (e *emitter) module() (string, error) {
	for _, s := range e.m.Opsets {
		if s.Domain == "" && (s.Version < 11 || s.Version > 23) {
			return "", fmt.Errorf("%w: the model has operator set %d; sets 11 to 23 can be emitted", ErrUnsupportedOpset, s.Version)
		}
	}
	for _, init := range e.m.Graph.Initializers {
		e.facts[init.Name] = &Fact{Type: graph.TensorOf(init.Tensor.DType(), graph.DimsOf(init.Tensor.Shape())), Const: init.Tensor}
		e.define(init.Name, init.Tensor)
	}
	if e.o.Archive {
		e.archive()
	}
	inputs, err := e.inputs()
	if err != nil {
		return "", err
	}
	for _, n := range e.m.Graph.Live() {
		if err := e.node(n); err != nil {
			return "", &graph.Error{Stage: "emit", File: e.m.File, Offset: -1, Node: n.Label(), Op: n.OpName(), Kind: graph.ErrUnsupported, Err: err}
		}
	}
	tail, result, err := e.outputs()
	if err != nil {
		return "", err
	}
	return e.text(inputs, tail, result)
}

// define registers a weight. Its definition is written if it is used.
func (e *emitter) define(name string, t *tensor.Tensor) {
	w := &weight{id: e.ids.Of(name), name: name, tensor: t}
	e.weights[w.id] = w
	e.order = append(e.order, w)
	e.code[name] = w.id + "()"
}

// field is an input or an output.
type field struct{ id, kind string }

// inputs declares the inputs of the graph, except initialisers.
func (e *emitter) inputs() ([]field, error) {
	var list []field
	var names []*graph.Value
	for _, v := range e.m.Graph.Inputs {
		if e.facts[v.Name] == nil {
			names = append(names, v)
		}
	}
	for _, v := range names {
		list = append(list, field{id: e.ids.Of(v.Name)})
	}
	for i, v := range names {
		e.code[v.Name] = list[i].id
		if len(names) > 1 {
			e.code[v.Name] = "inputs." + list[i].id
		}
		if v.Type.Kind != graph.TensorType || v.Type.Dims == nil {
			return nil, fmt.Errorf("%w: input %q is %v, and a tensor of known rank is wanted", ErrUnsupportedShape, v.Name, v.Type)
		}
		f := &Fact{Type: v.Type}
		f.Dims = slices.Clone(v.Type.Dims)
		for k, d := range f.Dims {
			switch {
			case d.IsKnown():
				continue
			case d.IsUnknown():
				return nil, fmt.Errorf("%w: axis %d of input %q has neither an extent nor a name", ErrInternalInconsistency, k, v.Name)
			}
			s := graph.Symbol(d.String())
			f.Dims[k] = s
			if e.symbols[s.Key()] == "" {
				id := e.ids.Of(d.String())
				e.symbols[s.Key()], e.dims = id, append(e.dims, id)
				e.extents[s.Key()] = fmt.Sprintf("shape(%s, %di32)", e.code[v.Name], k)
			}
		}
		e.facts[v.Name] = f
		kind, err := e.kind(f.Type, "input", v.Name)
		if err != nil {
			return nil, err
		}
		list[i].kind = kind
	}
	return list, nil
}

// kind returns the Chelis type for t.
func (e *emitter) kind(t graph.Type, what, name string) (string, error) {
	word, err := wordOf(t.DType)
	if err != nil {
		return "", fmt.Errorf("%s %q: %w", what, name, err)
	}
	parts := make([]string, 0, len(t.Dims)+1)
	for k, d := range t.Dims {
		n, ok := d.Value()
		switch {
		case ok:
			parts = append(parts, fmt.Sprint(n))
		case e.symbols[d.Key()] != "":
			parts = append(parts, e.symbols[d.Key()])
		case d.IsUnknown():
			return "", fmt.Errorf("%w: axis %d of %s %q has an unknown extent", ErrInternalInconsistency, k, what, name)
		default:
			return "", fmt.Errorf("%w: axis %d of %s %q has the extent %v, and only numbers and names of axes of inputs can be written", ErrUnsupportedShape, k, what, name, d)
		}
	}
	return "tensor[" + strings.Join(append(parts, word), ", ") + "]", nil
}

func wordOf(d tensor.DType) (string, error) {
	if w, ok := words[d]; ok {
		return w, nil
	}
	return "", fmt.Errorf("%w: %v, and f32, f64, i32, i64 and bool can be emitted", ErrUnsupportedDtype, d)
}

// node emits a node.
func (e *emitter) node(n *graph.Node) error {
	translate := translations[n.Domain+"."+n.Op]
	if translate == nil {
		return fmt.Errorf("%w: unsupported operator: %s", ErrUnsupportedOperator, n.Op)
	}
	x := &node{emitter: e, Node: n}
	for _, name := range n.Inputs {
		if name == "" {
			x.in, x.args = append(x.in, nil), append(x.args, "")
			continue
		}
		x.in, x.args = append(x.in, e.facts[name]), append(x.args, e.code[name])
	}
	var err error
	if x.out, err = e.o.Infer(n, x.in); err != nil {
		return err
	}
	for i, f := range x.out {
		if n.Outputs[i] == "" {
			continue
		}
		if f.Kind != graph.TensorType || f.Dims == nil {
			return fmt.Errorf("%w: output %d is %v, and its rank must be known", ErrUnsupportedShape, i, f.Type)
		}
		if _, err := wordOf(f.DType); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
		e.facts[n.Outputs[i]] = f
	}
	x.filled()
	var results []string
	if x.err == nil {
		results = translate(x)
	}
	if x.err != nil {
		return e.skip(x)
	}
	for i, name := range n.Outputs {
		switch {
		case name == "":
		case i >= len(results):
			e.code[name] = e.ids.Of(name)
			e.missing[e.code[name]] = fmt.Errorf("%w: unsupported operator: %s with output %d", ErrUnsupportedOperator, n.Op, i)
		case plain.MatchString(results[i]):
			e.code[name] = results[i]
		default:
			e.code[name] = e.bind(name, results[i])
		}
	}
	return nil
}

// skip leaves out a node that cannot be emitted, if its outputs are constants or known integers.
// Otherwise it returns the node's error.
func (e *emitter) skip(x *node) error {
	for i, f := range x.out {
		switch name := x.Outputs[i]; {
		case name == "":
		case f.Const != nil:
			e.define(name, f.Const)
		case f.Ints != nil:
			e.code[name] = e.ids.Of(name)
			e.missing[e.code[name]] = x.err
		default:
			return x.err
		}
	}
	return nil
}

// plain matches expressions that need no binding.
var plain = regexp.MustCompile(`^[a-z_][a-z0-9_.]*(\(\))?$`)

// bind adds a line and returns its name.
func (e *emitter) bind(name, expr string) string {
	id := e.ids.Of(name)
	e.lines = append(e.lines, binding{id, expr})
	return id
}
