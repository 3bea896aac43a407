package tokenizer

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// ToGGUF returns the metadata of a GGUF file for the tokenizer.json of a folder, or else for its
// tokenizer.model, spiece.model or sentencepiece.bpe.model, with the roles of tokens and the chat
// templates of the files beside it. The vocabulary is made as long as tokens, the rows of the
// embedding; 0 for no matter how long. If the folder has none of the files, the error is
// fs.ErrNotExist. If the metadata cannot say what the folder says, the error names it.
//
// Programs that read GGUF do not normalize text to NFC, put a blank before texts that begin with
// one too, and keep the first letter alone where accents go; texts with these have other ids there.
func ToGGUF(ctx context.Context, folder fs.FS, tokens int, o Options) (meta []graph.Pair, err error) {
	defer guard.At("").End(&err)
	defer caught(&err)
	check(ctx.Err())
	names := append([]string{"tokenizer.json"}, sentencePieceNames...)
	size := 0
	for _, name := range names {
		if info, err := fs.Stat(folder, name); err == nil {
			size = int(min(info.Size(), math.MaxInt))
			break
		}
	}
	w := o.Limit.work(ctx, readRate, size)
	i := &importer{work: w, folder: folder}
	name, data, err := i.first(names)
	if err != nil {
		return nil, err
	}
	if name == "tokenizer.json" {
		err = i.document(data, tokens)
	} else {
		err = i.sentencePiece(data, tokens)
	}
	if err == nil {
		err = i.finish()
	}
	if err != nil {
		return nil, &fileError{name, err}
	}
	if err := i.beside(); err != nil {
		return nil, err
	}
	return i.meta, nil
}

// importer makes metadata of the files of a folder.
type importer struct {
	work   *work
	folder fs.FS
	t      *Tokenizer
	tokens []string
	types  []int32
	scores []float32
	meta   []graph.Pair
}

// read reads a file of a bounded size.
func (i *importer) read(name string) ([]byte, error) {
	f, err := i.folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, &fileError{name, fmt.Errorf("the file has %d bytes: at most %d are allowed", info.Size(), maxFile)}
	}
	i.work.hold(int(info.Size()))
	return io.ReadAll(io.LimitReader(f, info.Size()))
}

