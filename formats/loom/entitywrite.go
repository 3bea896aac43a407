package loom

import (
	"bytes"
	"io"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// WriteEntity writes the network of a model with its weights one after the other. The weights of
// RMSNorm become float32, as in Loom. A decoder in a folder of Hugging Face becomes a transformer
// bundle. Models of other formats have no network and are refused.
func WriteEntity(w io.Writer, m *graph.Model, o container.Options) (err error) {
	defer guard.At(m.File).End(&err)
	n, refused := network(m, o)
	if n == nil {
		return refused.Err()
	}
	if n.Spec {
		refused.Add("an ENTITY file holds a network and its weights, and this is the spec of an architecture (a .json file can hold it)")
	}
	blobs, paths := n.ordered()
	norms := map[*Blob]bool{}
	n.walk(func(path func() string, l *Layer) {
		if l.Type == RMSNorm && l.Weights != nil {
			norms[l.Weights] = true
		}
		for _, b := range l.Extra {
			if err := b.fitExtra(l); err != nil {
				refused.Add("%s.%s: %w", path(), b.Name, err)
			}
		}
	})
	for _, b := range n.Globals {
		if err := b.fitGlobal(n.Transformer); err != nil {
			refused.Add("transformer.%s: %w", b.Name, err)
		}
	}
	if t := n.Transformer; t != nil {
		for _, f := range t.nonFinite() {
			refused.Add("JSON cannot hold %s", f)
		}
	}
	if err := refused.Err(); err != nil {
		return err
	}
	for i, b := range blobs {
		if norms[b] && b.DType != Float32 {
			f, err := b.asFloat32()
			if err != nil {
				return err
			}
			paths[f], blobs[i] = paths[b], f
		}
	}
	var head bytes.Buffer
	header(&head, n, blobs, paths)
	out := binio.NewWriter(w)
	io.WriteString(out, entityMagic)
	out.U32(entityVersion) // with flags of 0
	out.U64(uint64(head.Len()))
	out.Write(head.Bytes())
	for _, b := range blobs {
		out.Write(b.Data)
	}
	return out.Err()
}

// asFloat32 returns the store as float32 numbers, and keeps its scale.
func (b *Blob) asFloat32() (*Blob, error) {
	w, err := b.Float32()
	if err != nil {
		return nil, err
	}
	data, _ := Morph(Float32, w, b.Scale)
	return &Blob{DType: Float32, Scale: b.Scale, Native: true, Data: data, Shape: tensor.Shape{len(w)}}, nil
}

func header(w io.Writer, n *Network, blobs []*Blob, paths map[*Blob]string) {
	e := newEmitter(w, false)
	e.within("{}", func() {
		version := entityVersion
		e.member("format_version", true, &version)
		e.key("network")
		e.network(n, inCheckpoint, nil)
		if t := n.Transformer; t != nil {
			e.key("transformer")
			t.emit(e)
		}
		e.key("blobs")
		if len(blobs) == 0 {
			e.w.WriteString("null")
			return
		}
		e.within("[]", func() {
			at := uint64(0)
			for _, b := range blobs {
				e.item()
				row := entry{paths[b], at, uint64(len(b.Data)), b.word(), b.Scale, b.Native}
				e.within("{}", func() { e.members(row.fields()) })
				at += row.length
			}
		})
	})
	e.w.Flush()
}

func (t *Transformer) emit(e *emitter) {
	e.within("{}", func() {
		e.members(t.fields())
		if t.Dims != nil {
			e.key("dims")
			e.within("{}", func() { e.members(t.Dims.fields()) })
		}
	})
}

func (e *emitter) members(list []optional) {
	for _, m := range list {
		e.member(m.key, m.always, m.at)
	}
}
