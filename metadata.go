package nacre

import "github.com/nacre-ml/nacre/runtime/graph"

// Metadata is a model file's description of itself.
type Metadata struct {
	Format          string // of the file, such as onnx
	File            string // the path or the name that the model was opened with
	Producer        string // the program that made the file
	ProducerVersion string
	Domain          string // of the model, in reverse-DNS form
	Version         int64  // of the model, as its author counts
	IRVersion       int64  // of ONNX's intermediate representation; 0 in other formats
	Doc             string
	Opsets          []Opset
	Entries         []Entry // in the order of the file
}

// Opset is the version of the operators of one domain that a model uses. The domain
// of the standard operators is ai.onnx.
type Opset struct {
	Domain  string
	Version int
}

// Entry is one entry of metadata: a text, or, in some formats, numbers.
type Entry struct {
	Key   string
	Value string
	// Numbers is nil for text. It has memory of its own.
	Numbers *Tensor
}

// Lookup returns the text of the first entry with the key, and whether there is one.
func (m Metadata) Lookup(key string) (string, bool) {
	for _, e := range m.Entries {
		if e.Key == key {
			return e.Value, true
		}
	}
	return "", false
}

func metadataOf(m *graph.Model) Metadata {
	out := Metadata{
		Format: m.Format, File: m.File, Producer: m.Producer, ProducerVersion: m.ProducerVer, Domain: m.Domain,
		Version: m.Version, IRVersion: m.IR, Doc: m.Doc,
	}
	for _, o := range m.Opsets {
		if o.Domain == "" {
			o.Domain = "ai.onnx"
		}
		out.Opsets = append(out.Opsets, Opset{o.Domain, o.Version})
	}
	for _, p := range m.Meta {
		e := Entry{Key: p.Key, Value: p.Value}
		if p.Data != nil {
			e.Numbers = &Tensor{*p.Data.Clone()}
		}
		out.Entries = append(out.Entries, e)
	}
	return out
}
