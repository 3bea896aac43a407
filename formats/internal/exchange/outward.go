package exchange

import (
	"encoding/json"
	"fmt"
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

// outward is a translation of a file to a folder.
type outward struct {
	*exchange
	*metadata
	family *family
	config map[string]any
	files  []graph.Pair // further files
}

// ToFolder returns the model of a GGUF file with the names and the order of a folder of Hugging
// Face. Its metadata are the texts of config.json and generation_config.json. Elements stay as they
// are stored, except of tensors whose columns change places and of matrices with scales beside
// them. The settings name the type to; Invalid for the type of most elements.
func ToFolder(m *graph.Model, to tensor.DType, l container.Lowering) (_ *graph.Model, err error) {
	defer guard.At(m.File).End(&err)
	out, err := toFolder(m, to, l)
	if err != nil {
		return nil, &graph.Error{Stage: "convert", File: m.File, Offset: -1, Err: container.Memory(err)}
	}
	return out, nil
}

func toFolder(m *graph.Model, to tensor.DType, l container.Lowering) (*graph.Model, error) {
	d := metadataOf(m)
	f := familyOfFile(d)
	if f == nil {
		return nil, graph.Errorf(graph.ErrUnsupported,
			"general.architecture %.80q has no counterpart among folders of Hugging Face (%s); the tensors alone can be written as a file *.safetensors",
			d.architecture, strings.Join(Architectures(), ", "))
	}
	n, err := gguf.Lower(m, container.Lowering{Budget: l.Budget}) // reports faults
	if err != nil {
		return nil, err
	}
	if n == nil {
		return nil, graph.Errorf(graph.ErrUnsupported, "the file is no model")
	}
	o := &outward{metadata: d, family: f, config: map[string]any{"model_type": f.model, "architectures": []string{f.class}}}
	o.readSizes(m, l)
	if d.err != nil {
		return nil, d.err
	}
	o.prepare()
	o.numbers()
	o.common(m)
	if to != tensor.Invalid {
		o.config["torch_dtype"] = to.String()
	}
	if f.outward != nil {
		f.outward(o)
	}
	o.run(f.rules, func(r rule, files []string, folder string) { o.exchange.outward(r, files, folder) })
	for _, err := range []error{d.err, o.exchange.err, o.unused("a folder of " + f.model)} {
		if err != nil {
			return nil, err
		}
	}
	text, err := json.MarshalIndent(o.config, "", "  ")
	if err != nil {
		return nil, err
	}
	result := &graph.Model{Format: folderFormat, File: m.File, Graph: &graph.Graph{Initializers: o.to},
		Meta: []graph.Pair{{Key: ConfigFile, Kind: "json", Value: string(text) + "\n"}}}
	result.Meta = append(result.Meta, o.files...)
	if text := o.generation(); text != "" && f.model != bertFamily.model {
		result.Meta = append(result.Meta, graph.Pair{Key: GenerationFile, Kind: "json", Value: text})
	}
	return result, nil
}

// familyOfFile returns the row for a file, or nil.
func familyOfFile(m *metadata) *family {
	list := families()
	for i, f := range list {
		if f.architecture == m.architecture && (f.when == nil || f.when(m)) {
			return &list[i]
		}
	}
	return nil
}

// readSizes reads the extents that rules need.
func (o *outward) readSizes(m *graph.Model, l container.Lowering) {
	n := func(key string, otherwise float64) int {
		v := o.number(key, otherwise)
		if !(v >= 0 && v <= maxSize && v == math.Trunc(v)) {
			o.wrong(graph.ErrFormat, key, "is %v", v)
			return 1
		}
		return int(v)
	}
	s := sizes{layers: n("block_count", 0) - n("nextn_predict_layers", 0), hidden: n("embedding_length", 0), heads: n("attention.head_count", 1), experts: n("expert_count", 0)}
	s.kvHeads = n("attention.head_count_kv", float64(s.heads))
	s.headDim = n("attention.key_length", float64(s.hidden/max(s.heads, 1)))
	o.exchange = newExchange(m, s, l)
}

// prepare multiplies matrices by the scales beside them, and cuts fused ones that the folder has in
// parts.
func (o *outward) prepare() {
	for _, name := range slices.Sorted(maps.Keys(o.from)) {
		stem, ok := strings.CutSuffix(name, ".scale")
		if !ok {
			continue
		}
		scale := o.taken(name)
		o.taken(stem + ".input_scale")
		if w := o.from[stem+weight]; w != nil {
			t, err := o.scaled(w.Tensor, scale.Tensor)
			if err != nil {
				o.fail(named(name, err))
				return
			}
			o.from[stem+weight] = &graph.Initializer{Name: w.Name, Tensor: t}
		}
	}
	has := func(name string) bool {
		return slices.ContainsFunc(o.family.rules, func(r rule) bool { return strings.Contains(r.gguf, name) })
	}
	for _, name := range slices.Sorted(maps.Keys(o.from)) {
		if stem, suffix, ok := cutName(name, ".ffn_gate_up_exps"); ok {
			list, err := stacked.split(o.exchange, o.taken(name).Tensor)
			if err != nil {
				o.fail(named(name, err))
				return
			}
			for i, part := range []string{".ffn_gate_exps", ".ffn_up_exps"} {
				o.from[stem+part+suffix] = &graph.Initializer{Name: stem + part + suffix, Tensor: list[i]}
			}
		}
		o.oldExperts(name)
		if stem, suffix, ok := cutName(name, ".attn_qkv"); ok && !has("attn_qkv") {
			q, kv := o.heads*o.headDim, o.kvHeads*o.headDim
			o.cut(name, []string{stem + ".attn_q" + suffix, stem + ".attn_k" + suffix, stem + ".attn_v" + suffix}, []int{q, kv, kv})
		}
	}
	if drafts := int(o.number("nextn_predict_layers", 0)); drafts > 0 {
		o.fail(graph.Errorf(graph.ErrUnsupported, "the last %d blocks predict further tokens, which a folder of %s does not have", drafts, o.family.model))
	}
}

// oldExperts stacks the experts of old files, which have a tensor for each. name is of the first.
func (o *outward) oldExperts(name string) {
	stem, ok := strings.CutSuffix(name, ".0"+weight)
	if !ok || !strings.Contains(name, ".ffn_") {
		return
	}
	var list []*tensor.Tensor
	for t := o.taken(name); t != nil; t = o.taken(fmt.Sprintf("%s.%d%s", stem, len(list), weight)) {
		list = append(list, t.Tensor)
	}
	t, err := o.stack(list)
	if err != nil {
		o.fail(named(name, err))
		return
	}
	o.from[stem+"_exps"+weight] = &graph.Initializer{Name: stem + "_exps" + weight, Tensor: t}
}

// cutName cuts a name at a part between layer and suffix.
func cutName(name, part string) (stem, suffix string, ok bool) {
	stem, suffix, ok = strings.Cut(name, part)
	return stem, suffix, ok && (suffix == weight || suffix == bias)
}

// cut replaces a tensor by parts of its rows.
func (o *outward) cut(name string, names []string, rows []int) {
	t := o.taken(name).Tensor
	total := 0
	for _, n := range rows {
		total += n
	}
	if len(t.Shape()) == 0 || t.Shape()[0] != total {
		o.fail(named(name, graph.Errorf(graph.ErrFormat, "is %v, and %d rows are expected", t, total)))
		return
	}
	size, at := t.Size()/max(total, 1), 0
	for i, n := range rows {
		shape := append([]int{n}, t.Shape()[1:]...)
		part, err := tensor.FromBytes(t.DType(), shape, t.Bytes()[at*size:(at+n)*size:(at+n)*size])
		if err != nil {
			o.fail(named(name, err))
			return
		}
		o.from[names[i]] = &graph.Initializer{Name: names[i], Tensor: part}
		at += n
	}
}

// scaled returns a matrix times a number, or times one for each element of its first axis, as
// float32.
func (o *outward) scaled(t, scale *tensor.Tensor) (*tensor.Tensor, error) {
	if scale.Len() == 0 || t.Len()%scale.Len() != 0 || !scale.DType().IsFloat() {
		return nil, graph.Errorf(graph.ErrFormat, "is %v, for a matrix %v", scale, t)
	}
	out, err := o.floats(t)
	if err != nil {
		return nil, err
	}
	factor, list := tensor.Numbers(scale), tensor.View[float32](out)
	each := len(list) / scale.Len()
	for i := range list {
		list[i] *= float32(factor(i / each))
	}
	return out, nil
}

// numbers translates the settings that are rows.
func (o *outward) numbers() {
	for _, s := range o.family.settings {
		v := o.number(s.gguf, s.ofGGUF)
		switch {
		case math.IsNaN(v):
			o.wrong(graph.ErrFormat, s.gguf, "is missing")
		case v == absent && s.gguf == "attention.head_count_kv":
			o.config[s.config] = o.heads
		case v == absent:
		case v == headSize:
			o.config[s.config] = o.headDim
		case s.kind == size:
			o.config[s.config] = int64(v)
		default:
			o.config[s.config] = v
		}
	}
	for _, f := range o.family.fixed {
		o.config[f.config] = f.value
	}
}

// common translates the settings that every family has.
func (o *outward) common(m *graph.Model) {
	o.config["tie_word_embeddings"] = o.from["output.weight"] == nil
	if x := o.from["token_embd.weight"]; x != nil && len(x.Tensor.Shape()) == 2 {
		o.config["vocab_size"] = x.Tensor.Shape()[0]
	}
	act := o.family.activation()
	o.config[act.key] = act.names[0]
	if o.has("attention.scale") && !slices.ContainsFunc(o.family.settings, func(s setting) bool { return s.gguf == "attention.scale" }) {
		o.wrong(graph.ErrUnsupported, "attention.scale", "has no place in a folder of %s", o.family.model)
	}
	o.config["torch_dtype"] = majority(m)
	if p := o.pairs["general.name"]; p != nil && p.Value != "" {
		o.config["_name_or_path"] = p.Value
	}
	o.rope()
	for key, role := range map[string]string{"bos_token_id": "bos", "eos_token_id": "eos", "pad_token_id": "padding"} {
		if id, ok := o.token(role); ok {
			o.config[key] = id
		}
	}
}

// token returns the id of a role of the tokenizer.
func (o *outward) token(role string) (id int64, ok bool) {
	p := o.pairs["tokenizer.ggml."+role+"_token_id"]
	if p == nil || p.Data == nil || p.Data.Len() != 1 || !p.Data.DType().IsInteger() {
		return 0, false
	}
	v := tensor.Numbers(p.Data)(0)
	return int64(v), v >= 0 && v < maxSize
}

// generation returns the text of generation_config.json, or "".
func (o *outward) generation() string {
	values := map[string]any{}
	for key, to := range map[string]string{"temp": "temperature", "top_k": "top_k", "top_p": "top_p", "min_p": "min_p", "penalty_repeat": "repetition_penalty"} {
		if p := o.pairs["general.sampling."+key]; p != nil && p.Data != nil && p.Data.Len() == 1 {
			values[to] = shortest(tensor.Numbers(p.Data)(0))
			if key != "penalty_repeat" {
				values["do_sample"] = true
			}
		}
	}
	for key, role := range map[string]string{"bos_token_id": "bos", "pad_token_id": "padding"} {
		if id, ok := o.token(role); ok {
			values[key] = id
		}
	}
	var ends []int64
	for _, role := range []string{"eos", "eot", "eom"} {
		if id, ok := o.token(role); ok && !slices.Contains(ends, id) {
			ends = append(ends, id)
		}
	}
	switch len(ends) {
	case 0:
	case 1:
		values["eos_token_id"] = ends[0]
	default:
		values["eos_token_id"] = ends
	}
	if len(values) == 0 {
		return ""
	}
	text, err := json.MarshalIndent(values, "", "  ")
	if err != nil {
		panic(err) // numbers and booleans
	}
	return string(text) + "\n"
}

// majority returns the name of the floating-point type of most elements; float32 for blocks.
func majority(m *graph.Model) string {
	count := map[string]int{}
	for _, x := range m.Graph.Initializers {
		name := "float32"
		if d := x.Tensor.DType(); d == tensor.F16 || d == tensor.BF16 {
			name = d.String()
		}
		count[name] += x.Tensor.Len()
	}
	best := "float32"
	for _, name := range []string{"float16", "bfloat16"} {
		if count[name] > count[best] {
			best = name
		}
	}
	return best
}