// first reads the first of several files that is there.
func (i *importer) first(names []string) (name string, data []byte, err error) {
	for _, name = range names {
		if data, err = i.read(name); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return name, data, err
}

// add adds a pair under a key without ggufPrefix.
func (i *importer) add(key, kind string, data *tensor.Tensor) {
	i.meta = append(i.meta, graph.Pair{Key: ggufPrefix + key, Kind: kind, Data: data})
}

func (i *importer) text(key, value string) {
	i.meta = append(i.meta, graph.Pair{Key: ggufPrefix + key, Kind: "string", Value: value})
}

func (i *importer) flag(key string, value bool) {
	t := tensor.New(tensor.Bool)
	if value {
		t.Bytes()[0] = 1
	}
	i.add(key, "bool", t)
}

// addList adds a list of numbers.
func addList[T int32 | float32](i *importer, key, kind string, d tensor.DType, values []T) {
	i.work.hold(4 * len(values))
	t := tensor.New(d, len(values))
	copy(tensor.View[T](t), values)
	i.add(key, kind, t)
}

// texts adds a list of texts.
func (i *importer) texts(key string, values []string) error {
	i.work.hold(16 * len(values))
	t, err := tensor.FromStrings(values, len(values))
	i.add(key, "array of string", t)
	return err
}

// modelFile is the model of a tokenizer.json.
type modelFile struct {
	kind
	Vocab        json.RawMessage `json:"vocab"`
	Merges       mergeList       `json:"merges"`
	ByteFallback bool            `json:"byte_fallback"`
	IgnoreMerges bool            `json:"ignore_merges"`
	Unk          json.RawMessage `json:"unk_token"`
	UnkID        *int64          `json:"unk_id"`
	Prefix       *string         `json:"continuing_subword_prefix"`
	Suffix       *string         `json:"end_of_word_suffix"`
}

// document adds the pairs of a tokenizer.json.
func (i *importer) document(data []byte, tokens int) error {
	t, err := readJSON(i.work, data) // reports faults
	if err != nil {
		return err
	}
	var d document
	var m modelFile
	i.work.json(data)
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	if err := json.Unmarshal(d.Model, &m); err != nil {
		return fmt.Errorf("model: %w", err)
	}
	i.t = t
	if err := i.vocabulary(tokens); err != nil {
		return err
	}
	s, err := stepsOf(&d)
	if err != nil {
		return err
	}
	name := m.Type
	if name == "" {
		name = guessModel(d.Model)
	}
	switch {
	case name == "BPE" && s.bytes:
		err = i.bytePairs(&m, s)
	case name == "BPE":
		err = i.pieces(&m, s)
	case name == "WordPiece":
		err = i.words(&m, &d)
	case name == "Unigram":
		err = i.unigram(&m, &d, s)
	default:
		err = fmt.Errorf("the model %.60s has no counterpart in GGUF", name)
	}
	return err
}

// finish adds the tokens, and the tokens around a text.
func (i *importer) finish() error {
	if err := i.texts("tokens", i.tokens); err != nil {
		return err
	}
	addList(i, "token_type", "array of i32", tensor.I32, i.types)
	if i.scores != nil {
		addList(i, "scores", "array of f32", tensor.F32, i.scores)
	}
	return i.around()
}

// vocabulary finds the tokens and their types. Ids without a token are unused.
func (i *importer) vocabulary(tokens int) error {
	n := max(len(i.t.vocab.list), int(i.t.added.largest)+1)
	if tokens != 0 && n > tokens {
		return fmt.Errorf("the vocabulary has %d ids, and the embedding of the model %d rows", n, tokens)
	}
	n = max(n, tokens)
	i.work.hold(ggufTokenBytes * n)
	i.tokens, i.types = make([]string, n), make([]int32, n)
	met := make(map[string]bool, n)
	for id := range i.tokens {
		text, ok := i.t.Token(int32(id))
		kind := int32(pieceNormal)
		switch a, added := i.t.added.tokens[int32(id)]; {
		case added && a.Special:
			kind = pieceControl
		case added:
			kind = pieceUserDefined
		case !ok:
			text, kind = fmt.Sprintf("[PAD%d]", id), pieceUnused
		}
		if met[text] {
			return fmt.Errorf("the token %.60q is there twice", text)
		}
		met[text] = true
		i.tokens[id], i.types[id] = text, kind
	}
	return nil
}

// around adds whether the beginning and the end are put around a text, and their ids.
func (i *importer) around() error {
	var before, after []int32
	for _, p := range i.t.post {
		before, after = append(before, p.before...), append(after, p.after...)
	}
	if len(before) > 1 || len(after) > 1 {
		return fmt.Errorf("post_processor: %d ids before a text and %d after it, and a file of GGUF has one at most", len(before), len(after))
	}
	for _, x := range []struct {
		ids       []int32
		key, role string
	}{{before, "add_bos_token", "bos_token_id"}, {after, "add_eos_token", "eos_token_id"}} {
		i.flag(x.key, len(x.ids) > 0)
		if len(x.ids) > 0 {
			i.role(x.role, x.ids[0])
		}
	}
	return nil
}

// role adds the id of a role, unless there is one.
func (i *importer) role(key string, id int32) {
	if slices.ContainsFunc(i.meta, func(p graph.Pair) bool { return p.Key == ggufPrefix+key }) {
		return
	}
	t := tensor.New(tensor.U32)
	tensor.View[uint32](t)[0] = uint32(id)
	i.add(key, "u32", t)
}

// bytePairs adds byte pair encoding on bytes.
func (i *importer) bytePairs(m *modelFile, s *steps) error {
	if text(m.Prefix) != "" || text(m.Suffix) != "" || m.ByteFallback {
		return errors.New("model BPE: a prefix, a suffix or byte_fallback has no place beside ByteLevel in GGUF")
	}
	if s.normal != "" && s.normal != "NFC" {
		return fmt.Errorf("normalizer %s has no place beside ByteLevel in GGUF", s.normal)
	}
	at := slices.IndexFunc(ggufSplitList, func(g ggufSplit) bool {
		return !g.raw && g.whole == m.IgnoreMerges && slices.Equal(g.by, s.by)
	})
	if at < 0 {
		return fmt.Errorf("pre_tokenizer: the expressions %.300q, with ignore_merges %v, have no name in GGUF", s.by, m.IgnoreMerges)
	}
	names := strings.Fields(ggufSplitList[at].names)
	name := names[0]
	if slices.Contains(names, "llama-bpe") {
		name = "llama-bpe"
	}
	i.text("model", "gpt2")
	i.text("pre", name)
	merges := make([]string, len(m.Merges))
	i.work.hold(ggufMergeBytes * len(merges))
	for k, pair := range m.Merges {
		if strings.Contains(pair[0], " ") || strings.Contains(pair[1], " ") || pair[0] == "" || pair[1] == "" {
			return fmt.Errorf("model BPE: merge %d is %.60q, and in GGUF its tokens have no blanks", k, pair)
		}
		merges[k] = pair[0] + " " + pair[1]
	}
	return i.texts("merges", merges)
}

// pieces adds SentencePiece's byte pair encoding. The order of merges becomes the scores of the
// tokens that they make.
func (i *importer) pieces(m *modelFile, s *steps) error {
	switch {
	case !m.ByteFallback || s.mark != blankMark:
		return errors.New("model BPE: neither the steps of bytes nor those of SentencePiece are there: GGUF has ByteLevel, or byte_fallback with " + blankMark + " for blanks")
	case m.IgnoreMerges || text(m.Prefix) != "" || text(m.Suffix) != "":
		return errors.New("model BPE: ignore_merges, a prefix or a suffix has no place beside byte_fallback in GGUF")
	case s.normal != "" || len(s.by) > 0:
		return fmt.Errorf("normalizer %s and the expressions %.300q have no place beside byte_fallback in GGUF", s.normal, s.by)
	}
	i.text("model", "llama")
	i.text("pre", "default")
	i.scores = make([]float32, len(i.tokens))
	for k, pair := range m.Merges {
		if id, ok := i.t.vocab.id(pair[0] + pair[1]); ok && i.scores[id] == 0 {
			i.scores[id] = -float32(k + 1)
		}
	}
	for id, text := range i.tokens {
		if isByteToken(text) {
			i.types[id] = pieceByte
		}
	}
	i.flag("add_space_prefix", s.dummy)
	i.unknown(tokenText(m.Unk))
	return nil
}

// isByteToken reports whether a token is a byte, such as <0x0A>.
func isByteToken(text string) bool {
	return len(text) == 6 && strings.HasPrefix(text, "<0x") && text[5] == '>'
}

// unknown gives a token the role of the unknown one.
func (i *importer) unknown(text string) {
	if id, ok := i.t.ID(text); ok && text != "" {
		i.types[id] = pieceUnknown
		i.role("unknown_token_id", id)
	}
}

// words adds WordPiece.
func (i *importer) words(m *modelFile, d *document) error {
	f := struct {
		kind
		Clean   bool  `json:"clean_text"`
		Chinese bool  `json:"handle_chinese_chars"`
		Accents *bool `json:"strip_accents"`
		Lower   bool  `json:"lowercase"`
	}{Clean: true, Chinese: true, Lower: true}
	if absent(d.Normalizer) || json.Unmarshal(d.Normalizer, &f) != nil || f.Type != "BertNormalizer" || !f.Clean || !f.Chinese {
		return errors.New("normalizer: WordPiece has a BertNormalizer with clean_text and handle_chinese_chars in GGUF")
	}
	prefix := "##"
	if m.Prefix != nil {
		prefix = *m.Prefix
	}
	if prefix == "" {
		return errors.New("model WordPiece: continuing_subword_prefix is empty, and in GGUF tokens within words differ from others")
	}
	met := map[string]int{}
	for id, text := range i.tokens {
		word, within := strings.CutPrefix(text, prefix)
		switch {
		case strings.HasPrefix(text, "[unused") && strings.HasSuffix(text, "]"):
			i.types[id] = pieceUnused
		case i.types[id] != pieceNormal:
		case within:
			i.tokens[id] = word
		default:
			i.tokens[id] = blankMark + text
		}
		if other, twice := met[i.tokens[id]]; twice || i.tokens[id] == "" {
			return fmt.Errorf("the tokens %d and %d are both %.60q in GGUF", other, id, i.tokens[id])
		}
		met[i.tokens[id]] = id
	}
	i.text("model", "bert")
	i.text("pre", "default")
	i.flag("normalizer.lowercase", f.Lower)
	accents := f.Lower
	if f.Accents != nil {
		accents = *f.Accents
	}
	i.flag("normalizer.strip_accents", accents)
	i.unknown(tokenText(m.Unk))
	if len(i.t.post) != 1 || len(i.t.post[0].before) != 1 || len(i.t.post[0].after) != 1 {
		return errors.New("post_processor: texts of WordPiece are between two tokens in GGUF")
	}
	i.role("cls_token_id", i.t.post[0].before[0])
	i.role("seperator_token_id", i.t.post[0].after[0])
	return nil
}

// unigram adds the model of scores.
func (i *importer) unigram(m *modelFile, d *document, s *steps) error {
	var pairs []scoredPair
	if err := json.Unmarshal(m.Vocab, &pairs); err != nil {
		return fmt.Errorf("model Unigram: %w", err)
	}
	switch {
	case m.ByteFallback:
		return errors.New("model Unigram: byte_fallback has no place in GGUF")
	case s.mark != blankMark:
		return fmt.Errorf("pre_tokenizer: Unigram has a Metaspace with %s in GGUF", blankMark)
	case s.normal != "" || len(s.by) > 0:
		return fmt.Errorf("normalizer %s and the expressions %.300q have no place beside Unigram in GGUF", s.normal, s.by)
	}
	i.text("model", "t5")
	i.text("pre", "default")
	i.scores = make([]float32, len(i.tokens))
	for k, p := range pairs {
		i.scores[k] = float32(p.score)
	}
	if s.charsmap != "" {
		data, err := base64.StdEncoding.DecodeString(s.charsmap)
		if err != nil {
			return fmt.Errorf("precompiled_charsmap: %w", err)
		}
		i.work.hold(len(data))
		t := tensor.New(tensor.U8, len(data))
		copy(t.Bytes(), data)
		i.add("precompiled_charsmap", "array of u8", t)
	}
	i.flag("add_space_prefix", s.dummy)
	i.flag("remove_extra_whitespaces", s.squeeze)
	if m.UnkID != nil && *m.UnkID >= 0 && *m.UnkID < int64(len(i.tokens)) {
		i.unknown(i.tokens[*m.UnkID])
	}
	return nil
}

// ids adds the roles with ids in config.json, if no other file has them. Of several ids the first
// counts.
func (i *importer) ids() error {
	var c map[string]json.RawMessage
	switch data, err := i.read("config.json"); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	default:
		i.work.json(data)
		if err := json.Unmarshal(data, &c); err != nil {
			return &fileError{"config.json", err}
		}
	}
	for _, x := range [][2]string{{"bos_token_id", "bos_token_id"}, {"eos_token_id", "eos_token_id"}, {"pad_token_id", "padding_token_id"}} {
		var id int64
		var list []int64
		if json.Unmarshal(c[x[0]], &list) == nil && len(list) > 0 {
			id = list[0]
		} else if absent(c[x[0]]) || json.Unmarshal(c[x[0]], &id) != nil {
			continue
		}
		if id >= 0 && id < int64(len(i.tokens)) {
			i.role(x[1], int32(id))
		}
	}
	return nil
}

