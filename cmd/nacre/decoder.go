package main

import (
	"context"
	"io"

	"github.com/spf13/pflag"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
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

// choice returns the sampling. Flags that are given replace the settings of the files of the model.
func (f *decoderFlags) choice(files generate.Sampling) generate.Sampling {
	s := f.sampling
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

// open opens the decoder that path names. The caller closes it.
func (f *decoderFlags) open(ctx context.Context, path string, stderr io.Writer) (*generate.Decoder, error) {
	o, err := f.openOptions()
	if err != nil {
		return nil, err
	}
	d, err := generate.Open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	for _, warning := range d.Tokenizer.Warnings() {
		printable.Fprintln(stderr, "warning:", warning)
	}
	return d, nil
}

// openOptions returns the options of the flags.
func (f *decoderFlags) openOptions() (o generate.OpenOptions, err error) {
	if o.Session, err = f.session.options(); err != nil {
		return o, err
	}
	o.Session.CacheType = cacheTypes[f.cache]
	o.Tokenizer = f.tokenizer
	o.Change = func(s *generate.Options) {
		if f.window > 0 {
			s.Window = f.window
		}
		s.NoCache = f.noCache
	}
	return o, nil
}
