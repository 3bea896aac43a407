package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/generate/tokenizer"
	"github.com/nacre-ml/nacre/internal/beneath"
	"github.com/nacre-ml/nacre/internal/printable"
)

// decoderFlags are the flags of commands that generate text.
type decoderFlags struct {
	session   sessionFlags
	tokenizer string
	greedy    bool
	sampling  generate.Sampling
	window    int
	noCache   bool
	cache     string
	changed   func(name string) bool
}

// addChoice adds the flags that say how tokens are chosen.
func (f *decoderFlags) addChoice(flags *pflag.FlagSet, tokens int) {
	flags.StringVar(&f.tokenizer, "tokenizer", "", "`FILE` or folder with the tokenizer (tokenizer.json, "+
		"tokenizer.model, ...)")
	s := &f.sampling
	flags.IntVar(&s.MaxTokens, "max-tokens", tokens,
		"tokens that are generated at most; 0 for as many as the window has room for")
	flags.BoolVar(&f.greedy, "greedy", false, "take the likeliest token, whatever the model's folder says")
	flags.Float64Var(&s.Temperature, "temperature", 0, "number that logits are divided by; 0 takes the likeliest token")
	flags.IntVar(&s.TopK, "top-k", 0, "keep the K likeliest tokens; 0 for all")
	flags.Float64Var(&s.TopP, "top-p", 0, "keep the likeliest tokens that together have probability P; 0 for all")
	flags.Float64Var(&s.MinP, "min-p", 0, "keep tokens of at least P times the probability of the likeliest; 0 for all")
	flags.Float64Var(&s.RepetitionPenalty, "repetition-penalty", 1, "number above 1 that makes earlier tokens less likely")
	flags.Float64Var(&s.PresencePenalty, "presence-penalty", 0, "number taken from logits of tokens that were generated")
	flags.Float64Var(&s.FrequencyPenalty, "frequency-penalty", 0, "the same, as often as they were")
	flags.StringArrayVar(&s.Stop, "stop", nil, "`TEXT` that ends a continuation; may be repeated")
}

// addDecoder adds the flags that say how the decoder runs.
func (f *decoderFlags) addDecoder(flags *pflag.FlagSet) {
	flags.IntVar(&f.window, "window", 0, "most tokens that the decoder sees; 0 for the window in its files")
	flags.BoolVar(&f.noCache, "no-cache", false, "compute all tokens again for each new one")
	flags.StringVar(&f.cache, "cache", "", "element `TYPE` of the cache of keys and values: f16 takes half the memory of f32, "+
		"int8 about a quarter (default the model's)")
	f.session.add(flags)
	flags.Lookup("seed").Usage = "seed of the random numbers, and of weights that the file leaves to chance"
}

// sample lists the flags that choose among tokens. Each of them needs a temperature.
var sample = []string{"top-k", "top-p", "min-p"}

// choice returns the sampling for a prompt of this many tokens. Flags that are given replace the
// settings of the files beside the model. Without --max-tokens, tokens end with the window unless
// it slides.
func (f *decoderFlags) choice(d *decoding, prompt int) generate.Sampling {
	s, files, o := f.sampling, &d.files, &d.options
	s.Seed = f.session.seed
	for _, x := range []struct {
		name string
		keep func()
	}{
		{"temperature", func() { s.Temperature = files.Temperature }}, {"top-k", func() { s.TopK = files.TopK }},
		{"top-p", func() { s.TopP = files.TopP }}, {"min-p", func() { s.MinP = files.MinP }},
		{"repetition-penalty", func() { s.RepetitionPenalty = files.RepetitionPenalty }},
	} {
		if !f.changed(x.name) {
			x.keep()
		}
	}
	for _, name := range sample {
		if f.changed(name) && !f.changed("temperature") && s.Temperature == 0 {
			s.Temperature = 1
		}
	}
	if f.greedy {
		s.Temperature = 0
	}
	if !f.changed("max-tokens") && s.MaxTokens > 0 && o.Window > 0 && !o.Slide {
		s.MaxTokens = max(1, min(s.MaxTokens, o.Window-prompt+1))
	}
	return s
}

// cacheTypes lists the values of --cache.
var cacheTypes = map[string]nacre.DType{"": nacre.Invalid, "f16": nacre.Float16, "int8": nacre.Int8}

// check returns an error for flags that are wrong for every model.
func (f *decoderFlags) check() error {
	if f.window < 0 {
		return usagef("--window %d: it is negative", f.window)
	}
	if _, ok := cacheTypes[f.cache]; !ok {
		return usagef("--cache %s: it takes f16 or int8; without it the cache has the model's type", f.cache)
	}
	if err := f.sampling.Validate(); err != nil {
		return usageError{err}
	}
	return nil
}

// decoding is a decoder with the settings beside it.
type decoding struct {
	model   *nacre.Model
	folder  string
	options generate.Options
	files   generate.Sampling // how the settings choose tokens
	session nacre.Options
}

// open opens the model that path names. The caller closes it.
func (f *decoderFlags) open(ctx context.Context, path string) (_ *decoding, err error) {
	d := &decoding{}
	if d.session, err = f.session.options(); err != nil {
		return nil, err
	}
	d.session.CacheType = cacheTypes[f.cache]
	var file string
	if file, d.folder, err = decoderFile(path); err != nil {
		return nil, err
	}
	if d.model, err = nacre.OpenContext(ctx, file); err != nil {
		return nil, err
	}
	if d.options, d.files, err = generate.SettingsOf(d.model, beneath.FS(d.folder)); err != nil {
		return nil, join(fmt.Errorf("%s: %w", d.folder, err), d.model)
	}
	o := &d.options
	if n := f.session.context; n > 0 {
		o.Original = 0
		if o.Window == 0 || o.Window > n {
			o.Window = n
		}
	}
	if f.window > 0 {
		o.Window = f.window
	}
	o.NoCache = f.noCache
	return d, nil
}

// start returns a generator and its session, which the caller closes. Text is nil if there is no
// tokenizer.
func (d *decoding) start(
	ctx context.Context, text *tokenizer.Tokenizer, stderr io.Writer,
) (*generate.Generator, *nacre.Session, error) {
	if text != nil {
		d.options.Tokenizer = text
		for _, warning := range text.Warnings() {
			printable.Fprintln(stderr, "warning:", warning)
		}
	}
	s, err := d.model.NewSessionContext(ctx, d.session)
	if err != nil {
		return nil, nil, err
	}
	g, err := generate.New(ctx, s, d.options)
	if err != nil {
		return nil, nil, join(err, s)
	}
	return g, s, nil
}

// decoderFile returns the model file that path names and the folder of the files beside it. In a
// folder, the model is the file that genai_config.json names, else model.onnx, else
// onnx/model.onnx. A folder without these is itself the model.
func decoderFile(path string) (file, folder string, err error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return path, filepath.Dir(path), nil
	}
	named, err := generate.DecoderFile(beneath.FS(path))
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", path, err)
	}
	for _, name := range []string{named, "model.onnx", "onnx/model.onnx"} {
		file := filepath.Join(path, filepath.FromSlash(name))
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return file, path, nil
		}
	}
	return path, path, nil
}
