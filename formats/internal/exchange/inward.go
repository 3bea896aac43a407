package exchange

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/formats/gguf"
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// inward is a translation of a folder to a file.
type inward struct {
	*exchange
	*config
	family  *family
	pooling string // the text of PoolingFile
	meta    []graph.Pair
	first   []*graph.Initializer // tensors made of settings
	// warnings name omitted parts.
	warnings []error
}

// ToGGUF returns the model of a folder of Hugging Face with the names, the order and the metadata
// of a GGUF file, without the tokenizer. Elements stay as they are stored, except of vectors, which
// become float32.
func ToGGUF(m *graph.Model, l container.Lowering) (_ *graph.Model, err error) {
	defer guard.At(m.File).End(&err)
	out, err := toGGUF(m, l)
	if err == nil {
		_, err = gguf.Lower(out, container.Lowering{Budget: l.Budget}) // reports missing parts
	}
	if err != nil {
		return nil, &graph.Error{Stage: "convert", File: m.File, Offset: -1, Err: container.Memory(err)}
	}
	return out, nil
}

// IsFolder reports whether a model is of a folder with a family that ToGGUF knows.
func IsFolder(m *graph.Model) bool {
	c, err := configOf(textOf(m, ConfigFile))
	return err == nil && familyOfFolder(c) != nil
}

// Unsaid returns the settings of a folder that the file of ToGGUF does not have.
func Unsaid(m *graph.Model) (u gguf.Unsaid) {
	c, err := configOf(textOf(m, ConfigFile))
	if err != nil {
		return u
	}
	if f := familyOfFolder(c); f != nil {
		act, name := f.activation(), ""
		if name = c.text(act.key); name == "" {
			name = act.names[0]
		}
		u.ErrorGELU = name == "gelu"
	}
	if s := c.below("rope_scaling"); s != nil {
		u.LooseYarn = !s.truth("truncate", true)
	}
	return u
}

// textOf returns the text of a file of a folder, or "".
func textOf(m *graph.Model, file string) string {
	for _, p := range m.Meta {
		if p.Key == file && p.Data == nil {
			return p.Value
		}
	}
	return ""
}

// familyOfFolder returns the row for a configuration, or nil.
func familyOfFolder(c *config) *family {
	list := families()
	i := slices.IndexFunc(list, func(f family) bool { return f.model == c.text("model_type") })
	if i < 0 {
		return nil
	}
	return &list[i]
}

func toGGUF(m *graph.Model, l container.Lowering) (*graph.Model, error) {
	text := textOf(m, ConfigFile)
	if text == "" {
		return nil, graph.Errorf(graph.ErrUnsupported, "the model has no %s, which says what its tensors are", ConfigFile)
	}
	c, err := configOf(text)
	if err != nil {
		return nil, err
	}
	f := familyOfFolder(c)
	if f == nil {
		return nil, graph.Errorf(graph.ErrUnsupported, "%s: model_type %.80q has no counterpart in GGUF (%s)", ConfigFile,
			c.text("model_type"), strings.Join(Models(), ", "))
	}
	i := &inward{config: c, family: f, pooling: textOf(m, PoolingFile)}
	i.meta = append(i.meta, graph.Pair{Key: "general.architecture", Kind: "string", Value: f.architecture})
	i.readSizes(m, l)
	if c.err == nil {
		i.numbers()
		i.rope()
		if f.inward != nil {
			f.inward(i)
		}
		i.checkFixed()
		i.checkActivation()
		i.checkWindows()
		i.generation(textOf(m, GenerationFile))
	}
	if c.err != nil {
		return nil, c.err
	}
	i.prefix(m)
	i.narrowExperts()
	i.run(f.rules, func(r rule, files []string, folder string) { i.exchange.inward(r, files, folder) })
	for _, err := range []error{i.exchange.err, i.unused("a file of the architecture " + f.architecture)} {
		if err != nil {
			return nil, err
		}
	}
	i.general()
	return &graph.Model{Format: ggufFormat, File: m.File, Container: 3, Meta: i.meta, Warnings: i.warnings,
		Graph: &graph.Graph{Initializers: append(i.first, i.to...)}}, nil
}

