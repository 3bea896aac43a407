package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// oddities counts the elements of a value that are not finite.
type oddities struct{ nans, infinities int }

func (o oddities) String() string {
	var list []string
	if o.nans > 0 {
		list = append(list, plural(o.nans, "NaN"))
	}
	switch {
	case o.infinities == 1:
		list = append(list, "1 infinity")
	case o.infinities > 1:
		list = append(list, fmt.Sprintf("%d infinities", o.infinities))
	}
	return strings.Join(list, " and ")
}

// like reports whether o has a kind of element that p has: a NaN, or an infinity if p has no NaN.
func (o oddities) like(p oddities) bool { return o.nans > 0 || p.nans == 0 && o.infinities > 0 }

// count adds the elements of v.
func (o *oddities) count(ctx context.Context, v nacre.Value) error {
	switch v := v.(type) {
	case *nacre.Tensor:
		return o.elements(ctx, plainTensor(v))
	case *nacre.Sequence:
		for _, item := range v.Items {
			if err := o.count(ctx, item); err != nil {
				return err
			}
		}
	case *nacre.Map:
		return o.elements(ctx, plainTensor(v.Values))
	case *nacre.Optional:
		if v.Item != nil {
			return o.count(ctx, v.Item)
		}
	}
	return nil
}

func (o *oddities) elements(ctx context.Context, t *tensor.Tensor) error {
	at, n := tensor.Numbers(t), t.Len()
	switch t.DType() {
	case tensor.C64:
		parts := tensor.View[complex64](t.Aligned())
		at, n = func(i int) float64 { return part(complex128(parts[i/2]), i) }, 2*n
	case tensor.C128:
		parts := tensor.View[complex128](t.Aligned())
		at, n = func(i int) float64 { return part(parts[i/2], i) }, 2*n
	}
	if at == nil || !t.DType().IsFloat() && t.DType().Kind() != tensor.Complex {
		return nil
	}
	return pieces.Each(ctx, n, pieces.Elements, func(from, to int) {
		for i := from; i < to; i++ {
			switch x := at(i); {
			case x != x:
				o.nans++
			case math.IsInf(x, 0):
				o.infinities++
			}
		}
	})
}

// part returns the real part of c if i is even, else the imaginary part.
func part(c complex128, i int) float64 {
	if i%2 == 0 {
		return real(c)
	}
	return imag(c)
}

// checkFinite returns an error that names the first output that is not finite, and the first node with
// such a result. again repeats the run in a session that has the results of all nodes as outputs.
func (f *runFlags) checkFinite(
	ctx context.Context, m *nacre.Model, o nacre.Options, out map[string]nacre.Value,
	again func(s *nacre.Session) (map[string]nacre.Value, error),
) error {
	if !f.finite {
		return nil
	}
	for _, v := range m.Outputs() {
		var found oddities
		if err := found.count(ctx, out[v.Name]); err != nil {
			return err
		}
		if found == (oddities{}) {
			continue
		}
		where, err := firstLike(ctx, m, o, found, again)
		if err != nil {
			return fmt.Errorf("output %q has %v; no node is named: %w", v.Name, found, err)
		}
		return fmt.Errorf("output %q has %v; %s", v.Name, found, where)
	}
	return nil
}

// firstLike runs the model again and says which node is the first with a result like found.
func firstLike(
	ctx context.Context, m *nacre.Model, o nacre.Options, found oddities,
	again func(s *nacre.Session) (map[string]nacre.Value, error),
) (_ string, err error) {
	network, err := m.Network()
	if err != nil {
		return "", err
	}
	nodes := network.Graph.Live()
	o.Outputs = outputsOf(nodes)
	s, err := m.NewSessionContext(ctx, o)
	if err != nil {
		return "", err
	}
	defer func() { err = join(err, s) }()
	values, err := again(s)
	if err != nil {
		return "", err
	}
	for _, n := range nodes {
		for _, name := range outputsOf([]*graph.Node{n}) {
			var of oddities
			if err := of.count(ctx, values[name]); err != nil {
				return "", err
			}
			if of.like(found) {
				return fmt.Sprintf("node %s (%s) is the first, with %v in %q", n.Label(), n.OpName(), of, name), nil
			}
		}
	}
	return "the nodes, computed one by one, give none", nil
}
