package onnx

import (
	"errors"
	"io"
	"io/fs"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// Name is the format's name.
const Name = "onnx"

// Open reads the model in an open file. Its tensors are views of the file, and external data is
// read from the file's folder. Model.Close closes f; if Open fails, f stays open. Open does not
// check the functions and names of the model; graph.Validate does.
func Open(b *budget.Budget, f *binio.File) (_ *graph.Model, err error) {
	defer guard.At(f.Path).End(&err)
	d := newDecoder(b, f.Path, f.Data)
	d.ext = newExternal(beside(f.Path), d.limits.files)
	m, err := d.opened()
	if err == nil {
		m.Closer = closers{f, d.ext}
	}
	return m, err
}

// opened reads a model with external data. If it succeeds, the model closes the files; if not,
// opened does.
func (d *decoder) opened() (*graph.Model, error) {
	done := false
	defer func() {
		if !done {
			d.ext.Close()
		}
	}()
	m := d.model()
	if err := d.result(); err != nil {
		return nil, err
	}
	var err error
	if m.States, err = genaiStates(m, d.ext.find); err != nil {
		return nil, err
	}
	m.Closer = d.ext
	done = true
	return m, nil
}

// Read reads a model from data. Its tensors are views of data. Errors name the file name. A model
// with external data is refused.
func Read(b *budget.Budget, name string, data []byte) (_ *graph.Model, err error) {
	defer guard.At(name).End(&err)
	d := newDecoder(b, name, data)
	m := d.model()
	if err := d.result(); err != nil {
		return nil, err
	}
	return m, nil
}

// ReadFiles is Read for models with external data. The locations of the data are names in files.
func ReadFiles(b *budget.Budget, name string, data []byte, files fs.FS) (_ *graph.Model, err error) {
	defer guard.At(name).End(&err)
	d := newDecoder(b, name, data)
	d.ext = newExternal(within(b, files), d.limits.files)
	return d.opened()
}

// Verify returns every problem found in an open file and its files of external data: errors of the
// reader, which skips each broken message and goes on, the problems of graph.Problems, and
// checksums that differ.
func Verify(b *budget.Budget, f *binio.File) (problems []error) {
	defer guard.At(f.Path).EndAll(&problems)
	d := newDecoder(b, f.Path, f.Data)
	d.ext = newExternal(beside(f.Path), d.limits.files)
	d.ext.sums = map[*binio.File]string{}
	defer d.ext.Close()
	problems = d.verify()
	if err := container.Intact(d.ext.bytes); err != nil {
		problems = append(problems, err)
	}
	return problems
}

func (d *decoder) verify() []error {
	d.collect = true
	m := d.model()
	if d.err != nil {
		return append(d.problems, d.err)
	}
	if m.Graph == nil {
		return d.problems
	}
	return append(d.problems, graph.Problems(m)...)
}

type closers []io.Closer

func (c closers) Close() error {
	var err error
	for _, x := range c {
		err = errors.Join(err, x.Close())
	}
	return err
}

// model reads the ModelProto. It reads versions and operator sets first, then the graph and the
// functions.
func (d *decoder) model() *graph.Model {
	model := &graph.Model{Format: Name, File: d.file}
	var body message
	for m := d.root("ModelProto"); m.next(); {
		switch m.num {
		case 1:
			model.IR = m.int()
			d.checkIR(m.at, model.IR)
		case 7:
			if body.d != nil {
				d.bad(m.at, "model has two graphs")
			}
			body = m.sub("GraphProto")
		default:
			d.modelField(&m, model)
		}
		d.keepProblem()
	}
	switch {
	case d.err != nil:
		return model
	case model.IR == 0:
		d.bad(0, "no ir_version: this is no ONNX model")
		d.keepProblem()
	case body.d == nil:
		d.bad(0, "model has no graph")
		d.keepProblem()
	}
	if model.IR < 3 && len(model.Opsets) == 0 {
		model.Opsets = []graph.Opset{{Version: 1}}
	}
	s := newScope(model.Opsets, nil)
	if body.d != nil {
		model.Graph = d.graph(body, s)
	}
	d.keepProblem()
	for m := d.root("ModelProto"); m.next(); d.keepProblem() {
		if m.num == 25 {
			model.Functions = append(model.Functions, d.function(m.sub("FunctionProto"), s))
		}
	}
	d.repeatedKeys(model.Meta)
	model.Warnings = d.warnings
	return model
}

func (d *decoder) checkIR(at int, ir int64) {
	switch {
	case ir < 1:
		d.bad(at, "ir_version %d", ir)
	case ir > maxIR:
		d.fail(at, graph.ErrUnsupported, "ir_version %d is newer than %d, the latest that is known", ir, maxIR)
	}
}

func (d *decoder) modelField(m *message, model *graph.Model) {
	switch m.num {
	case 2:
		model.Producer = m.text()
	case 3:
		model.ProducerVer = m.text()
	case 4:
		model.Domain = m.text()
	case 5:
		model.Version = m.int()
	case 6:
		model.Doc = m.text()
	case 8:
		model.Opsets = d.opset(m.sub("OperatorSetIdProto"), model.Opsets)
	case 14:
		model.Meta = append(model.Meta, d.pair(m.sub("StringStringEntryProto")))
	}
}
