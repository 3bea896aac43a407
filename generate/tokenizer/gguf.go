package tokenizer

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// FromGGUF returns the tokenizer in the metadata of a GGUF file (Model.Source().Meta of an open
// model of package nacre), with its chat templates, the ids that end a text and the roles of
// tokens. Ids are the ones of llama.cpp, but words are split by the expressions that vocabularies
// were made with. If the metadata has no tokenizer, the error is fs.ErrNotExist. If it is past the
// limits of o, the error is ErrLimit.
func FromGGUF(ctx context.Context, meta []graph.Pair, o Options) (t *Tokenizer, err error) {
	defer guard.At("").End(&err)
	defer caught(&err)
	check(ctx.Err())
	w := o.Limit.work(ctx, readRate, footprint(meta))
	if t, err = newGGUFMeta(w, meta).tokenizer(); err != nil {
		return nil, err
	}
	w.countOpen()
	t.limit = o.Limit
	return t, nil
}

// A ggufKind is a value of tokenizer.ggml.model.
type ggufKind struct {
	name string
	ids  map[string]int32 // of roles, if the file does not give them
	make func(*gguf)
}

// ggufKinds are the kinds of tokenizers.
var ggufKinds = []ggufKind{
	{"llama", map[string]int32{"bos": 1, "eos": 2, "unknown": 0}, (*gguf).pieces},
	{"gpt2", nil, func(g *gguf) { g.bytePairs(g.split()) }},
	{"bert", map[string]int32{"bos": 101, "unknown": 100, "separator": 102, "padding": 0, "mask": 103}, (*gguf).words},
	{"t5", map[string]int32{"eos": 1, "unknown": 2, "padding": 0}, (*gguf).unigram},
	{"rwkv", nil, (*gguf).longest},
	{"gemma4", nil, func(g *gguf) { g.bytePairs(ggufSplits()["gemma4"]) }},
}

const wayOut = "the tokenizer.json that the file was made from may be used instead"

// A gguf makes a tokenizer of metadata.
type gguf struct {
	*ggufMeta
	kind   *ggufKind
	tokens []string
	kinds  []uint8 // the types of pieces of SentencePiece
	scores []float32
	roles  map[string]int32
	t      *Tokenizer

	addBOS, addEOS bool // what the kind asks for by default
	alwaysBOS      bool // whatever the file asks for
}

func (m *ggufMeta) tokenizer() (*Tokenizer, error) {
	name, ok := m.text(ggufPrefix + "model")
	whole, has := m.text("tokenizer.huggingface.json")
	switch {
	case m.err != nil:
		return nil, m.err
	case has && !ok:
		return m.finished(readJSON(m.work, []byte(whole)))
	case !ok, name == "none", name == "no_vocab":
		return nil, fmt.Errorf("the metadata has no tokenizer: %smodel is missing or none: %w", ggufPrefix, fs.ErrNotExist)
	}
	i := slices.IndexFunc(ggufKinds, func(k ggufKind) bool { return k.name == name })
	if i < 0 {
		names := make([]string, len(ggufKinds))
		for i, k := range ggufKinds {
			names[i] = k.name
		}
		return nil, fmt.Errorf("%smodel is %.60q, which is not supported: %s are; %s", ggufPrefix, name, strings.Join(names, ", "), wayOut)
	}
	g := &gguf{ggufMeta: m, kind: &ggufKinds[i], t: &Tokenizer{}}
	m.made = g
	for _, step := range []func(){
		g.vocabulary, func() { g.setRoles(ggufKinds[i].ids) }, g.setEnds,
		func() { ggufKinds[i].make(g) }, g.setAdded, g.setAround, g.setSuppressed,
	} {
		if step(); m.err != nil {
			return nil, m.err
		}
	}
	g.t.roles = g.roles
	return m.finished(g.t, nil)
}

// finished gives a tokenizer the chat templates and the warnings.
func (m *ggufMeta) finished(t *Tokenizer, err error) (*Tokenizer, error) {
	if err != nil {
		return nil, err
	}
	t.chat = m.chat(t)
	t.warnings = m.warnings
	return t, m.err
}

// chatKey is the key of the default template. The keys of others have their names after it.
const chatKey = "tokenizer.chat_template"

// chat returns the templates, or nil if there are none.
func (m *ggufMeta) chat(t *Tokenizer) *Chat {
	chat := &Chat{templates: map[string]string{}, tokens: map[string]string{}}
	for _, key := range slices.Sorted(maps.Keys(m.pairs)) {
		name, ok := strings.CutPrefix(key, chatKey)
		if !ok || name != "" && name[0] != '.' {
			continue
		}
		text, _ := m.text(key)
		if len(text) > maxTemplate {
			m.fail("%.80s has %d bytes: at most %d are allowed", key, len(text), maxTemplate)
		}
		m.work.hold(len(text))
		chat.templates[strings.TrimPrefix(name, ".")] = strings.Clone(text)
	}
	if len(chat.templates) == 0 {
		return nil
	}
	if text, ok := chat.templates[""]; ok {
		delete(chat.templates, "")
		chat.templates["default"] = text
	}
	for name, role := range chatRoles {
		if id, ok := t.roles[role]; ok {
			chat.tokens[name], _ = t.Token(id)
		}
	}
	return chat
}

// chatRoles are the roles of tokens that templates name.
var chatRoles = map[string]string{"bos_token": "bos", "eos_token": "eos", "unk_token": "unknown", "pad_token": "padding"}
