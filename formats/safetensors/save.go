package safetensors

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/internal/output"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// shardBytes is the most bytes of tensors in a file of a folder, unless one tensor has more.
var shardBytes int64 = 5e9

// metaKind is the kind of metadata that are files of a folder.
const metaKind = "json"

// SaveFolder writes a model to a new folder: the tensors as model.safetensors, or as shards with an
// index if they are large, the metadata of kind json as files, and further files by name. The
// folder appears when it is complete. Blocks become o.DType, or float32.
func SaveFolder(path string, m *graph.Model, files map[string][]byte, o container.Options) (err error) {
	defer guard.At(path).End(&err)
	if o.Blocks == tensor.Invalid {
		o.Blocks = tensor.F32
	}
	err = func() error {
		var r container.Refusals
		o.TensorsOnly(m, &r)
		plain := *m
		plain.Meta = nil
		contents := maps.Clone(files)
		if contents == nil {
			contents = map[string][]byte{}
		}
		for _, p := range m.Meta {
			switch {
			case p.Kind == metaKind && p.Data == nil:
				contents[p.Key] = []byte(p.Value)
			case !o.DropMeta:
				r.Add("metadata %q has no place in a folder (it can be left out)", p.Key)
			}
		}
		if err := r.Err(); err != nil {
			return err
		}
		f, err := output.CreateFolder(path)
		if err != nil {
			return err
		}
		defer f.Discard()
		if err := saveShards(f, &plain, contents, o); err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(contents)) {
			data := contents[name]
			if err := saveFile(f, name, func(w io.Writer) error { _, err := w.Write(data); return err }); err != nil {
				return err
			}
		}
		return f.Commit()
	}()
	return container.Saving(path, err)
}

// saveFile writes a file of a folder.
func saveFile(f *output.Folder, name string, write func(w io.Writer) error) error {
	p, err := f.Create(name)
	if err != nil {
		return err
	}
	defer p.Discard()
	if err := write(p); err != nil {
		return err
	}
	return p.Commit()
}

// saveShards writes the tensors. The index becomes one of contents.
func saveShards(f *output.Folder, m *graph.Model, contents map[string][]byte, o container.Options) error {
	var shards [][]*graph.Initializer
	var total, last int64
	for _, x := range m.Graph.Initializers {
		p, err := o.For(x.Tensor)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", x.Name, err)
		}
		if shards == nil || last+p.Len() > shardBytes {
			shards, last = append(shards, nil), 0
		}
		at := len(shards) - 1
		shards[at] = append(shards[at], x)
		last, total = last+p.Len(), total+p.Len()
	}
	if shards == nil {
		return graph.Errorf(graph.ErrUnsupported, "the model has no tensors")
	}
	var written int64
	index := struct {
		Metadata map[string]int64  `json:"metadata"`
		Weights  map[string]string `json:"weight_map"`
	}{map[string]int64{"total_size": total}, map[string]string{}}
	for i, list := range shards {
		name := "model" + extension
		if len(shards) > 1 {
			name = fmt.Sprintf("model-%05d-of-%05d%s", i+1, len(shards), extension)
		}
		part := *m
		part.Graph = &graph.Graph{Initializers: list}
		part.Source = nil
		part.Meta = []graph.Pair{{Key: "format", Value: "pt"}} // what the package transformers asks for
		of, done := o, written
		if o.Progress != nil {
			of.Progress = func(n, _ int64) { written = done + n; o.Progress(min(written, total), total) }
		}
		if err := saveFile(f, name, func(w io.Writer) error { return Write(of.Counted(w, &part), &part, of) }); err != nil {
			return err
		}
		for _, x := range list {
			index.Weights[x.Name] = name
		}
	}
	if len(shards) > 1 {
		text, err := json.MarshalIndent(index, "", "  ")
		if err != nil {
			return err
		}
		contents[indexFile] = append(text, '\n')
	}
	return nil
}