// readSizes reads the extents that rules need.
func (i *inward) readSizes(m *graph.Model, l container.Lowering) {
	value := func(key string) int {
		for _, s := range i.family.settings {
			if s.gguf == key {
				return i.size(s.config, s.ofConfig)
			}
		}
		return 0
	}
	s := sizes{layers: value("block_count"), hidden: value("embedding_length"), heads: value("attention.head_count")}
	if s.layers > len(m.Graph.Initializers) {
		i.wrong(graph.ErrFormat, "num_hidden_layers", "is %d, and the folder has only %d tensors", s.layers, len(m.Graph.Initializers))
	}
	if s.kvHeads = value("attention.head_count_kv"); s.kvHeads == 0 {
		s.kvHeads = s.heads
	}
	if s.headDim = value("attention.key_length"); s.headDim == 0 {
		s.headDim = s.hidden / max(s.heads, 1)
	}
	i.exchange = newExchange(m, s, l)
}

// size returns a size, or otherwise if there is none; 0 for absent ones.
func (i *inward) size(key string, otherwise float64) int {
	v := i.number(key, otherwise)
	switch {
	case math.IsNaN(v):
		i.wrong(graph.ErrFormat, key, "is missing")
		return 1
	case math.IsInf(v, 0):
		return 0
	case !(v >= 1 && v <= maxSize) || v != math.Trunc(v):
		i.wrong(graph.ErrFormat, key, "is %v; it must be a whole number from 1 to %d", v, maxSize)
		return 1
	}
	return int(v)
}

// numbers translates the settings that are rows.
func (i *inward) numbers() {
	for _, s := range i.family.settings {
		if s.kind == size {
			n := i.size(s.config, s.ofConfig)
			switch {
			case s.gguf == "attention.key_length":
				i.sized(s.gguf, i.headDim)
				i.sized("attention.value_length", i.headDim)
				continue
			case s.gguf == "attention.head_count_kv" && n == 0:
				n = i.heads
			}
			if n > 0 {
				i.sized(s.gguf, n)
			}
			continue
		}
		v := i.number(s.config, s.ofConfig)
		switch {
		case math.IsNaN(v):
			i.wrong(graph.ErrFormat, s.config, "is missing")
		case math.IsInf(v, 0):
		default:
			i.floating(s.gguf, v)
		}
	}
}

// checkFixed refuses settings that files do not have.
func (i *inward) checkFixed() {
	for _, f := range i.family.fixed {
		v, given := i.values[f.config]
		if !given || v == nil || v == f.value {
			continue
		}
		if f.config == "sliding_window" {
			i.warnings = append(i.warnings, graph.Errorf(graph.ErrUnsupported,
				"%s: sliding_window %v is left out: files of the architecture %s have no windows", ConfigFile, v, i.family.architecture))
			continue
		}
		i.wrong(graph.ErrUnsupported, f.config, "is %v, and files of the architecture %s mean %v", v, i.family.architecture, f.value)
	}
}

// checkWindows refuses windows of layers in families that have none.
func (i *inward) checkWindows() {
	windows := slices.ContainsFunc(i.meta, func(p graph.Pair) bool { return strings.HasSuffix(p.Key, ".attention.sliding_window") })
	if !windows && slices.Contains(i.texts("layer_types"), "sliding_attention") {
		i.wrong(graph.ErrUnsupported, "layer_types", "has sliding_attention, and files of the architecture %s have no windows", i.family.architecture)
	}
}

// checkActivation refuses functions that the architecture does not compute.
func (i *inward) checkActivation() {
	act := i.family.activation()
	if name := i.text(act.key); name != "" && !slices.Contains(act.names, name) {
		i.wrong(graph.ErrUnsupported, act.key, "is %q, and files of the architecture %s mean %s", name, i.family.architecture, act.names[0])
	}
}

// prefix gives tensors the names with model. in front, which some folders leave out, and drops
// those that are computed.
func (i *inward) prefix(m *graph.Model) {
	want := i.family.rules[0].folder + weight
	first, _, _ := strings.Cut(want, ".")
	if i.from[want] == nil && i.from[strings.TrimPrefix(want, first+".")] != nil {
		from := make(map[string]*graph.Initializer, len(i.from))
		for name, t := range i.from {
			if name != "lm_head.weight" && name != "lm_head.bias" {
				name = first + "." + name
			}
			from[name] = t
		}
		i.from = from
	}
	for _, name := range slices.Collect(maps.Keys(i.from)) {
		for _, end := range []string{"rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias"} {
			if strings.HasSuffix(name, end) {
				delete(i.from, name)
			}
		}
	}
	tied := i.family.tied
	if v, ok := i.values["tie_word_embeddings"].(bool); ok {
		tied = v
	}
	if tied {
		delete(i.from, "lm_head.weight")
	}
}

