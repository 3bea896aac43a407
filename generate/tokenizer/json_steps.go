package tokenizer

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// forms are the normalizers without fields.
var forms = map[string]normalizer{
	"NFC":          unicodeForm(norm.NFC),
	"NFD":          unicodeForm(norm.NFD),
	"NFKC":         unicodeForm(norm.NFKC),
	"NFKD":         unicodeForm(norm.NFKD),
	"Lowercase":    lowercase{},
	"StripAccents": stripAccents{},
	"Nmt":          nmt{},
	"ByteLevel":    byteLevels{},
}

// formGrowth is how many times longer the normalizers without fields may make a text.
var formGrowth = map[string]int{"NFC": 3, "NFD": 4, "NFKC": 11, "NFKD": 11, "Lowercase": 2, "ByteLevel": 2}

func (r *reader) normalizer(raw json.RawMessage) (normalizer, error) {
	name, err := r.enter(raw, "normalizer")
	if err != nil {
		return nil, err
	}
	n, err := r.oneNormalizer(name, raw)
	if err != nil {
		return nil, fmt.Errorf("normalizer %.60s: %w", name, err)
	}
	return n, nil
}

func (r *reader) oneNormalizer(name string, raw json.RawMessage) (normalizer, error) {
	if n, ok := forms[name]; ok {
		if err := r.grows(formGrowth[name]); err != nil {
			return nil, err
		}
		return n, fields(raw, &kind{})
	}
	switch name {
	case "Sequence":
		list, err := sequence(r, raw, "normalizers", r.normalizer)
		return normalizers(list), err
	case "Strip":
		var f struct {
			kind
			Left  bool `json:"strip_left"`
			Right bool `json:"strip_right"`
		}
		err := fields(raw, &f)
		return stripSpaces{f.Left, f.Right}, err
	case "Prepend":
		var f struct {
			kind
			Prepend string `json:"prepend"`
		}
		err := fields(raw, &f)
		return prepend{f.Prepend}, err
	case "Replace":
		return r.replacement(raw)
	case "BertNormalizer":
		return bertNormalizer(raw)
	case "Precompiled":
		var f struct {
			kind
			Map string `json:"precompiled_charsmap"`
		}
		if err := fields(raw, &f); err != nil {
			return nil, err
		}
		r.work.hold(len(f.Map))
		data, err := base64.StdEncoding.DecodeString(f.Map)
		if err != nil {
			return nil, err
		}
		m, err := newCharsMap(r.work, data)
		if err != nil {
			return nil, err
		}
		return precompiled{m}, r.grows(m.longest())
	}
	return nil, fmt.Errorf("the type is not supported")
}

func bertNormalizer(raw json.RawMessage) (normalizer, error) {
	f := struct {
		kind
		Clean   bool  `json:"clean_text"`
		Chinese bool  `json:"handle_chinese_chars"`
		Accents *bool `json:"strip_accents"`
		Lower   bool  `json:"lowercase"`
	}{Clean: true, Chinese: true, Lower: true}
	err := fields(raw, &f)
	b := bert{f.Clean, f.Chinese, f.Lower, f.Lower}
	if f.Accents != nil {
		b.accents = *f.Accents
	}
	return b, err
}

// A textPattern is a text or a regular expression.
type textPattern struct {
	String *string `json:"String"`
	Regex  *string `json:"Regex"`
}

// replacement reads the normalizer and the decoder Replace.
func (r *reader) replacement(raw json.RawMessage) (normalizer, error) {
	var f struct {
		kind
		Pattern textPattern `json:"pattern"`
		Content string      `json:"content"`
	}
	if err := fields(raw, &f); err != nil {
		return nil, err
	}
	switch {
	case f.Pattern.Regex != nil:
		if err := r.grows(1 + len(f.Content)); err != nil {
			return nil, err
		}
		re, err := compile(r.work, *f.Pattern.Regex)
		return replaceRegexp{re, f.Content}, err
	case f.Pattern.String != nil && *f.Pattern.String != "":
		from := *f.Pattern.String
		return replaceString{from, f.Content}, r.grows((len(f.Content) + len(from) - 1) / len(from))
	}
	return nil, fmt.Errorf("the pattern is empty")
}

// postprocessor reads a post-processor for single texts.
func (r *reader) postprocessor(raw json.RawMessage) ([]template, error) {
	name, err := r.enter(raw, "post_processor")
	if err != nil {
		return nil, err
	}
	p, err := r.onePostprocessor(name, raw)
	if err != nil {
		return nil, fmt.Errorf("post_processor %.60s: %w", name, err)
	}
	return p, nil
}

