// Package exchange translates models between GGUF files and folders of Hugging Face: the names and
// the order of tensors, and the settings. It leaves elements as they are stored where it can.
//
// A family is a row of a table: its general.architecture, its model_type, a rule for each tensor
// and a row for each setting. Both directions read the same rows.
package exchange

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// The names of the files that are metadata of a folder's model.
const (
	ConfigFile     = "config.json"
	GenerationFile = "generation_config.json"
)

// The formats of models.
const (
	ggufFormat   = "gguf"
	folderFormat = "safetensors"
)

// family is decoders that both sides know.
type family struct {
	architecture string // general.architecture
	model        string // model_type
	class        string // of architectures in config.json
	// when reports whether a file of the architecture is of this family; nil for yes.
	when     func(m *metadata) bool
	rules    []rule
	settings []setting
	// outward and inward translate settings that are no rows; nil for none.
	outward func(o *outward)
	inward  func(i *inward)
	fixed   []fixed
	act     activation
	still   bool    // no rope
	tied    bool    // the head is the embedding, unless config.json says otherwise
	partial float64 // part of a head that is rotated, unless config.json says otherwise; 0 for all
}

// activation is the function of an MLP: the key of config.json, and its names.
type activation struct {
	key   string
	names []string // the first is written
}

// The activations.
var (
	silu     = activation{"hidden_act", []string{"silu", "swish"}}
	geluTanh = activation{"hidden_act", []string{"gelu_pytorch_tanh", "gelu_new", "gelu_fast", "gelu_python_tanh", "gelu_accurate"}}
)

// Architectures returns the values of general.architecture that folders can have.
func Architectures() []string {
	var list []string
	for _, f := range families() {
		if !slices.Contains(list, f.architecture) {
			list = append(list, f.architecture)
		}
	}
	return list
}

// Models returns the values of model_type that files of GGUF can have.
func Models() []string {
	var list []string
	for _, f := range families() {
		list = append(list, f.model)
	}
	return list
}

// exchange is a translation of tensors.
type exchange struct {
	sizes
	take func(bytes int) error
	from map[string]*graph.Initializer // tensors not taken yet
	to   []*graph.Initializer
	err  error
}

// sizes are the extents that rules need.
type sizes struct {
	layers, hidden, heads, kvHeads, headDim, experts int
}

func newExchange(m *graph.Model, s sizes, o container.Lowering) *exchange {
	x := &exchange{sizes: s, take: o.Take, from: make(map[string]*graph.Initializer, len(m.Graph.Initializers))}
	for _, t := range m.Graph.Initializers {
		x.from[t.Name] = t
	}
	return x
}

// fail records the first error.
func (x *exchange) fail(err error) {
	if x.err == nil {
		x.err = err
	}
}

// names returns the pairs of names of a rule for a layer.
func (r rule) names(layer int) (files []string, folder string) {
	at := func(name string) string { return strings.Replace(name, "N", fmt.Sprint(layer), 1) }
	for part := range strings.SplitSeq(r.gguf, "+") {
		files = append(files, strings.Replace(part, "blk.N.", fmt.Sprintf("blk.%d.", layer), 1))
	}
	return files, at(r.folder)
}

// run calls one for every rule: first the rules of the whole model, then those of each layer.
func (x *exchange) run(rules []rule, one func(r rule, files []string, folder string)) {
	for _, r := range rules {
		if !strings.HasPrefix(r.gguf, "blk.N.") {
			files, folder := []string{r.gguf}, r.folder
			one(r, files, folder)
		}
	}
	for i := range x.layers {
		for _, r := range rules {
			if x.err != nil {
				return
			}
			if strings.HasPrefix(r.gguf, "blk.N.") {
				files, folder := r.names(i)
				one(r, files, folder)
			}
		}
	}
}

// shown bounds the number of names in a message.
const shown = 20

// unused returns an error that names the tensors that no rule takes.
func (x *exchange) unused(to string) error {
	names := slices.Sorted(maps.Keys(x.from))
	if len(names) == 0 {
		return nil
	}
	more := ""
	if len(names) > shown {
		more = fmt.Sprintf(" and %d more", len(names)-shown)
		names = names[:shown]
	}
	return graph.Errorf(graph.ErrUnsupported, "%s has no place for the tensors %s%s", to, strings.Join(names, ", "), more)
}

// taken returns a tensor and marks it as used; nil if there is none.
func (x *exchange) taken(name string) *graph.Initializer {
	t := x.from[name]
	delete(x.from, name)
	return t
}
