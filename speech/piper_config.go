package speech

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nacre-ml/nacre"
)

// piperConfig is the file VOICE.onnx.json, as far as speaking needs it.
type piperConfig struct {
	Audio struct {
		SampleRate int `json:"sample_rate"`
	} `json:"audio"`
	Espeak struct {
		Voice string `json:"voice"`
	} `json:"espeak"`
	Language struct {
		Code string `json:"code"`
	} `json:"language"`
	Inference struct {
		NoiseScale  *float64 `json:"noise_scale"`
		LengthScale *float64 `json:"length_scale"`
		NoiseW      *float64 `json:"noise_w"`
	} `json:"inference"`
	PhonemeType string `json:"phoneme_type"`
	// PhonemeMap replaces a phoneme by others.
	PhonemeMap map[string][]string `json:"phoneme_map"`
	// PhonemeIDs are the numbers of each phoneme.
	PhonemeIDs map[string][]int64 `json:"phoneme_id_map"`
	Symbols    int                `json:"num_symbols"`
	Speakers   int                `json:"num_speakers"`
	SpeakerIDs map[string]int     `json:"speaker_id_map"`
}

// Bounds of piperConfig. They are far beyond the voices that exist.
const (
	maxPiperConfig   = 4 << 20
	maxPiperSpeakers = 1 << 16
	maxPhonemeIDs    = 16 // of one phoneme
)

// The phonemes around and between the phonemes of a sentence.
const (
	piperPad   = "_"
	piperBegin = "^"
	piperEnd   = "$"
)

// parsePiper reads and checks the file.
func parsePiper(data []byte) (*piperConfig, error) {
	c := &piperConfig{}
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), c); err != nil {
		return nil, errorf(nacre.ErrFormat, "this is no description of a Piper voice: %w", err)
	}
	for _, check := range []func() error{c.checkNumbers, c.checkPhonemes, c.checkSpeakers} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// checkNumbers checks the numbers, and sets missing ones to Piper's own.
func (c *piperConfig) checkNumbers() error {
	if r := c.Audio.SampleRate; r < 1000 || r > maxRate {
		return errorf(nacre.ErrFormat, "audio.sample_rate is %d; it must be from 1000 to %d", r, maxRate)
	}
	for _, x := range []struct {
		name      string
		p         **float64
		otherwise float64
	}{
		{"noise_scale", &c.Inference.NoiseScale, 0.667},
		{"length_scale", &c.Inference.LengthScale, 1},
		{"noise_w", &c.Inference.NoiseW, 0.8},
	} {
		if *x.p == nil {
			*x.p = &x.otherwise
		}
		if v := **x.p; v < 0 || v > 100 || v == 0 && x.p == &c.Inference.LengthScale {
			return errorf(nacre.ErrFormat, "inference.%s is %v; it must be positive and at most 100", x.name, v)
		}
	}
	return nil
}

// checkPhonemes checks the tables of phonemes.
func (c *piperConfig) checkPhonemes() error {
	switch c.PhonemeType {
	case "":
		c.PhonemeType = "espeak"
	case "espeak", "text":
	default:
		return errorf(nacre.ErrUnsupported, "phoneme_type is %q; have espeak or text", c.PhonemeType)
	}
	if len(c.PhonemeIDs) == 0 {
		return errorf(nacre.ErrFormat, "phoneme_id_map is missing, so the voice knows no phonemes")
	}
	for _, p := range []string{piperPad, piperBegin, piperEnd} {
		if len(c.PhonemeIDs[p]) == 0 {
			return errorf(nacre.ErrFormat, "phoneme_id_map has no %q, which every sentence needs", p)
		}
	}
	for p, ids := range c.PhonemeIDs {
		if len(ids) > maxPhonemeIDs {
			return errorf(nacre.ErrFormat, "phoneme_id_map has %d numbers for %q; it has %d at most", len(ids), p, maxPhonemeIDs)
		}
		for _, id := range ids {
			if id < 0 || c.Symbols > 0 && id >= int64(c.Symbols) {
				return errorf(nacre.ErrFormat, "phoneme_id_map has the number %d for %q; num_symbols is %d", id, p, c.Symbols)
			}
		}
	}
	for p, list := range c.PhonemeMap {
		if utf8.RuneCountInString(p) != 1 || len(list) > maxPhonemeIDs {
			return errorf(nacre.ErrFormat, "phoneme_map replaces %q by %d phonemes; have one by at most %d", p, len(list),
				maxPhonemeIDs)
		}
	}
	return nil
}

// checkSpeakers checks the speakers.
func (c *piperConfig) checkSpeakers() error {
	if c.Speakers == 0 {
		c.Speakers = max(1, len(c.SpeakerIDs))
	}
	if c.Speakers < 0 || c.Speakers > maxPiperSpeakers {
		return errorf(nacre.ErrFormat, "num_speakers is %d; it must be from 1 to %d", c.Speakers, maxPiperSpeakers)
	}
	for name, id := range c.SpeakerIDs {
		if id < 0 || id >= c.Speakers {
			return errorf(nacre.ErrFormat, "speaker_id_map has the number %d for %q; num_speakers is %d", id, name, c.Speakers)
		}
	}
	return nil
}

// speakers returns the names of the speakers by number, nil for one speaker.
func (c *piperConfig) speakers() []string {
	if c.Speakers <= 1 {
		return nil
	}
	list := make([]string, c.Speakers)
	for i := range list {
		list[i] = strconv.Itoa(i)
	}
	names := make([]string, 0, len(c.SpeakerIDs))
	for name := range c.SpeakerIDs {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		list[c.SpeakerIDs[name]] = name
	}
	return list
}

// language returns the language for phonemes.
func (c *piperConfig) language() string {
	if c.Espeak.Voice != "" {
		return c.Espeak.Voice
	}
	return c.Language.Code
}

// ids returns the numbers of the phonemes of a sentence, one phoneme a character, and the phonemes
// that the voice does not know. spoken is false if none of the phonemes is a sound.
func (c *piperConfig) ids(text []rune) (ids []int64, unspoken []string, spoken bool) {
	pad := c.PhonemeIDs[piperPad]
	ids = append(append(ids, c.PhonemeIDs[piperBegin]...), pad...)
	add := func(p string) {
		switch list, ok := c.PhonemeIDs[p]; {
		case p == piperPad || p == piperBegin || p == piperEnd:
		case ok:
			ids = append(append(ids, list...), pad...)
			spoken = spoken || isSpoken(p)
		case !slices.Contains(unspoken, p):
			unspoken = append(unspoken, p)
		}
	}
	for _, r := range text {
		p := string(r)
		if list, ok := c.PhonemeMap[p]; ok {
			for _, p := range list {
				add(p)
			}
			continue
		}
		add(p)
	}
	return append(ids, c.PhonemeIDs[piperEnd]...), unspoken, spoken
}

// isSpoken reports whether a phoneme is a sound, and not a stress mark or punctuation.
func isSpoken(p string) bool {
	return strings.ContainsFunc(p, func(r rune) bool {
		return unicode.IsLetter(r) && !unicode.Is(unicode.Lm, r) || unicode.IsDigit(r)
	})
}