func (r *reader) onePostprocessor(name string, raw json.RawMessage) ([]template, error) {
	switch name {
	case "Sequence":
		lists, err := sequence(r, raw, "processors", r.postprocessor)
		var all []template
		for _, list := range lists {
			all = append(all, list...)
		}
		return all, err
	case "ByteLevel":
		f := byteLevelFields{Prefix: true, Trim: true}
		if err := fields(raw, &f); err != nil || !f.Trim {
			return nil, err
		}
		return []template{{idle: true, trim: true, blank: f.Prefix}}, nil
	case "BertProcessing", "RobertaProcessing":
		f := struct {
			kind
			Sep    tokenPair `json:"sep"`
			Cls    tokenPair `json:"cls"`
			Trim   bool      `json:"trim_offsets"`
			Prefix bool      `json:"add_prefix_space"`
		}{Trim: true, Prefix: true}
		if err := fields(raw, &f); err != nil {
			return nil, err
		}
		t := template{before: []int32{f.Cls.id}, after: []int32{f.Sep.id}, once: true}
		if name == "RobertaProcessing" {
			t.trim, t.blank = f.Trim, f.Prefix
			sep := slot{text: special, ids: t.after}
			t.two = []slot{{text: special, ids: t.before}, {all: true}, sep, sep, {text: 1, all: true}, sep}
		}
		return []template{t}, r.surrounds(2)
	case "TemplateProcessing":
		t, err := r.template(raw)
		return []template{t}, err
	}
	return nil, fmt.Errorf("the type is not supported")
}

// A tokenPair is a token and its id. A file writes it as a list.
type tokenPair struct {
	token string
	id    int32
}

// UnmarshalJSON reads the list.
func (p *tokenPair) UnmarshalJSON(data []byte) error {
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	if len(raw) != 2 {
		return fmt.Errorf("a token has %d values: its text and its id are needed", len(raw))
	}
	if err := json.Unmarshal(raw[0], &p.token); err != nil {
		return err
	}
	return json.Unmarshal(raw[1], &p.id)
}

// decoder reads a decoder as a list of steps.
func (r *reader) decoder(raw json.RawMessage) ([]decoder, error) {
	name, err := r.enter(raw, "decoder")
	if err != nil {
		return nil, err
	}
	d, err := r.oneDecoder(name, raw)
	if err != nil {
		return nil, fmt.Errorf("decoder %.60s: %w", name, err)
	}
	return d, nil
}

func (r *reader) oneDecoder(name string, raw json.RawMessage) ([]decoder, error) {
	switch name {
	case "Sequence":
		lists, err := sequence(r, raw, "decoders", r.decoder)
		all := []decoder{}
		for _, list := range lists {
			all = append(all, list...)
		}
		return all, err
	case "ByteLevel":
		return []decoder{decodeBytes{}}, fields(raw, &byteLevelFields{})
	case "ByteFallback":
		return []decoder{decodeFallback{}}, fields(raw, &kind{})
	case "Fuse":
		return []decoder{decodeFuse{}}, fields(raw, &kind{})
	case "Replace":
		n, err := r.replacement(raw)
		return []decoder{decodeEach{n}}, err
	case "Metaspace":
		m, err := readMetaspace(raw)
		if err != nil {
			return nil, err
		}
		return []decoder{decodeMetaspace{m.mark, m.scheme == "never"}}, nil
	case "WordPiece":
		f := struct {
			kind
			Prefix  string `json:"prefix"`
			Cleanup bool   `json:"cleanup"`
		}{Prefix: "##", Cleanup: true}
		err := fields(raw, &f)
		return []decoder{decodeWordPiece{f.Prefix, f.Cleanup}}, err
	case "BPEDecoder":
		f := struct {
			kind
			Suffix string `json:"suffix"`
		}{Suffix: "</w>"}
		err := fields(raw, &f)
		return []decoder{decodeSuffix{f.Suffix}}, err
	case "Strip":
		return readStrip(raw)
	case "CTC":
		f := struct {
			kind
			Pad     string `json:"pad_token"`
			Word    string `json:"word_delimiter_token"`
			Cleanup bool   `json:"cleanup"`
		}{Pad: "<pad>", Word: "|", Cleanup: true}
		err := fields(raw, &f)
		return []decoder{decodeCTC{f.Pad, f.Word, f.Cleanup}}, err
	}
	return nil, fmt.Errorf("the type is not supported")
}

func readStrip(raw json.RawMessage) ([]decoder, error) {
	var f struct {
		kind
		Content string `json:"content"`
		Start   int    `json:"start"`
		Stop    int    `json:"stop"`
	}
	if err := fields(raw, &f); err != nil {
		return nil, err
	}
	r, size := utf8.DecodeRuneInString(f.Content)
	if size == 0 || size != len(f.Content) || f.Start < 0 || f.Stop < 0 {
		return nil, fmt.Errorf("one character and counts are needed")
	}
	return []decoder{decodeStrip{r, f.Start, f.Stop}}, nil
}
