package loom

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Write writes the network of a model as a checkpoint, or as the spec of an architecture if it is
// one. A decoder in a folder of Hugging Face becomes a transformer bundle, and JSON cannot hold
// bundles. Models of other formats have no network. Both are refused.
func Write(w io.Writer, m *graph.Model, o container.Options) (err error) {
	defer guard.At(m.File).End(&err)
	n, refused := network(m, o)
	if n == nil {
		return refused.Err()
	}
	if n.Transformer != nil {
		refused.Add("a checkpoint in JSON cannot hold a transformer bundle (an .entity file can)")
	}
	blobs, paths := n.ordered()
	for _, b := range blobs {
		if b.Name != "" && n.Transformer == nil {
			refused.Add("%s: a checkpoint in JSON cannot hold it (an .entity file can)", paths[b])
		}
	}
	if err := refused.Err(); err != nil {
		return err
	}
	e := newEmitter(w, true)
	kind := inCheckpoint
	if n.Spec {
		kind = inSpec
	}
	e.network(n, kind, func(l *Layer) {
		b := l.Weights
		e.key("weights")
		e.base64(b.exact())
		e.member("native", false, &b.Native)
		e.member("scale", false, &b.Scale)
	})
	return e.w.Flush()
}

// network returns the network of a model, converted to the type in the options, and the reasons not
// to write it.
func network(m *graph.Model, o container.Options) (*Network, *container.Refusals) {
	var refused container.Refusals
	n := source(m, o, &refused)
	if n == nil {
		return nil, &refused
	}
	if len(m.Graph.Nodes) > 0 && !o.DropGraph {
		refused.Add("a Loom file holds layers, and the %d nodes of the graph have no place in it (they can be left out)", len(m.Graph.Nodes))
	}
	if n.partial {
		refused.Add("the network was read without the weights of some layers, which would be lost")
	}
	if n.cells() < 0 {
		refused.Add("a grid of %d by %d by %d cells of %d layers cannot be", n.Depth, n.Rows, n.Cols, n.LayersPerCell)
		return nil, &refused
	}
	for _, l := range n.Layers {
		if n.Index(l.Z, l.Y, l.X, l.L) < 0 {
			refused.Add("the layer at z %d, y %d, x %d, l %d is outside the grid", l.Z, l.Y, l.X, l.L)
		}
	}
	n.walk(func(path func() string, l *Layer) {
		for _, err := range l.unwritable() {
			refused.Add("%s: %w", path(), err)
		}
		if n.Spec && l.Weights != nil {
			refused.Add("%s: the spec of an architecture has no weights", path())
		}
		if !n.Spec && (l.Remote || len(l.Mask) > 0 || len(l.Hierarchy) > 0) {
			refused.Add("%s: only the spec of an architecture has links, masks and levels", path())
		}
	})
	if o.DType != tensor.Invalid && refused.Err() == nil {
		n = n.converted(o, &refused)
	}
	return n, &refused
}

// source returns the network of a model, or the one made of a decoder's tensors. If there is none,
// it returns nil and adds the reason to refused.
func source(m *graph.Model, o container.Options, refused *container.Refusals) *Network {
	if n, ok := m.Source.(*Network); ok {
		return n.with(m.Graph.Initializers, refused)
	}
	if config, ok := configOf(m); ok {
		return imported(m, config, o, refused)
	}
	refused.Add("the model is of format %q, and a Loom file is a network of layers in a grid; tensors and nodes do not tell the grid (safetensors holds tensors without a network)", m.Format)
	return nil
}

// configOf returns the config.json of a folder of Hugging Face.
func configOf(m *graph.Model) (text string, ok bool) {
	for _, p := range m.Meta {
		if p.Key == "config.json" && p.Kind == "json" {
			return p.Value, true
		}
	}
	return "", false
}

// imported makes a bundle of a decoder's tensors, ternary for a BitNet model, else float32. It
// returns nil if it cannot. Tensors that a bundle does not use are refused, unless o.DropMeta is
// set.
func imported(m *graph.Model, config string, o container.Options, refused *container.Refusals) *Network {
	d := Float32
	var c struct {
		ModelType string `json:"model_type"`
	}
	if json.Unmarshal([]byte(config), &c) == nil && strings.Contains(strings.ToLower(c.ModelType), "bitnet") {
		d = Ternary
	}
	n, unknown, err := Import([]byte(config), m, d)
	if err != nil {
		refused.Add("%w", err)
		return nil
	}
	if len(unknown) > 0 && !o.DropMeta {
		refused.Add("tensors %q have no place in a bundle (they can be left out)", unknown)
		return nil
	}
	return n
}

// unwritable returns the reasons why JSON cannot hold a layer.
func (l *Layer) unwritable() []error {
	var list []error
	check := func(key string, v float64) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			list = append(list, fmt.Errorf("JSON cannot hold %s of %v", key, v))
		}
	}
	for i := range fields {
		if at, ok := fields[i].at(l).(*float64); ok {
			check(fields[i].key, *at)
		}
	}
	for _, r := range l.Rules {
		check("Threshold", r.Threshold)
		check("Command", float64(r.Command))
		check("Param", float64(r.Param))
	}
	if b := l.Weights; b != nil {
		check("scale", float64(b.Scale))
		if err := b.fit(l); err != nil {
			list = append(list, err)
		}
	}
	return list
}

// exact returns the codes for JSON. It cuts float64, float16 and bfloat16 to the layer's count,
// because Loom fails on extra ones.
func (b *Blob) exact() []byte {
	switch b.DType {
	case Float64, Float16, BFloat16:
		if b.Shape != nil {
			return b.Data[:b.DType.Bytes(b.Shape.Len())]
		}
	}
	return b.Data
}

// nonFinite names the numbers of a bundle that JSON cannot hold.
func (t *Transformer) nonFinite() []string {
	var list []string
	if t.Dims != nil {
		for _, m := range t.Dims.fields() {
			if f, ok := m.at.(*float64); ok && (math.IsNaN(*f) || math.IsInf(*f, 0)) {
				list = append(list, fmt.Sprintf("%s of %v", m.key, *f))
			}
		}
	}
	return list
}
