package tokenizer

import (
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// behaviors are the names of behaviors in files.
var behaviors = map[string]behavior{
	"Removed":            removed,
	"Isolated":           isolated,
	"MergedWithPrevious": mergedWithPrevious,
	"MergedWithNext":     mergedWithNext,
	"Contiguous":         contiguous,
}

func (r *reader) pretokenizer(raw json.RawMessage) (pretokenizer, error) {
	name, err := r.enter(raw, "pre_tokenizer")
	if err != nil {
		return nil, err
	}
	p, err := r.onePretokenizer(name, raw)
	if err != nil {
		return nil, fmt.Errorf("pre_tokenizer %.60s: %w", name, err)
	}
	return p, nil
}

// splitStep is the type of a step that splits at a pattern.
const splitStep = "Split"

func (r *reader) onePretokenizer(name string, raw json.RawMessage) (pretokenizer, error) {
	switch name {
	case "Sequence":
		list, err := sequence(r, raw, "pretokenizers", r.pretokenizer)
		return pretokenizers(list), err
	case "ByteLevel":
		return r.byteLevel(raw)
	case "Metaspace":
		return readMetaspace(raw)
	case splitStep:
		return r.splitter(raw)
	case "Whitespace":
		return &cut{inverted{run(wordKind)}, removed}, fields(raw, &kind{})
	case "WhitespaceSplit":
		return &cut{class(unicode.IsSpace), removed}, fields(raw, &kind{})
	case "BertPreTokenizer":
		return pretokenizers{&cut{class(unicode.IsSpace), removed}, &cut{class(isPunctuation), isolated}}, fields(raw, &kind{})
	case "UnicodeScripts":
		return scripts{}, fields(raw, &kind{})
	}
	return readCharacterSplit(name, raw)
}

// readCharacterSplit reads the pre-tokenizers that split at characters of a kind.
func readCharacterSplit(name string, raw json.RawMessage) (pretokenizer, error) {
	f := struct {
		kind
		Behavior   string `json:"behavior"`
		Individual bool   `json:"individual_digits"`
		Delimiter  string `json:"delimiter"`
		Length     int    `json:"length"`
	}{Behavior: "Isolated", Length: 5}
	if err := fields(raw, &f); err != nil {
		return nil, err
	}
	switch name {
	case "Punctuation":
		b, ok := behaviors[f.Behavior]
		if !ok {
			return nil, fmt.Errorf("the behavior %.60q is not supported", f.Behavior)
		}
		return &cut{class(isPunctuation), b}, nil
	case "Digits":
		if f.Individual {
			return &cut{class(unicode.IsNumber), isolated}, nil
		}
		return &cut{class(unicode.IsNumber), contiguous}, nil
	case "CharDelimiterSplit":
		if utf8.RuneCountInString(f.Delimiter) != 1 {
			return nil, fmt.Errorf("the delimiter %.60q is not one character", f.Delimiter)
		}
		return &cut{literal(f.Delimiter), removed}, nil
	case "FixedLength":
		if f.Length < 1 {
			return nil, fmt.Errorf("the length is %d", f.Length)
		}
		return fixedLength{f.Length}, nil
	}
	return nil, fmt.Errorf("the type is not supported")
}

// byteLevelFields are the fields of the three kinds of steps called ByteLevel.
type byteLevelFields struct {
	kind
	Prefix bool  `json:"add_prefix_space"`
	Trim   bool  `json:"trim_offsets"`
	Regex  *bool `json:"use_regex"`
}

func (r *reader) byteLevel(raw json.RawMessage) (pretokenizer, error) {
	f := byteLevelFields{Prefix: true}
	if err := fields(raw, &f); err != nil {
		return nil, err
	}
	b := &byteLevel{prefix: f.Prefix, mapped: true}
	if f.Regex != nil && !*f.Regex {
		return b, nil
	}
	var err error
	b.words, err = pattern(r.work, gpt2)
	return b, err
}

func readMetaspace(raw json.RawMessage) (*metaspace, error) {
	var f struct {
		kind
		Mark   string  `json:"replacement"`
		Add    *bool   `json:"add_prefix_space"`
		Scheme *string `json:"prepend_scheme"`
		Split  *bool   `json:"split"`
		Text   *string `json:"str_rep"`
	}
	if err := fields(raw, &f); err != nil {
		return nil, err
	}
	if utf8.RuneCountInString(f.Mark) != 1 {
		return nil, fmt.Errorf("the replacement %.60q is not one character", f.Mark)
	}
	m := &metaspace{mark: f.Mark, scheme: "always", parts: f.Split == nil || *f.Split}
	if f.Scheme != nil {
		m.scheme = *f.Scheme
	} else if f.Add != nil && !*f.Add {
		m.scheme = "never"
	}
	switch m.scheme {
	case "always", "first", "never":
		return m, nil
	}
	return nil, fmt.Errorf("the prepend_scheme %.60q is not supported", m.scheme)
}

func (r *reader) splitter(raw json.RawMessage) (pretokenizer, error) {
	var f struct {
		kind
		Pattern  textPattern `json:"pattern"`
		Behavior string      `json:"behavior"`
		Invert   bool        `json:"invert"`
	}
	if err := fields(raw, &f); err != nil {
		return nil, err
	}
	b, ok := behaviors[f.Behavior]
	if !ok {
		return nil, fmt.Errorf("the behavior %.60q is not supported", f.Behavior)
	}
	var by cutter
	switch {
	case f.Pattern.Regex != nil:
		c, err := pattern(r.work, *f.Pattern.Regex)
		if err != nil {
			return nil, err
		}
		by = c
	case f.Pattern.String != nil:
		by = literal(*f.Pattern.String)
	default:
		return nil, fmt.Errorf("the pattern is empty")
	}
	if f.Invert {
		by = inverted{by}
	}
	return &cut{by, b}, nil
}
