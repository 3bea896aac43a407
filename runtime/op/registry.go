package op

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync/atomic"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Registry finds the row of an operator. The zero value is empty. It must not change while sessions
// use it.
type Registry struct {
	rows   map[string]*Row
	shared atomic.Bool // another registry has the same map; Register copies it first
	made   *madeOps    // nil for a registry without Once
}

// Copy returns a registry of the same operators. An operator registered in one of the two is not in
// the other.
func (r *Registry) Copy() *Registry {
	r.shared.Store(true)
	c := &Registry{rows: r.rows}
	c.shared.Store(true)
	return c
}

// Register adds an operator. It returns an error if the domain and name are taken, or if the row
// has no version or no constructor.
func (r *Registry) Register(row Row) error {
	name := key(row.Domain, row.Name)
	switch {
	case r.rows[name] != nil:
		return fmt.Errorf("operator %s is registered already", name)
	case len(row.Since) == 0 || row.New == nil:
		return fmt.Errorf("operator %s has no version or no constructor", name)
	}
	if r.shared.Swap(false) {
		r.rows = maps.Clone(r.rows)
	}
	if r.rows == nil {
		r.rows = map[string]*Row{}
	}
	r.rows[name] = &row
	return nil
}

func key(domain, name string) string { return domain + "." + name }

// Rows returns every row, sorted by domain and name.
func (r *Registry) Rows() []*Row {
	list := make([]*Row, 0, len(r.rows))
	for _, row := range r.rows {
		list = append(list, row)
	}
	sort.Slice(list, func(i, j int) bool {
		return key(list[i].Domain, list[i].Name) < key(list[j].Domain, list[j].Name)
	})
	return list
}

// Find returns the row of the node's operator and the version that applies.
func (r *Registry) Find(n *graph.Node) (*Row, int, error) {
	row := r.rows[key(n.Domain, n.Op)]
	if why := unportable(n); row == nil && why != "" {
		return nil, 0, graph.Errorf(graph.ErrUnsupported, "operator %s %s", n.OpName(), why)
	}
	if row == nil {
		return nil, 0, graph.Errorf(graph.ErrUnsupported, "operator %s is not implemented%s; a program can register it "+
			"(op.Registry.Register) and pass the registry in its options", n.OpName(), r.near(n))
	}
	since := 0
	for _, v := range row.Since {
		if v <= n.Version {
			since = v
		}
	}
	if since == 0 {
		return nil, 0, graph.Errorf(graph.ErrFormat,
			"operator %s does not exist in version %d of its domain; it came with version %d", n.Op, n.Version, row.Since[0])
	}
	return row, since, nil
}

// internal is the domain of operators that passes insert and no file holds.
const internal = "nacre"

// near returns a list of operators with a similar name, for an error message.
func (r *Registry) near(n *graph.Node) string {
	var list []string
	for _, row := range r.Rows() {
		a, b := strings.ToLower(row.Name), strings.ToLower(n.Op)
		if row.Domain != internal && (strings.Contains(a, b) || len(a) > 2 && strings.Contains(b, a)) {
			list = append(list, strings.TrimPrefix(key(row.Domain, row.Name), "."))
		}
	}
	if list == nil {
		return ""
	}
	return fmt.Sprintf(" (near it: %s)", strings.Join(list, ", "))
}

// Match is Find with a check that the node has the inputs and outputs that the version takes.
func (r *Registry) Match(n *graph.Node) (*Row, int, error) {
	row, since, err := r.Find(n)
	if err != nil {
		return nil, 0, err
	}
	if err := row.check(n, since); err != nil {
		return nil, 0, err
	}
	return row, since, nil
}

// New binds the node's operator to its attributes.
func (r *Registry) New(n *graph.Node) (Op, *Row, error) {
	if r.made != nil {
		return r.made.of(r, n)
	}
	return r.bind(n)
}

func (r *Registry) bind(n *graph.Node) (o Op, row *Row, err error) {
	defer guard.At("").End(&err)
	row, since, err := r.Match(n)
	if err != nil {
		return nil, nil, err
	}
	node := &Node{Node: n, Since: since}
	o, err = row.New(node)
	if err == nil {
		err = node.finish()
	}
	return o, row, err
}

// CheckTypes returns an error if an input has a kind that the row does not take, or an element type
// that it does not list.
func (row *Row) CheckTypes(in []*Value) error {
	for i, v := range in {
		if !row.Kinds && v != nil && v.Kind != graph.TensorType && v.Kind != graph.NoType {
			return notTensor(i, v.Type)
		}
		if !row.Blocks && v != nil && v.DType.Blocks() != nil {
			return graph.Errorf(graph.ErrUnsupported, "input %d has blocks of %v, which the operator does not read; Cast makes floats of them", i, v.DType)
		}
	}
	if row.Typed < len(in) && in[row.Typed] != nil {
		if d := in[row.Typed].DType; !row.Types.Has(d) {
			names := make([]string, len(row.Types))
			for i, t := range row.Types {
				names[i] = t.String()
			}
			slices.Sort(names)
			return graph.Errorf(graph.ErrUnsupported, "input %d has element type %v; the operator takes %s", row.Typed, d,
				strings.Join(names, ", "))
		}
	}
	return nil
}

// CheckKinds returns an error if an input has a kind that the row does not take.
func (row *Row) CheckKinds(in []tensor.Value) error {
	if row.Kinds {
		return nil
	}
	for i, v := range in {
		if _, ok := v.(*tensor.Tensor); v != nil && !ok {
			return notTensor(i, v)
		}
	}
	return nil
}

func notTensor(input int, is any) error {
	return graph.Errorf(graph.ErrShape, "input %d is %v; the operator takes tensors", input, is)
}
