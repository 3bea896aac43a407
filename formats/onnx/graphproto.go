package onnx

import (
	"slices"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// graph reads a GraphProto. The scope s gives the versions of its nodes.
func (d *decoder) graph(m message, s *scope) *graph.Graph {
	g := &graph.Graph{}
	met, outputs := initializers{}, map[string]bool{}
	defer d.leave()
	if !d.enter(m.start, "graphs") {
		return g
	}
	for m.next() {
		switch m.num {
		case 1:
			g.Nodes = append(g.Nodes, d.node(m.sub("NodeProto"), s))
		case 2:
			g.Name = m.name()
		case 5:
			p, t := d.namedTensor(m.sub("TensorProto"))
			if !d.repeated(m.at, met, p.name, t) {
				g.Initializers = append(g.Initializers, &graph.Initializer{
					Name: p.name, Tensor: t, Doc: p.doc, Meta: p.meta, Stored: d.stored(t),
				})
			}
		case 10:
			g.Doc = m.text()
		case 11:
			g.Inputs = append(g.Inputs, d.value(m.sub("ValueInfoProto")))
		case 12:
			v := d.value(m.sub("ValueInfoProto"))
			if outputs[v.Name] {
				d.warn(m.at, "output %q is listed twice", v.Name)
			}
			outputs[v.Name] = true
			g.Outputs = append(g.Outputs, v)
		case 13:
			g.Values = append(g.Values, d.value(m.sub("ValueInfoProto")))
		case 14:
			g.Quant = append(g.Quant, d.annotation(m.sub("TensorAnnotation")))
		case 15:
			name, t := d.sparse(m.sub("SparseTensorProto"))
			g.Sparse = append(g.Sparse, &graph.SparseInitializer{Name: name, Tensor: t})
		case 16:
			g.Meta = append(g.Meta, d.pair(m.sub("StringStringEntryProto")))
		}
		d.keepProblem()
	}
	g.Nodes = graph.Sorted(g.Nodes)
	return g
}

// stored returns the element type of t, and the offset of its elements if they are a view of this
// file.
func (d *decoder) stored(t *tensor.Tensor) *graph.Stored {
	if t == nil {
		return nil
	}
	return &graph.Stored{DType: t.DType().String(), Offset: binio.Offset(d.data, t.Bytes())}
}

func (d *decoder) value(m message) *graph.Value {
	v := &graph.Value{}
	for m.next() {
		switch m.num {
		case 1:
			v.Name = m.name()
		case 2:
			v.Type = d.typeProto(m.sub("TypeProto"))
		case 3:
			v.Doc = m.text()
		case 4:
			v.Meta = append(v.Meta, d.pair(m.sub("StringStringEntryProto")))
		}
	}
	return v
}

func (d *decoder) annotation(m message) *graph.QuantAnnotation {
	q := &graph.QuantAnnotation{}
	for m.next() {
		switch m.num {
		case 1:
			q.Tensor = m.name()
		case 2:
			q.Params = append(q.Params, d.pair(m.sub("StringStringEntryProto")))
		}
	}
	return q
}

func (d *decoder) node(m message, s *scope) *graph.Node {
	n := &graph.Node{}
	start := m.start
	for m.next() {
		switch m.num {
		case 1:
			n.Inputs = append(n.Inputs, m.name())
		case 2:
			n.Outputs = append(n.Outputs, m.name())
		case 3:
			n.Name = m.name()
		case 4:
			n.Op = m.name()
		case 5:
			n.Attrs = append(n.Attrs, d.attr(m.sub("AttributeProto"), s))
		case 6:
			n.Doc = m.text()
		case 7:
			n.Domain = domain(m.name())
		case 8:
			n.Overload = m.name()
		case 9:
			n.Meta = append(n.Meta, d.pair(m.sub("StringStringEntryProto")))
		}
	}
	if d.err == nil {
		if n.Version = s.version(n.Domain); n.Version == 0 {
			d.bad(start, "domain %q is used and no version of it is imported", standard(n.Domain))
		}
		if slices.Contains(inner, n.Domain) {
			d.fail(start, graph.ErrUnsupported, "domain %q is of operators that Nacre puts into graphs itself; "+
				"operators and functions of a file need a domain of another name", n.Domain)
		}
	}
	if d.err != nil && d.err.Node == "" && d.err.Op == "" {
		d.err.Node, d.err.Op = n.Label(), n.Op
		if n.Version != 0 {
			d.err.Op = n.OpName()
		}
	}
	return n
}

// function reads a FunctionProto. It reads the imports of operator sets first, because they may
// follow the nodes.
func (d *decoder) function(m message, model *scope) *graph.Function {
	f := &graph.Function{}
	for o := m; o.next(); {
		if o.num == 9 {
			f.Opsets = d.opset(o.sub("OperatorSetIdProto"), f.Opsets)
		}
	}
	s := newScope(f.Opsets, model)
	for m.next() {
		switch m.num {
		case 1:
			f.Name = m.name()
		case 4:
			f.Inputs = append(f.Inputs, m.name())
		case 5:
			f.Outputs = append(f.Outputs, m.name())
		case 6:
			f.Attrs = append(f.Attrs, m.name())
		case 7:
			f.Nodes = append(f.Nodes, d.node(m.sub("NodeProto"), s))
		case 8:
			f.Doc = m.text()
		case 10:
			f.Domain = domain(m.name())
		case 11:
			f.Defaults = append(f.Defaults, d.attr(m.sub("AttributeProto"), s))
		case 12:
			f.Values = append(f.Values, d.value(m.sub("ValueInfoProto")))
		case 13:
			f.Overload = m.name()
		case 14:
			f.Meta = append(f.Meta, d.pair(m.sub("StringStringEntryProto")))
		}
		d.keepProblem()
	}
	f.Nodes = graph.Sorted(f.Nodes)
	return f
}
