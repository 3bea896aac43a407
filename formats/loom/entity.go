package loom

import (
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// EntityName is the name of the format of ENTITY files.
const EntityName = "entity"

const (
	entityMagic   = "ENTITY\x00\x00"
	entityVersion = 1
	entityHead    = 20
	maxHeader     = 1 << 28
)

// ProbeEntity reports whether data begins with the magic of ENTITY.
func ProbeEntity(data []byte) bool {
	return strings.HasPrefix(string(data[:min(len(data), 8)]), entityMagic)
}

// ReadEntity reads an ENTITY file from memory. Tensors are views of data. The error is the first
// problem that VerifyEntity finds. ReadEntity takes memory within b, and stops if b's context is
// done.
func ReadEntity(b *budget.Budget, name string, data []byte) (_ *graph.Model, err error) {
	defer guard.At(name).End(&err)
	return readEntity(b, name, data, nil)
}

// ReadEntityLayers is ReadEntity with the weights of these layers of the grid only, by number, and
// without the bundle's own weights. An empty list reads no weights. The model cannot be written.
func ReadEntityLayers(b *budget.Budget, name string, data []byte, layers []int) (_ *graph.Model, err error) {
	defer guard.At(name).End(&err)
	return readEntity(b, name, data, append([]int{}, layers...))
}

func readEntity(b *budget.Budget, name string, data []byte, layers []int) (*graph.Model, error) {
	r := newReader(b, name, data)
	m := r.entity(data, layers)
	if err := r.First(); err != nil {
		return nil, err
	}
	return m, nil
}

// VerifyEntity returns every problem of an ENTITY file, with its offset. It takes memory within b,
// and stops if b's context is done.
func VerifyEntity(b *budget.Budget, name string, data []byte) (problems []error) {
	defer guard.At(name).EndAll(&problems)
	r := newReader(b, name, data)
	r.entity(data, nil)
	return r.All()
}

// entity reads a file. If layers is not nil, it skips the weights of other layers.
func (r *reader) entity(data []byte, layers []int) *graph.Model {
	b := r.Reader(data, 0)
	if magic := b.Bytes(8, "the magic"); magic != nil && string(magic) != entityMagic {
		b.Fail(0, "%q is not the magic of an ENTITY file", magic)
	}
	if v := b.U16("the version"); !b.Failed() && v != entityVersion {
		r.Add(8, graph.ErrUnsupported, "version %d of ENTITY is not known, only %d", v, entityVersion)
		return nil
	}
	b.U16("the flags")
	size := b.U64("the size of the header")
	if size > maxHeader {
		b.Fail(12, "a header of %d bytes is longer than the %d that there may be", size, maxHeader)
	}
	header := b.Bytes(size, "the header")
	if b.Failed() {
		return nil
	}
	v, off, err := parse(r.Budget, header, entityHead)
	if err != nil {
		r.Add(off, graph.ErrFormat, "header: %w", err)
		return nil
	}
	r.kind = inCheckpoint
	r.net.partial = layers != nil
	var blobs, net value
	v.each(func(key string, m value) bool {
		switch {
		case same(key, "network"):
			net = m
		case same(key, "blobs"):
			blobs = m
		case same(key, "transformer") && !m.null():
			r.transformer(m)
		}
		return true
	})
	if net.text == nil {
		r.bad(v, "the header has no network")
		return nil
	}
	r.network(net)
	r.net.walk(func(path func() string, l *Layer) {
		if b := l.Weights; b != nil {
			r.Add(int(b.offset), graph.ErrFormat, "%s has weights in the header, where blobs belong", path())
		}
		if l.filled&filledSeqLength != 0 && !l.recurs() {
			l.filled &^= filledSeqLength
		}
	})
	if r.First() != nil {
		return nil
	}
	r.blobs(blobs, data[b.Offset():], b.Offset(), layers)
	m := r.model()
	if m != nil {
		m.Format, m.Container = EntityName, entityVersion
	}
	return m
}

// transformer reads the header's description of a bundle.
func (r *reader) transformer(v value) {
	t := &Transformer{}
	r.net.Transformer = t
	if !v.is('{') {
		r.bad(v, "transformer is an object, not %s", v.shown())
	}
	v.each(func(key string, m value) bool {
		if same(key, "dims") && !m.null() {
			t.Dims = &Dims{}
			if !m.is('{') {
				r.bad(m, "dims is an object, not %s", m.shown())
			}
			m.each(func(key string, f value) bool { return r.member(t.Dims.fields(), key, f) })
			return true
		}
		return r.member(t.fields(), key, m)
	})
}

// member stores the value of a key in the members of that name. Unknown keys are ignored.
func (r *reader) member(members []optional, key string, v value) bool {
	for _, m := range members {
		if same(key, m.key) {
			r.into(m.key, v, m.at)
		}
	}
	return true
}

// optional is a member that is omitted if it is zero, unless always is set.
type optional struct {
	member
	always bool
}

func (t *Transformer) fields() []optional {
	return []optional{{member{"architecture", &t.Architecture}, true}, {member{"hidden_size", &t.HiddenSize}, true}, {member{"vocab_size", &t.VocabSize}, true},
		{member{"lm_head_tied", &t.LMHeadTied}, false}, {member{"has_final_norm", &t.HasFinalNorm}, false}, {member{"weight_dtype", &t.WeightDType}, false}}
}

func (d *Dims) fields() []optional {
	return []optional{{member{"num_layers", &d.NumLayers}, true}, {member{"num_heads", &d.NumHeads}, true}, {member{"num_kv_heads", &d.NumKVHeads}, true},
		{member{"head_dim", &d.HeadDim}, true}, {member{"query_dim", &d.QueryDim}, false}, {member{"kv_dim", &d.KVDim}, true},
		{member{"intermediate_size", &d.IntermediateSize}, true}, {member{"rms_norm_eps", &d.RMSNormEps}, false},
		{member{"rope_freq_base", &d.RopeFreqBase}, false}, {member{"activation", &d.Activation}, false}}
}

// entry is one blob of the table.
type entry struct {
	path           string
	offset, length uint64
	dtype          string
	scale          float32
	native         bool
}

func (e *entry) fields() []optional {
	return []optional{{member{"path", &e.path}, true}, {member{"offset", &e.offset}, true}, {member{"length", &e.length}, true},
		{member{"dtype", &e.dtype}, true}, {member{"scale", &e.scale}, false}, {member{"native", &e.native}, true}}
}

// blobs reads the table and gives layers their weights. Weights are views of payload, which begins
// at offset start of the file.
func (r *reader) blobs(v value, payload []byte, start int, layers []int) {
	if v.text != nil && !v.is('[') && !v.null() {
		r.bad(v, "blobs is an array, not %s", v.shown())
		return
	}
	cells := make(map[int]*Layer, len(r.net.Layers))
	for _, l := range r.net.Layers {
		cells[r.net.Index(l.Z, l.Y, l.X, l.L)] = l
	}
	var used uint64
	v.each(func(_ string, m value) bool {
		if !m.is('{') {
			r.bad(m, "a blob is an object, not %s", m.shown())
			return true
		}
		if !r.Take(m.off, layerBytes+len(m.text)) {
			return false
		}
		var e entry
		m.each(func(key string, f value) bool { return r.member(e.fields(), key, f) })
		root, rest, _ := strings.Cut(e.path, ".")
		if root != "layers" && root != "transformer" || layers != nil && root == "transformer" {
			return true
		}
		cell, _, _ := strings.Cut(rest, ".")
		if i, ok := index(cell); ok && root == "layers" && layers != nil && cells[i] != nil && !slices.Contains(layers, i) {
			return true
		}
		if e.length > uint64(len(payload)) || e.offset > uint64(len(payload))-e.length {
			r.bad(m, "%s takes %d bytes from %d, and the payload has %d", brief(e.path), e.length, e.offset, len(payload))
			return true
		}
		if used += e.length; used > uint64(len(payload)) {
			r.bad(m, "the blobs up to %s overlap: they take %d bytes, and the payload has %d", brief(e.path), used, len(payload))
			return false
		}
		b := &Blob{Scale: e.scale, Native: e.native, Data: payload[e.offset : e.offset+e.length : e.offset+e.length], offset: int64(start) + int64(e.offset)}
		if b.DType, _ = ParseDType(e.dtype); e.dtype == Q4_0 || e.dtype == BitNetTernary {
			b.Kind = e.dtype
		}
		if err := r.place(b, root, rest, cells); err != nil {
			r.bad(m, "%s: %w", brief(e.path), err)
		}
		r.net.order = append(r.net.order, b)
		return true
	})
	if t := r.net.Transformer; t != nil && layers == nil && !slices.ContainsFunc(r.net.Globals, func(b *Blob) bool { return b.Name == "embeddings" }) {
		r.bad(v, "the bundle has no transformer.embeddings")
	}
}
