package generate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/guard"
)

// Files beside a model that say how it generates. Earlier files take precedence.
const (
	genaiFile      = "genai_config.json"
	generationFile = "generation_config.json"
	configFile     = "config.json"
)

// MaxSettings bounds, in bytes, the files of settings that SettingsOf and DecoderFile read.
const MaxSettings = 4 << 20

// SettingsOf returns the settings for generation from a model and the files in its folder: tokens
// that stop, the window, and how to choose tokens. The files are genai_config.json,
// generation_config.json and config.json. Any of them may be missing, and folder may be nil. If a
// file is damaged, the error is nacre.ErrFormat. A GGUF file has its settings in its metadata, and
// the files in its folder are not read.
//
// Sampling is greedy unless the settings ask for sampling.
func SettingsOf(m *nacre.Model, folder fs.FS) (_ Options, _ Sampling, err error) {
	defer guard.At("").End(&err)
	if source := m.Source(); source != nil && source.Format == ggufFormat {
		return gguf(m)
	}
	var o Options
	var s Sampling
	if err := gptrs(m, &o); err != nil || folder == nil {
		return o, s, err
	}
	var g genaiConfig
	if err := read(folder, genaiFile, &g); err != nil {
		return o, s, err
	}
	var generation, config hfConfig
	if err := read(folder, generationFile, &generation); err != nil {
		return o, s, err
	}
	if err := read(folder, configFile, &config); err != nil {
		return o, s, err
	}
	text := config
	if config.Text != nil {
		text = *config.Text
	}
	o.StopIDs = firstIDs(g.Model.EOS, generation.EOS, config.EOS, text.EOS)
	if o.Window == 0 {
		o.Window = max(0, first(g.Model.Context, config.window(), text.window(), config.GPT2Positions))
	}
	o.Original = first(config.original(), text.original())
	o.IDs, o.Logits = g.Model.Decoder.Inputs.IDs, g.Model.Decoder.Outputs.Logits
	c := generation.choice
	if g.Search != (choice{}) {
		c = g.Search
	}
	s = c.sampling()
	if err := s.Validate(); err != nil {
		return o, Sampling{}, fmt.Errorf("the settings beside the model: %w", err)
	}
	return o, s, nil
}

// gptrsFormat is the format of checkpoints of gpt.rs.
const gptrsFormat = "gptrschk"

// gptrs sets the window of checkpoints of gpt.rs.
func gptrs(m *nacre.Model, o *Options) error {
	meta := m.Metadata()
	if meta.Format != gptrsFormat {
		return nil
	}
	text, _ := meta.Lookup("config")
	var c struct {
		Config struct {
			Context int `json:"context_length"`
		} `json:"config"`
	}
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return errorf(nacre.ErrFormat, "%s: configuration: %w", meta.File, err)
	}
	if c.Config.Context > 0 {
		o.Window, o.Slide, o.LastOfEqual = c.Config.Context, true, true
	}
	return nil
}

// genaiConfig is the part of genai_config.json that concerns generation.
type genaiConfig struct {
	Model struct {
		EOS     ids `json:"eos_token_id"`
		Context int `json:"context_length"`
		Decoder struct {
			Filename string `json:"filename"`
			Inputs   struct {
				IDs string `json:"input_ids"`
			} `json:"inputs"`
			Outputs struct {
				Logits string `json:"logits"`
			} `json:"outputs"`
		} `json:"decoder"`
	} `json:"model"`
	Search choice `json:"search"`
}

// hfConfig is the part of generation_config.json and config.json that concerns generation.
type hfConfig struct {
	choice
	positions
	EOS           ids       `json:"eos_token_id"`
	GPT2Positions int       `json:"n_positions"`
	Text          *hfConfig `json:"text_config"`
}

// choice is how files say that tokens are chosen.
type choice struct {
	Sample      bool     `json:"do_sample"`
	Temperature *float64 `json:"temperature"`
	TopK        *int     `json:"top_k"`
	TopP        float64  `json:"top_p"`
	MinP        float64  `json:"min_p"`
	Repetition  float64  `json:"repetition_penalty"`
}

// defaultTopK is the top-k of the package transformers if a file asks for sampling and does not set
// top-k.
const defaultTopK = 50

// sampling returns the choice as Sampling.
func (c choice) sampling() Sampling {
	s := Sampling{RepetitionPenalty: c.Repetition}
	if !c.Sample {
		return s
	}
	s.Temperature, s.TopK, s.TopP, s.MinP = 1, defaultTopK, c.TopP, c.MinP
	if c.Temperature != nil {
		s.Temperature = *c.Temperature
	}
	if c.TopK != nil {
		s.TopK = *c.TopK
	}
	return s
}

// ids is a number, a list of numbers, or null.
type ids []int32

func (l *ids) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	if bytes.HasPrefix(data, []byte("[")) {
		return json.Unmarshal(data, (*[]int32)(l))
	}
	var id int32
	if err := json.Unmarshal(data, &id); err != nil {
		return err
	}
	*l = ids{id}
	return nil
}

// firstIDs returns the first list that is not empty.
func firstIDs(lists ...ids) []int32 {
	for _, l := range lists {
		if len(l) > 0 {
			return l
		}
	}
	return nil
}

// first returns the first number that is not 0.
func first(numbers ...int) int {
	for _, n := range numbers {
		if n != 0 {
			return n
		}
	}
	return 0
}

// read reads a file of settings. If it is missing, v stays as it is.
func read(folder fs.FS, name string, v any) error {
	info, err := fs.Stat(folder, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errorf(nacre.ErrFormat, "%s: it is no regular file", name) // a pipe would make the reader wait
	}
	f, err := folder.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxSettings+1))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > MaxSettings {
		return errorf(nacre.ErrFormat, "%s: more than %d bytes; a file of settings is smaller", name, MaxSettings)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return errorf(nacre.ErrFormat, "%s: %w", name, err)
	}
	return nil
}

// DecoderFile returns the name of the decoder's file from genai_config.json in a folder. If there
// is no such file, or it names none, it returns an empty name.
func DecoderFile(folder fs.FS) (_ string, err error) {
	defer guard.At("").End(&err)
	var g genaiConfig
	if err := read(folder, genaiFile, &g); err != nil {
		return "", err
	}
	name := g.Model.Decoder.Filename
	if name != "" && !fs.ValidPath(name) {
		return "", errorf(nacre.ErrFormat, "%s: the decoder's file is %q, which is no path within the folder", genaiFile, name)
	}
	return name, nil
}