// general adds the metadata of every file.
func (i *inward) general() {
	if name := i.text("_name_or_path"); name != "" {
		i.meta = slices.Insert(i.meta, 1, graph.Pair{Key: "general.name", Kind: "string", Value: name})
	}
	count := map[tensor.DType]int{}
	for _, x := range i.to {
		count[x.Tensor.DType()] += x.Tensor.Len()
	}
	kind := uint32(0)
	switch {
	case count[tensor.F16] > count[tensor.F32] && count[tensor.F16] >= count[tensor.BF16]:
		kind = 1
	case count[tensor.BF16] > count[tensor.F32]:
		kind = 32
	}
	i.meta = append(i.meta, scalar("general.file_type", "u32", tensor.U32, kind))
	i.sized("vocab_size", i.vocab())
}

// vocab returns the number of rows of the embedding.
func (i *inward) vocab() int {
	for _, x := range i.to {
		if x.Name == "token_embd.weight" && len(x.Tensor.Shape()) == 2 {
			return x.Tensor.Shape()[0]
		}
	}
	return 0
}

// generation adds the sampling that generation_config.json asks for.
func (i *inward) generation(text string) {
	if text == "" {
		return
	}
	g, err := configOf(text)
	if err != nil || !g.truth("do_sample", false) {
		return
	}
	for _, s := range []struct{ config, key string }{{"temperature", "temp"}, {"top_p", "top_p"}, {"min_p", "min_p"}, {"repetition_penalty", "penalty_repeat"}} {
		if v := g.number(s.config, 0); v > 0 {
			i.meta = append(i.meta, scalar("general.sampling."+s.key, "f32", tensor.F32, float32(v)))
		}
	}
	if v := g.number("top_k", 0); v > 0 && v <= maxSize {
		i.meta = append(i.meta, scalar("general.sampling.top_k", "i32", tensor.I32, int32(v)))
	}
}

func scalar[T tensor.Element](key, kind string, d tensor.DType, v T) graph.Pair {
	t := tensor.New(d)
	tensor.View[T](t)[0] = v
	return graph.Pair{Key: key, Kind: kind, Data: t}
}

// sized adds a size.
func (i *inward) sized(key string, n int) {
	i.meta = append(i.meta, scalar(i.family.architecture+"."+key, "u32", tensor.U32, uint32(n)))
}

// floating adds a number.
func (i *inward) floating(key string, v float64) {
	i.meta = append(i.meta, scalar(i.family.architecture+"."+key, "f32", tensor.F32, float32(v)))
}

// truthful adds a boolean.
func (i *inward) truthful(key string, v bool) {
	i.meta = append(i.meta, scalar(i.family.architecture+"."+key, "bool", tensor.Bool, v))
}

// worded adds a text.
func (i *inward) worded(key, v string) {
	i.meta = append(i.meta, graph.Pair{Key: i.family.architecture + "." + key, Kind: "string", Value: v})
}

// listed adds a list of sizes.
func (i *inward) listed(key string, list []int32) {
	t := tensor.New(tensor.I32, len(list))
	copy(tensor.View[int32](t), list)
	i.meta = append(i.meta, graph.Pair{Key: i.family.architecture + "." + key, Kind: "array of i32", Data: t})
}

// flags adds a list of booleans.
func (i *inward) flags(key string, list []bool) {
	t := tensor.New(tensor.Bool, len(list))
	for k, v := range list {
		if v {
			t.Bytes()[k] = 1
		}
	}
	i.meta = append(i.meta, graph.Pair{Key: i.family.architecture + "." + key, Kind: "array of bool", Data: t})
}

// vector adds a tensor of numbers.
func (i *inward) vector(name string, list []float64) {
	t := tensor.New(tensor.F32, len(list))
	for k, v := range list {
		tensor.View[float32](t)[k] = float32(v)
	}
	i.first = append(i.first, &graph.Initializer{Name: name, Tensor: t})
}

// replaced removes the pair of a key, and has add add it again.
func (i *inward) replaced(key string, add func()) {
	i.meta = slices.DeleteFunc(i.meta, func(p graph.Pair) bool { return p.Key == i.family.architecture+"."+key })
	add()
}
