package safetensors

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Write writes the tensors and the text metadata of a model to one file. The same model gives the
// same bytes. If the format cannot hold the model, Write returns all reasons before it writes
// anything.
func Write(w io.Writer, m *graph.Model, o container.Options) (err error) {
	defer guard.At(m.File).End(&err)
	var r container.Refusals
	o.TensorsOnly(m, &r)
	meta := metadata(m, o, &r)
	list := items(m, o, &r)
	if err := r.Err(); err != nil {
		return err
	}
	head := restored(m, meta, list)
	if head == nil {
		head = newHeader(meta, list)
	}
	if len(head) > maxHeader {
		return graph.Errorf(graph.ErrUnsupported, "the header would take %d bytes, and one may have %d", len(head), maxHeader)
	}
	b := binio.NewWriter(w)
	b.U64(uint64(len(head)))
	b.Write(head)
	for _, t := range list {
		b.Append(t.payload)
	}
	return b.Err()
}

// item is a tensor to be written.
type item struct {
	name    string
	row     int // of dtypes
	shape   tensor.Shape
	payload container.Payload
}

// items returns the tensors in the model's order.
func items(m *graph.Model, o container.Options, r *container.Refusals) []item {
	list := make([]item, 0, len(m.Graph.Initializers))
	for i, name := range o.Names(m.Graph, holds, r) {
		t := m.Graph.Initializers[i]
		payload, err := o.For(t.Tensor)
		if err != nil {
			r.Add("tensor %q: %w", t.Name, err)
			continue
		}
		row := rowOf(payload.DType())
		if row < 0 {
			r.Add("tensor %q is of %v, and the format has %s", t.Name, payload.DType(), dtypeNames())
		}
		list = append(list, item{name, row, t.Tensor.Shape(), payload})
	}
	return list
}

// holds returns an error if a file cannot have a tensor called name.
func holds(name string) error {
	switch {
	case name == "":
		return errors.New("has no name")
	case name == metadataKey:
		return errors.New("has the name of the metadata")
	}
	if textual(name) != nil {
		return errors.New("has a name that is not UTF-8")
	}
	return nil
}

// metadata returns the text metadata of a model, and refuses other metadata.
func metadata(m *graph.Model, o container.Options, r *container.Refusals) []graph.Pair {
	var list []graph.Pair
	met := map[string]bool{}
	for _, p := range m.Meta {
		why := cmp.Or(textual(p.Key), textual(p.Value))
		switch {
		case p.Data != nil:
			why = fmt.Errorf("is %v, and the format holds text only", p.Data)
		case met[p.Key]:
			why = errors.New("is there more than once")
		}
		if why == nil {
			met[p.Key] = true
			list = append(list, graph.Pair{Key: p.Key, Value: p.Value})
		} else if !o.DropMeta {
			r.Add("metadata %q %w (it can be left out)", p.Key, why)
		}
	}
	return list
}

// restored returns the header of the file that a model was read from, and sorts list in the order
// of its payloads. It returns nil if there is no such header, or if the model has changed.
func restored(m *graph.Model, meta []graph.Pair, list []item) []byte {
	raw, ok := m.Source.(origin)
	if !ok {
		return nil
	}
	l := newLexer(&container.Problems{}, raw, 0)
	h := parseHeader(l)
	if l.err != nil || !slices.Equal(h.meta, meta) || len(h.tensors) != len(list) {
		return nil
	}
	place := make(map[string]*entry, len(list))
	for i, t := range list {
		e := &h.tensors[i]
		if e.name != t.name || e.dtype != dtypes[t.row].name || e.end-e.begin != uint64(t.payload.Len()) ||
			!slices.EqualFunc(e.dims, t.shape, func(a uint64, b int) bool { return a == uint64(b) }) {
			return nil
		}
		place[e.name] = e
	}
	slices.SortStableFunc(list, func(a, b item) int {
		return cmp.Or(cmp.Compare(place[a.name].begin, place[b.name].begin), cmp.Compare(place[a.name].end, place[b.name].end))
	})
	return raw
}

// newHeader sorts list in the order of writing, and returns a header for it.
func newHeader(meta []graph.Pair, list []item) []byte {
	slices.SortFunc(list, func(a, b item) int { return cmp.Or(cmp.Compare(b.row, a.row), strings.Compare(a.name, b.name)) })
	b := []byte{'{'}
	if len(meta) > 0 {
		b = append(appendText(b, metadataKey), ":{"...)
		for i, p := range slices.SortedFunc(slices.Values(meta), func(a, b graph.Pair) int { return strings.Compare(a.Key, b.Key) }) {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendText(append(appendText(b, p.Key), ':'), p.Value)
		}
		b = append(b, '}')
	}
	at := int64(0)
	for _, t := range list {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = appendText(b, t.name)
		b = fmt.Appendf(b, `:{"dtype":"%s","shape":[`, dtypes[t.row].name)
		for i, n := range t.shape {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, int64(n), 10)
		}
		b = fmt.Appendf(b, `],"data_offsets":[%d,%d]}`, at, at+t.payload.Len())
		at += t.payload.Len()
	}
	b = append(b, '}')
	for len(b)%8 != 0 {
		b = append(b, ' ')
	}
	return b
}
