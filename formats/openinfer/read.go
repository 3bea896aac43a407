package openinfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// Name is the format's name.
const Name = "openinfer"

// Probe reports whether data begins like a program: with a section of the text language, or as a
// JSON object with vars and blocks.
func Probe(data []byte) bool {
	if len(data) > maxBytes {
		return false
	}
	if begin := bytes.TrimLeft(data, " \t\r\n"); len(begin) > 0 && begin[0] == '{' {
		return bytes.Contains(data, []byte(`"vars"`)) && bytes.Contains(data, []byte(`"blocks"`)) && hasMembers(data, "vars", "blocks")
	}
	head := data[:min(len(data), 4096)]
	for len(head) > 0 && !utf8.Valid(head) && len(data) > len(head) && len(head) > 4090 {
		head = head[:len(head)-1]
	}
	if !utf8.Valid(head) {
		return false
	}
	return isSection(string(head))
}

// isSection reports whether text begins with a section.
func isSection(text string) bool {
	word, at, err := lex(text, 0)
	if err != nil || word.kind != tokName {
		return false
	}
	next, at, err := lex(text, at)
	if err == nil && word.text == "block" && next.kind == tokName {
		next, _, err = lex(text, at)
	} else if !slices.Contains(memories[:], word.text) {
		return false
	}
	return err == nil && next.kind == tokMark && next.text == "{"
}

// hasMembers reports whether data is a JSON object with these members.
func hasMembers(data []byte, names ...string) bool {
	o, err := jsonValue{raw: data}.object()
	if err != nil {
		return false
	}
	for _, name := range names {
		if _, ok := o.vals[name]; !ok {
			return false
		}
	}
	return true
}

// Read reads a program from memory. The model does not keep data. It has no tensors; WithWeights
// adds them. Read takes memory within b, and stops if b's context is done.
func Read(b *budget.Budget, name string, data []byte) (_ *graph.Model, err error) {
	defer guard.At(name).End(&err)
	b = container.Reading(b, len(data))
	p, err := parseAny(b, data)
	if err != nil || b.Err() != nil {
		return nil, refused(b, name, err)
	}
	return &graph.Model{Format: Name, File: name, Graph: &graph.Graph{}, Source: p}, nil
}

// refused returns the error for a file that was not read: the error of the budget's context if it
// is done, else err.
func refused(b *budget.Budget, name string, err error) error {
	e := &graph.Error{Stage: "load", File: name, Offset: -1, Kind: graph.ErrFormat, Err: err}
	var place *TextError
	switch {
	case b.Err() != nil:
		e.Kind, e.Err = nil, b.Err()
	case errors.Is(err, budget.ErrBytes):
		e.Kind = graph.ErrMemory
	case errors.As(err, &place):
		e.Offset = int64(place.Offset)
	}
	return e
}

func parseAny(b *budget.Budget, data []byte) (*Program, error) {
	if begin := bytes.TrimLeft(data, " \t\r\n"); len(begin) > 0 && begin[0] == '{' {
		return parseJSON(b, data)
	}
	if err := container.Take(b, len(data)); err != nil {
		return nil, err
	}
	return parseText(b, string(data))
}

// Verify returns the first problem of a program, the error of Read.
func Verify(b *budget.Budget, name string, data []byte) (problems []error) {
	defer guard.At(name).EndAll(&problems)
	if _, err := Read(b, name, data); err != nil {
		return []error{err}
	}
	return nil
}

// WithWeights returns a program with the tensors, sizes and metadata of another model. Closing the
// result closes that model. It fails if program is not a program of OpenInfer.
func WithWeights(program, weights *graph.Model) (_ *graph.Model, err error) {
	defer guard.At(program.File).End(&err)
	if _, ok := program.Source.(*Program); !ok {
		return nil, &graph.Error{Stage: "load", File: program.File, Offset: -1, Kind: graph.ErrUnsupported,
			Err: fmt.Errorf("the file is of the format %s and no program of OpenInfer", program.Format)}
	}
	m := *weights
	m.Format, m.File, m.Source = program.Format, program.File, program.Source
	return &m, nil
}

// Lower returns a model with the nodes of one step of the program, or nil for a model without a
// program. Dynamic variables are inputs, volatile variables that the program writes are outputs,
// and persistent variables are states.
func Lower(m *graph.Model, o container.Lowering) (_ *graph.Model, err error) {
	defer guard.At(m.File).End(&err)
	p, ok := m.Source.(*Program)
	if !ok {
		return nil, nil
	}
	n, err := lower(p, m, o)
	if err != nil {
		kind := error(graph.ErrFormat)
		for _, k := range []error{graph.ErrUnsupported, graph.ErrMemory} {
			if errors.Is(err, k) {
				kind = k
			}
		}
		if o.Budget.Err() != nil {
			kind, err = nil, o.Budget.Err()
		}
		return nil, &graph.Error{Stage: "validate", File: m.File, Offset: -1, Kind: kind, Err: err}
	}
	return n, nil
}

// Write writes a program as JSON or in the text language. It fails for a model without a program.
func Write(w io.Writer, m *graph.Model, asJSON bool) (err error) {
	defer guard.At(m.File).End(&err)
	p, ok := m.Source.(*Program)
	if !ok {
		return graph.Errorf(graph.ErrUnsupported, "the model is of the format %s; only programs of OpenInfer are written as such", m.Format)
	}
	if asJSON {
		return p.WriteJSON(w)
	}
	return p.WriteText(w)
}

// Summary writes the program in the text language. It writes nothing for a model without a program.
func Summary(_ context.Context, w io.Writer, m *graph.Model) (err error) {
	defer guard.At(m.File).End(&err)
	if p, ok := m.Source.(*Program); ok {
		return p.WriteText(w)
	}
	return nil
}
