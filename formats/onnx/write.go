package onnx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// maxMessage is the most bytes that protobuf allows in a message.
const maxMessage = math.MaxInt32

// Values for SaveOptions.External.
const (
	WhenNeeded = 0  // from 1024 bytes, but only in models that would be longer than protobuf allows
	Never      = -1 // all constants stay in the model
)

// Write writes a model in one piece, with all its constants.
func Write(w io.Writer, m *graph.Model) (err error) {
	defer guard.At(m.File).End(&err)
	e, _, err := encode(context.Background(), m, "", Never)
	if err != nil {
		return saving("", err)
	}
	_, err = e.WriteTo(w)
	return err
}

func saving(path string, err error) error {
	if err == nil {
		return nil
	}
	return &graph.Error{Stage: "save", File: path, Offset: -1, Err: err}
}

// encode returns the ModelProto, and the file for constants, or nil if there is none. base is the
// name of the model's file.
func encode(ctx context.Context, m *graph.Model, base string, external int) (*encoder, *sideFile, error) {
	var side *sideFile
	var err error
	if external > 0 {
		if side, err = newSideFile(ctx, m, base, external); err != nil {
			return nil, nil, err
		}
	}
	e, err := encodeModel(m, side)
	if err == nil && e.len() > maxMessage && external == WhenNeeded {
		if side, err = newSideFile(ctx, m, base, 1024); err == nil {
			e, err = encodeModel(m, side)
		}
	}
	if err == nil && e.len() > maxMessage {
		err = graph.Errorf(graph.ErrUnsupported, "model takes %d bytes in one file and %d are the most; save constants outside it", e.len(), maxMessage)
	}
	return e, side, err
}

func encodeModel(m *graph.Model, side *sideFile) (*encoder, error) {
	if m.Graph == nil {
		return nil, errors.New("model has no graph")
	}
	opsets, err := imports(m.Opsets, nil, m.Graph.Nodes)
	if err != nil {
		return nil, err
	}
	w := &writer{side: side}
	var e encoder
	ir := irVersion(m, opsets)
	e.int(1, ir)
	e.text(2, m.Producer)
	e.text(3, m.ProducerVer)
	e.text(4, m.Domain)
	if m.Version != 0 {
		e.int(5, m.Version)
	}
	e.text(6, m.Doc)
	e.message(7, func(e *encoder) { w.graph(e, m.Graph) })
	if ir >= 3 {
		w.opsets(&e, 8, opsets)
	}
	e.pairs(14, m.Meta)
	for _, f := range m.Functions {
		own, err := imports(f.Opsets, opsets, f.Nodes)
		if err != nil {
			return nil, fmt.Errorf("function %q: %w", f.Name, err)
		}
		e.message(25, func(e *encoder) { w.function(e, f, own) })
	}
	return &e, w.err
}

// irSince has the operator set that came with each IR version.
var irSince = [maxIR + 1]int{4: 9, 5: 10, 6: 11, 7: 12, 8: 15, 9: 19, 10: 21, 11: 23, 12: 24, 13: 25, 14: 28}

// irVersion returns the IR version of the model, raised if operator sets or functions need more. If
// the model has none, it is the lowest version from 8 on with its operator sets.
func irVersion(m *graph.Model, opsets []graph.Opset) int64 {
	ir := m.IR
	if ir == 0 {
		ir = 8
		for _, o := range opsets {
			for v, since := range irSince {
				if o.Domain == "" && since != 0 && o.Version >= since {
					ir = max(ir, int64(v))
				}
			}
		}
	}
	if ir < 3 && (len(opsets) != 1 || opsets[0] != graph.Opset{Version: 1}) {
		ir = 3
	}
	if len(m.Functions) > 0 {
		ir = max(ir, 8)
	}
	return ir
}

// imports returns the operator sets that nodes need: the given ones, and one for each further
// domain that is neither in given nor in around.
func imports(given, around []graph.Opset, nodes []*graph.Node) ([]graph.Opset, error) {
	list := append([]graph.Opset(nil), given...)
	versions := map[string]int{}
	for _, o := range around {
		versions[o.Domain] = o.Version
	}
	for _, o := range given {
		versions[o.Domain] = o.Version
	}
	var walk func(nodes []*graph.Node) error
	walk = func(nodes []*graph.Node) error {
		for _, n := range nodes {
			v, known := versions[n.Domain]
			if n.Version == 0 {
				return fmt.Errorf("node %q: the version of %s is not known", n.Label(), n.OpName())
			}
			if known && v != n.Version {
				return fmt.Errorf("node %q: %s in a model of operator set %d", n.Label(), n.OpName(), v)
			}
			if !known {
				versions[n.Domain] = n.Version
				list = append(list, graph.Opset{Domain: n.Domain, Version: n.Version})
			}
			for _, a := range n.Attrs {
				for _, g := range a.Subgraphs() {
					if err := walk(g.Nodes); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
	return list, walk(nodes)
}
