package hnw

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// newArchive returns the archive of a model. Its error has every reason why the format cannot hold
// the model.
func newArchive(m *graph.Model, o container.Options) (*archive, error) {
	var refused container.Refusals
	a := &archive{man: manifest{major: major, format: formatName, chelisMin: "0.19.1", version: "nacre", graph: m.Graph.Name, module: ModuleName(m)}}
	drops(m, o, &refused)
	sum, err := sourceSum(m, o)
	if err != nil {
		return nil, err
	}
	a.facts(m, sum)
	a.settings(m, o, &refused)
	if len(m.Graph.Nodes) > 0 {
		a.facts(m, sum)
	}
	a.tensors(initializers(m), o, &refused)
	if err := refused.Err(); err != nil {
		return nil, err
	}
	a.place(m.Source)
	return a, nil
}

// sourceSum returns the checksum of an ONNX model's file. For other models it returns nil.
func sourceSum(m *graph.Model, o container.Options) ([]byte, error) {
	if m.Format != "onnx" || m.Raw == nil {
		return nil, nil
	}
	h := sha256.New()
	_, err := pieces.Writer(o.Context(), h).Write(m.Raw)
	return h.Sum(nil), err
}

// facts takes the operator set of a model and the checksum of its file.
func (a *archive) facts(m *graph.Model, sum []byte) {
	if sum != nil {
		a.man.source = digest(sum)
	}
	for _, s := range m.Opsets {
		if s.Domain == "" {
			a.man.opset = int64(s.Version)
		}
	}
}

// drops refuses the parts of a model that the format cannot hold, unless the options leave them
// out. Other functions check the metadata of the model and of tensors.
func drops(m *graph.Model, o container.Options, refused *container.Refusals) {
	for _, name := range sparse(m) {
		refused.Add("initialiser %q is in sparse form, which the format does not have", name)
	}
	bare, g := *m, *m.Graph
	g.Initializers, g.Sparse = nil, nil
	bare.Graph = &g
	o.TensorsOnly(&bare, refused)
}

// settings sets fields of the manifest from metadata.
func (a *archive) settings(m *graph.Model, o container.Options, refused *container.Refusals) {
	fields := a.man.settings()
	for _, p := range m.Meta {
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == p.Key })
		switch {
		case i >= 0 && p.Data == nil:
			if err := parse(fields[i].value, p.Value); err != nil {
				refused.Add("metadata %q: %w", p.Key, err)
			}
		case !o.DropMeta:
			refused.Add("the format has no place for metadata %q (it can be left out)", p.Key)
		}
	}
	for _, f := range fields {
		if text, ok := f.value.(*string); ok {
			*text = manifestText(*text, "the text of "+f.key, o, refused)
		}
	}
}

// parse sets a field of the manifest from a text.
func parse(value any, text string) (err error) {
	switch v := value.(type) {
	case *int64:
		*v, err = strconv.ParseInt(text, 10, 64)
	case *digest:
		err = v.parse(text)
	case *string:
		*v = text
	}
	return err
}

// holds returns an error if the format cannot hold a name.
func holds(name string) error {
	switch {
	case name == "":
		return errors.New("has no name")
	case !utf8.ValidString(name):
		return errors.New("is no UTF-8")
	}
	return nil
}

// manifestText returns text in a form that the manifest can hold.
func manifestText(text, what string, o container.Options, refused *container.Refusals) string {
	if utf8.ValidString(text) {
		return text
	}
	if !o.Rename {
		refused.Add("%s, %q, is no UTF-8 (it can be escaped)", what, text)
	}
	return container.Escape(text, holds)
}

// tensors adds the entries, without their offsets.
func (a *archive) tensors(list []*graph.Initializer, o container.Options, refused *container.Refusals) {
	ids := NewIdentifiers()
	names := o.Names(&graph.Graph{Initializers: list}, holds, refused)
	for _, init := range list {
		if id, ok := value(init.Meta, idKey); ok {
			if ids.taken[id] {
				refused.Add("initialiser %q has the id %q, which another has", init.Name, id)
			}
			ids.taken[id] = true
		}
	}
	for i, init := range list {
		e := entry{encoding: encodingWord, layout: layoutWord, onnxName: names[i]}
		id, ok := value(init.Meta, idKey)
		if !ok {
			id = ids.Of(init.Name)
		}
		e.id = manifestText(id, "an id", o, refused)
		consumer, ok := value(init.Meta, consumerKey)
		if !ok {
			consumer = a.man.module + "." + e.id
		}
		e.consumer = manifestText(consumer, "a consumer", o, refused)
		a.add(init, e, o, refused)
	}
}

// add appends a tensor.
func (a *archive) add(init *graph.Initializer, e entry, o container.Options, refused *container.Refusals) {
	t := init.Tensor
	if t == nil {
		refused.Add("initialiser %q has no data", init.Name)
		return
	}
	if !o.DropMeta {
		for _, p := range init.Meta {
			if p.Key != idKey && p.Key != consumerKey {
				refused.Add("the format has no place for metadata %q of initialiser %q (it can be left out)", p.Key, init.Name)
			}
		}
		if init.Doc != "" {
			refused.Add("the format has no place for the documentation of initialiser %q (it can be left out)", init.Name)
		}
	}
	p, err := o.For(t)
	if err != nil {
		refused.Add("initialiser %q: %w", init.Name, err)
		return
	}
	word, ok := wordOf(p.DType())
	if !ok {
		refused.Add("initialiser %q is %s, and the format has %s only", init.Name, word, words())
		return
	}
	if t.DType() == tensor.Bool {
		if k := notBool(nil, t.Bytes()); k >= 0 {
			refused.Add("initialiser %q: element %d is %d, and bool is 0 or 1", init.Name, k, t.Bytes()[k])
		}
	}
	e.dtype, e.byteLen, e.shape = word, p.Len(), make([]int64, len(t.Shape()))
	for i, n := range t.Shape() {
		e.shape[i] = int64(n)
	}
	a.payloads, a.man.tensors = append(a.payloads, p), append(a.man.tensors, e)
}

// place sets the offsets in the payload. If all tensors are as long as in the archive that the
// model came from, they keep their offsets. If not, they follow each other.
func (a *archive) place(from any) {
	list := a.man.tensors
	o, ok := from.(*origin)
	ok = ok && len(o.lens) == len(list)
	for i := range list {
		ok = ok && o.lens[i] == list[i].byteLen
	}
	if !ok {
		o = &origin{}
		for _, e := range list {
			at := (o.end + align - 1) / align * align
			o.offsets = append(o.offsets, at)
			o.end = at + e.byteLen
		}
	}
	a.extension, a.man.minor, a.man.payloadLen = o.extension, o.minor, o.end
	for i := range list {
		list[i].offset = o.offsets[i]
		a.order = append(a.order, i)
	}
	slices.SortStableFunc(a.order, func(i, k int) int {
		return cmp.Or(cmp.Compare(list[i].offset, list[k].offset), cmp.Compare(list[i].byteLen, list[k].byteLen))
	})
}