// beside adds the roles of tokens and the chat templates.
func (i *importer) beside() error {
	var c map[string]json.RawMessage
	data, err := i.read("tokenizer_config.json")
	if err == nil {
		i.work.json(data)
		if err := json.Unmarshal(data, &c); err != nil {
			return &fileError{"tokenizer_config.json", err}
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, x := range [][2]string{{"bos_token", "bos"}, {"eos_token", "eos"}, {"unk_token", "unknown"}, {"pad_token", "padding"}, {"sep_token", "seperator"},
		{"cls_token", "cls"}, {"mask_token", "mask"}} {
		if id, ok := i.t.ID(tokenText(c[x[0]])); ok {
			i.role(x[1]+"_token_id", id)
		}
	}
	if err := i.ids(); err != nil {
		return err
	}
	chat := &Chat{templates: map[string]string{}}
	switch data, err := i.read("chat_template.jinja"); {
	case err == nil:
		chat.templates["default"] = string(data)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	default:
		if err := chat.named(c["chat_template"]); err != nil {
			return &fileError{"tokenizer_config.json", fmt.Errorf("chat_template: %w", err)}
		}
	}
	var names []string
	for name := range chat.templates {
		if name != "default" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Insert(slices.Clone(names), 0, "default") {
		text, ok := chat.templates[name]
		switch {
		case !ok:
			continue
		case len(text) > maxTemplate || !utf8.ValidString(text):
			return &fileError{"tokenizer_config.json", fmt.Errorf("the chat template %.60q has %d bytes: at most %d of UTF-8 are allowed", name, len(text), maxTemplate)}
		}
		key := chatKey
		if name != "default" {
			key += "." + name
		}
		i.meta = append(i.meta, graph.Pair{Key: key, Kind: "string", Value: text})
	}
	if len(names) > 0 {
		t, err := tensor.FromStrings(names, len(names))
		if err != nil {
			return err
		}
		i.meta = append(i.meta, graph.Pair{Key: chatKey + "s", Kind: "array of string", Data: t})
	}
	return nil
}
