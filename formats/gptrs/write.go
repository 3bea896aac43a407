package gptrs

import (
	"bytes"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// noConfig is the configuration of a checkpoint for tensors without a network.
const noConfig = `{"kind":"tensors","config":{}}`

// Write writes the tensors of a model and, in a checkpoint, its metadata entry config. A model
// without this entry becomes a checkpoint of kind tensors. Equal models give equal bytes. The error
// lists everything that the format cannot hold; nothing is written then.
func (f *Format) Write(w io.Writer, m *graph.Model, o container.Options) (err error) {
	defer guard.At(m.File).End(&err)
	var r container.Refusals
	o.TensorsOnly(m, &r)
	p := &plan{Format: f, config: []byte(noConfig)}
	p.metadata(m, o, &r)
	p.tensors(m, o, &r)
	if err := r.Err(); err != nil {
		return err
	}
	if f.ids {
		if err := p.check(&r); err != nil {
			return err
		}
	}
	return p.write(w)
}

// plan is a file to write.
type plan struct {
	*Format
	config []byte
	list   []item // sorted by name
}

// item is a tensor to write.
type item struct {
	name    string
	kept    kept
	tag     uint32
	shape   tensor.Shape
	payload container.Payload
}

// metadata finds the configuration. It refuses other metadata unless o.DropMeta is set.
func (p *plan) metadata(m *graph.Model, o container.Options, r *container.Refusals) {
	met := false
	for _, pair := range m.Meta {
		switch {
		case p.ids && !met && pair.Key == configKey && pair.Data == nil:
			met = true
			p.config = []byte(pair.Value)
			if _, err := parseConfig(p.config); err != nil {
				r.Add("metadata config is no configuration of a checkpoint: %w", err)
			}
		case !o.DropMeta && p.ids:
			r.Add("metadata %q has no place in a checkpoint, which holds config, a text, only (it can be left out)", pair.Key)
		case !o.DropMeta:
			r.Add("metadata %q has no place in a tensor archive (it can be left out)", pair.Key)
		}
	}
	if uint64(len(p.config)) > math.MaxUint32 {
		r.Add("metadata config has %d bytes, more than a checkpoint can hold", len(p.config))
	}
}

// tensors fills the list.
func (p *plan) tensors(m *graph.Model, o container.Options, r *container.Refusals) {
	from, _ := m.Source.(origin)
	index := uint64(4)
	for i, name := range o.Names(m.Graph, p.holds, r) {
		t := m.Graph.Initializers[i]
		payload, err := o.For(t.Tensor)
		if err != nil {
			r.Add("tensor %q: %w", t.Name, err)
			continue
		}
		tag, ok := tagOf(payload.DType())
		if !ok {
			r.Add("tensor %q is of %v, and the format has %s (floating-point tensors can be converted)", t.Name, payload.DType(), dtypeNames())
		}
		p.list = append(p.list, item{name: name, kept: from[t.Name], tag: tag, shape: t.Tensor.Shape(), payload: payload})
		index += uint64(p.entryBytes()) + uint64(len(name)) + 8*uint64(len(t.Tensor.Shape()))
	}
	if index > math.MaxUint32 {
		r.Add("the index would take %d bytes, more than a file can have", index)
	}
	slices.SortFunc(p.list, func(a, b item) int { return strings.Compare(a.name, b.name) })
}

// check refuses checkpoints that Read would refuse.
func (p *plan) check(r *container.Refusals) error {
	c, err := parseConfig(p.config)
	if err != nil {
		return err
	}
	if !c.known() {
		return nil
	}
	shapes := make(map[string]tensor.Shape, len(p.list))
	for _, t := range p.list {
		shapes[t.name] = t.shape
	}
	c.check(nil, shapes, func(_ string, _ Kind, err error) {
		r.Add("the metadata entry config says that this is a network of kind %s: %w", c.kind, err)
	})
	return r.Err()
}

func (p *plan) write(to io.Writer) error {
	index := p.index(0)
	begin := len(p.magic) + 4 + 4 + len(index)
	if p.ids {
		begin += 4 + len(p.config)
	}
	index = p.index(uint64(begin))
	w := binio.NewWriter(to)
	w.Write([]byte(p.magic))
	w.U32(version)
	if p.ids {
		w.U32(uint32(len(p.config)))
		w.Write(p.config)
	}
	w.U32(uint32(len(index)))
	w.Write(index)
	for _, t := range p.list {
		w.Append(t.payload)
	}
	return w.Err()
}

// index returns the index of a file with payloads from offset at on.
func (p *plan) index(at uint64) []byte {
	var b bytes.Buffer
	w := binio.NewWriter(&b)
	w.U32(uint32(len(p.list)))
	for _, t := range p.list {
		w.U32(uint32(len(t.name)))
		w.Write([]byte(t.name))
		if p.ids {
			id := BaseParamID(t.name)
			if t.kept.noID {
				id = ID{}
			}
			w.Write(id[:])
		}
		w.U32(uint32(len(t.shape)))
		for _, n := range t.shape {
			w.U64(uint64(n))
		}
		w.U32(t.tag)
		w.U8(t.kept.reserved)
		w.U64(at)
		n := uint64(t.payload.Len())
		w.U64(n)
		at += n
	}
	return b.Bytes()
}
