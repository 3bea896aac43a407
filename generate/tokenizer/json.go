package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Bounds of a file's steps: their parts, all sequences together, and how deep they are nested.
const (
	maxParts = 256
	maxDepth = 16
)

// A document is a tokenizer.json.
type document struct {
	Version       string          `json:"version"`
	Truncation    json.RawMessage `json:"truncation"`
	Padding       json.RawMessage `json:"padding"`
	AddedTokens   []AddedToken    `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Decoder       json.RawMessage `json:"decoder"`
	Model         json.RawMessage `json:"model"`
}

// A reader counts the parts of a document.
type reader struct {
	work         *work
	parts, depth int
	growth       int // how many times longer steps may make a text
	around       int // ids around a text
	vocab        *vocabulary
}

// maxAround bounds the ids that a file puts around a text.
const maxAround = 1 << 12

// surrounds counts ids around a text.
func (r *reader) surrounds(ids int) error {
	if r.around += ids; r.around > maxAround {
		return fmt.Errorf("more than %d ids are put around a text", maxAround)
	}
	return nil
}

// maxGrowth bounds how many times longer the steps of a file may make a text.
const maxGrowth = 1 << 14

// grows counts a step that makes a text longer by at most a factor of times.
func (r *reader) grows(times int) error {
	if r.growth = max(r.growth, 1) * max(times, 1); r.growth > maxGrowth {
		return fmt.Errorf("the steps of the file make texts more than %d times longer", maxGrowth)
	}
	return nil
}

// enter counts a part and reads its type.
func (r *reader) enter(raw json.RawMessage, what string) (string, error) {
	r.parts++
	if r.parts > maxParts {
		return "", fmt.Errorf("%s: a file may have %d parts of its steps", what, maxParts)
	}
	if r.depth > maxDepth {
		return "", fmt.Errorf("%s: sequences may stand %d deep in one another", what, maxDepth)
	}
	r.work.json(raw)
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	return head.Type, nil
}

// fields reads a part into a struct. Its field Type takes the type. A field that the struct lacks
// is an error.
func fields(raw json.RawMessage, to any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(to)
}

// absent reports whether a file leaves out a part.
func absent(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

// kind is the field that every part has.
type kind struct {
	Type string `json:"type"`
}

// sequence reads the parts of a sequence. The name of its field differs among the kinds of steps.
func sequence[T any](r *reader, raw json.RawMessage, field string, read func(json.RawMessage) (T, error)) ([]T, error) {
	var part map[string]json.RawMessage
	if err := json.Unmarshal(raw, &part); err != nil {
		return nil, err
	}
	var list []json.RawMessage
	if err := json.Unmarshal(part[field], &list); err != nil {
		return nil, fmt.Errorf("field %s: %w", field, err)
	}
	r.depth++
	defer func() { r.depth-- }()
	steps := make([]T, 0, min(len(list), maxParts))
	for _, raw := range list {
		step, err := read(raw)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// readDocument makes a tokenizer of a tokenizer.json.
func readDocument(w *work, data []byte) (*Tokenizer, error) {
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	r := &reader{work: w}
	t := &Tokenizer{}
	if absent(d.Model) {
		return nil, fmt.Errorf("the file has no model")
	}
	var err error
	if t.model, err = r.model(d.Model); err != nil {
		return nil, err
	}
	t.vocab = r.vocab
	if !absent(d.Normalizer) {
		if t.normal, err = r.normalizer(d.Normalizer); err != nil {
			return nil, err
		}
	}
	if t.added, err = newAdded(w, t.vocab, d.AddedTokens, t.normal); err != nil {
		return nil, err
	}
	if !absent(d.PreTokenizer) {
		if t.split, err = r.pretokenizer(d.PreTokenizer); err != nil {
			return nil, err
		}
		t.fuseBytes()
	}
	if !absent(d.PostProcessor) {
		if t.post, err = r.postprocessor(d.PostProcessor); err == nil {
			err = t.checkPost()
		}
		if err != nil {
			return nil, err
		}
	}
	if t.truncation, err = readTruncation(d.Truncation); err != nil {
		return nil, err
	}
	if t.padding, err = readPadding(d.Padding); err != nil {
		return nil, err
	}
	r.growth = 1
	if !absent(d.Decoder) {
		if t.decoder, err = r.decoder(d.Decoder); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// checkPost checks that the ids around a text have tokens.
func (t *Tokenizer) checkPost() error {
	for _, p := range t.post {
		for _, s := range slices.Concat(p.single(), p.pair()) {
			for _, id := range s.ids {
				if _, ok := t.Token(id); !ok {
					return fmt.Errorf("post_processor: no token has the id %d", id)
				}
			}
		}
	}
	return nil
}

// fuseBytes moves the table of bytes of a last pre-tokenizer ByteLevel to the model. There it is
// used once for each new word.
func (t *Tokenizer) fuseBytes() {
	last := t.split
	if list, ok := last.(pretokenizers); ok && len(list) > 0 {
		last = list[len(list)-1]
	}
	if b, ok := last.(*byteLevel); ok {
		b.mapped, t.bytes = false, true
	}
}
