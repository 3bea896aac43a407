package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"syscall/js"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/diagram"
)

// model is an opened model. Its session is made by the first call that runs it.
type model struct {
	*nacre.Model
	session *nacre.Session
}

// Close closes the session and the model.
func (m *model) Close() error {
	if m.session == nil {
		return m.Model.Close()
	}
	return errors.Join(m.session.Close(), m.Model.Close())
}

// ready returns the session.
func (m *model) ready(ctx context.Context) (*nacre.Session, error) {
	if m.session == nil {
		s, err := m.NewSessionContext(ctx, nacre.Options{Threads: 1})
		if err != nil {
			return nil, err
		}
		m.session = s
	}
	return m.session, nil
}

// openModel reads the first file of the message as a model. The others are files that it refers to.
func openModel(r *request) (map[string]any, []any, error) {
	files, err := r.files()
	if err != nil {
		return nil, nil, err
	}
	start := time.Now()
	beside, first := r.folder(files), files[0]
	if first.data, err = first.read(r); err != nil {
		return nil, nil, err
	}
	r.event(map[string]any{"stage": "read"})
	m, err := nacre.DecodeContext(r, first.name, first.data, beside)
	if err != nil {
		return nil, nil, err
	}
	own := &model{Model: m}
	if r.Get("prepare").Truthy() {
		if _, err := own.ready(r); err != nil {
			return nil, nil, errors.Join(err, m.Close())
		}
	}
	total, cached, lost := beside.total()
	return map[string]any{
		"object": r.s.keep(own), "bytes": total, "ms": milliseconds(time.Since(start)), "cached": cached, "lost": lost,
		"info": own.described(),
	}, nil, nil
}

// info describes a model.
func info(r *request) (map[string]any, []any, error) {
	m, err := opened[*model](r, "object")
	if err != nil {
		return nil, nil, err
	}
	return m.described(), nil, nil
}

func (m *model) described() map[string]any {
	meta, source := m.Metadata(), m.Source()
	opsets := map[string]any{}
	for _, o := range meta.Opsets {
		domain := o.Domain
		if domain == "" {
			domain = "ai.onnx"
		}
		opsets[domain] = o.Version
	}
	weights, parameters := 0, 0
	for _, w := range source.Graph.Initializers {
		weights += len(w.Tensor.Bytes())
		parameters += w.Tensor.Len()
	}
	states := []any{}
	for _, s := range m.States() {
		states = append(states, map[string]any{"input": s.Input, "output": s.Output, "axis": s.Axis})
	}
	return map[string]any{
		"file": meta.File, "format": meta.Format, "producer": meta.Producer, "producerVersion": meta.ProducerVersion,
		"doc": meta.Doc, "opsets": opsets, "nodes": len(source.Graph.Nodes), "weightBytes": weights, "parameters": parameters,
		"inputs": describedAll(m.Inputs()), "outputs": describedAll(m.Outputs()), "states": states,
	}
}

// picture draws a model. The result is JSON, for the viewer.
func picture(r *request) (map[string]any, []any, error) {
	m, err := opened[*model](r, "object")
	if err != nil {
		return nil, nil, err
	}
	d, err := diagram.Draw(r, m.Source())
	if err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(d)
	if err != nil {
		return nil, nil, err
	}
	return map[string]any{"drawing": js.Global().Get("JSON").Call("parse", string(text))}, nil, nil
}

// stream is a stream of a model.
type stream struct{ *nacre.Stream }

// openStream begins a stream of a model.
func openStream(r *request) (map[string]any, []any, error) {
	m, err := opened[*model](r, "object")
	if err != nil {
		return nil, nil, err
	}
	s, err := m.ready(r)
	if err != nil {
		return nil, nil, err
	}
	o := nacre.StreamOptions{Room: number(r.Get("room"), 0)}
	if list := r.Get("states"); list.Truthy() {
		for i := range list.Length() {
			v := list.Index(i)
			o.States = append(o.States, nacre.State{Input: text(v.Get("input"), ""), Output: text(v.Get("output"), ""),
				Axis: number(v.Get("axis"), -1)})
		}
	}
	st, err := s.NewStream(r, o)
	if err != nil {
		return nil, nil, err
	}
	return map[string]any{"object": r.s.keep(&stream{st}), "inputs": describedAll(st.Inputs())}, nil, nil
}

func resetStream(r *request) (map[string]any, []any, error) {
	s, err := opened[*stream](r, "object")
	if err != nil {
		return nil, nil, err
	}
	s.Reset()
	return nil, nil, nil
}

// run runs a model or a stream on the inputs of the message.
func run(r *request) (map[string]any, []any, error) {
	c, err := opened[closer](r, "object")
	if err != nil {
		return nil, nil, err
	}
	var out map[string]nacre.Value
	var start time.Time
	switch c := c.(type) {
	case *model:
		s, err := c.ready(r)
		if err != nil {
			return nil, nil, err
		}
		inputs, err := r.given(append(s.Inputs(), s.Overridable()...))
		if err != nil {
			return nil, nil, err
		}
		start = time.Now()
		if out, err = s.RunValues(r, asValues(inputs)); err != nil {
			return nil, nil, err
		}
	case *stream:
		inputs, err := r.given(c.Inputs())
		if err != nil {
			return nil, nil, err
		}
		start = time.Now()
		results, err := c.Run(r, inputs)
		if err != nil {
			return nil, nil, err
		}
		out = asValues(results)
	default:
		return nil, nil, fmt.Errorf("%v is neither a model nor a stream", r.Get("object"))
	}
	took := time.Since(start)
	results, moved := map[string]any{}, []any{}
	for name, v := range out {
		value, m := valueOf(v)
		results[name], moved = value, append(moved, m...)
	}
	return map[string]any{"outputs": results, "ms": milliseconds(took)}, moved, nil
}

// given returns the tensors of the message's inputs.
func (r *request) given(known []nacre.Info) (map[string]*nacre.Tensor, error) {
	inputs := map[string]*nacre.Tensor{}
	list := r.Get("inputs")
	for _, name := range keys(list) {
		in := nacre.Info{}
		for _, k := range known {
			if k.Name == name {
				in = k
			}
		}
		if in.Name == "" {
			return nil, fmt.Errorf("%w: the model takes no input %q; it takes %s", nacre.ErrUnknownInput, name, oneOf(known))
		}
		t, err := fromValue(list.Get(name), in)
		if err != nil {
			return nil, err
		}
		inputs[name] = t
	}
	return inputs, nil
}

func asValues(tensors map[string]*nacre.Tensor) map[string]nacre.Value {
	m := make(map[string]nacre.Value, len(tensors))
	for name, t := range tensors {
		m[name] = t
	}
	return m
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
