package tokenizer

import (
	"encoding/json"
	"fmt"
)

// steps are what the normalizer and the pre-tokenizer of a tokenizer.json do, as far as GGUF has
// words for it.
type steps struct {
	by       []string // expressions that split
	bytes    bool     // words go through the table of bytes
	mark     string   // of blanks; empty if blanks stay
	dummy    bool     // a mark before the text
	squeeze  bool     // runs of blanks become one, and none at the ends
	charsmap string
	normal   string // another normalizer
}

// step is a normalizer or a pre-tokenizer with the fields of all.
type step struct {
	kind
	Normalizers   []json.RawMessage `json:"normalizers"`
	Pretokenizers []json.RawMessage `json:"pretokenizers"`
	Pattern       textPattern       `json:"pattern"`
	Content       string            `json:"content"`
	Behavior      string            `json:"behavior"`
	Invert        bool              `json:"invert"`
	Prefix        *bool             `json:"add_prefix_space"`
	Regex         *bool             `json:"use_regex"`
	Individual    bool              `json:"individual_digits"`
	Prepend       string            `json:"prepend"`
	Map           string            `json:"precompiled_charsmap"`
	Left          bool              `json:"strip_left"`
	Right         bool              `json:"strip_right"`
}

// stepsOf reads the steps of a document, which has been read without an error before.
func stepsOf(d *document) (*steps, error) {
	s := &steps{}
	if !absent(d.Normalizer) {
		if err := s.normalizer(d.Normalizer); err != nil {
			return nil, fmt.Errorf("normalizer: %w", err)
		}
	}
	if !absent(d.PreTokenizer) {
		if err := s.pretokenizer(d.PreTokenizer); err != nil {
			return nil, fmt.Errorf("pre_tokenizer: %w", err)
		}
	}
	return s, nil
}

func (s *steps) normalizer(raw json.RawMessage) error {
	var x step
	if err := json.Unmarshal(raw, &x); err != nil {
		return err
	}
	switch x.Type {
	case "Sequence":
		for _, raw := range x.Normalizers {
			if err := s.normalizer(raw); err != nil {
				return err
			}
		}
	case "Prepend":
		if s.dummy = x.Prepend == blankMark; !s.dummy {
			return fmt.Errorf("a text has %.60q before it, and in GGUF %s or nothing", x.Prepend, blankMark)
		}
	case "Replace":
		switch {
		case x.Pattern.String != nil && *x.Pattern.String == " " && x.Content == blankMark:
			s.mark = blankMark
		case x.Pattern.Regex != nil && *x.Pattern.Regex == blanksAtEnds && x.Content == "":
			s.squeeze = true
		case x.Pattern.Regex != nil && *x.Pattern.Regex == blankRuns && (x.Content == " " || x.Content == blankMark):
			s.squeeze = true
		default:
			return fmt.Errorf("a replacement by %.60q has no place in GGUF", x.Content)
		}
	case "Strip":
		if !x.Right {
			return fmt.Errorf("a Strip of one side has no place in GGUF")
		}
		s.squeeze = true
	case "Precompiled":
		s.charsmap = x.Map
	default:
		s.normal += x.Type
	}
	return nil
}

func (s *steps) pretokenizer(raw json.RawMessage) error {
	var x step
	if err := json.Unmarshal(raw, &x); err != nil {
		return err
	}
	switch x.Type {
	case "Sequence":
		for _, raw := range x.Pretokenizers {
			if err := s.pretokenizer(raw); err != nil {
				return err
			}
		}
	case splitStep:
		switch {
		case x.Pattern.String != nil && *x.Pattern.String == " " && s.mark != "": // no blanks are left
		case x.Pattern.Regex != nil && !x.Invert && x.Behavior == "Isolated",
			x.Pattern.Regex != nil && x.Invert && x.Behavior == "Removed": // the same for expressions that match all
			s.by = append(s.by, *x.Pattern.Regex)
		default:
			return fmt.Errorf("a Split of the behavior %.60q has no place in GGUF", x.Behavior)
		}
	case "ByteLevel":
		if x.Prefix == nil || *x.Prefix {
			return fmt.Errorf("a ByteLevel with add_prefix_space has no place in GGUF")
		}
		if s.bytes = true; x.Regex == nil || *x.Regex {
			s.by = append(s.by, gpt2)
		}
	case "Digits":
		if !x.Individual {
			return fmt.Errorf("a Digits without individual_digits has no place in GGUF")
		}
		s.by = append(s.by, oneNumber)
	case "Metaspace":
		m, err := readMetaspace(raw)
		if err != nil {
			return err
		}
		s.mark, s.dummy = m.mark, m.scheme != "never"
	case "BertPreTokenizer":
	case "WhitespaceSplit": // before a Metaspace
		s.squeeze = true
	default:
		return fmt.Errorf("%.60s has no place in GGUF", x.Type)
	}
	return nil
}
