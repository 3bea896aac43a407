package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/internal/beneath"
	"github.com/nacre-ml/nacre/internal/printable"
)

// generateFlags are the flags of nacre generate.
type generateFlags struct {
	session    sessionFlags
	prompt     string
	promptFile string
	tokens     string
	chat       bool
	messages   string
	tokenizer  string
	greedy     bool
	sampling   generate.Sampling
	count      int
	window     int
	noCache    bool
	cache      string
	json       bool
	changed    func(name string) bool
}

// defaultTokens is the number of tokens to generate, if the window has space for them.
const defaultTokens = 256

func generateCommand() *cobra.Command {
	var f generateFlags
	cmd := &cobra.Command{
		Use:   "generate MODEL",
		Short: "Continue a text with a decoder",
		Long: `Continue a prompt with a decoder: a file, or a folder as Hugging Face Optimum,
onnxruntime-genai or Hugging Face itself write it. Text goes to standard output as it
comes, the speed to standard error. The prompt is not printed.

The tokenizer is that of --tokenizer, else the one in the model's folder. Without a
tokenizer the prompt is --tokens, and the numbers of tokens are printed.

Stop tokens, the window and sampling come from genai_config.json,
generation_config.json and config.json in the model's folder, unless flags say
otherwise. Where nothing asks for sampling, the likeliest token is taken. The same
seed gives the same text. A GGUF file has all these, its tokenizer and the template of
its chats in its metadata, and its folder is not looked at.

With --count several continuations are printed, one after the other. The prompt is
computed once. With --json each is a line with its text, its tokens and why it ended.

SIGINT and SIGTERM end what is generated; the speed is printed all the same.`,
		Example: `nacre generate llama/ --prompt "Once upon a time" --max-tokens 100
nacre generate model.onnx --tokenizer tokenizer.json --prompt-file story.txt --temperature 0.8 --top-p 0.95 --seed 7
nacre generate model.onnx --prompt "Q: 2+2? A:" --stop "Q:" --greedy
nacre generate qwen3/ --chat --prompt "Why is the sky blue?"
nacre generate qwen3.gguf --chat --prompt "Why is the sky blue?"
nacre generate checkpoint.chk --tokens 1,5,7 --max-tokens 4 --count 3 --temperature 1`,
		Args: takes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.changed = cmd.Flags().Changed
			return f.run(cmd.Context(), args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.add(cmd.Flags())
	cmd.MarkFlagsMutuallyExclusive("prompt", "prompt-file", "messages", "tokens")
	cmd.MarkFlagsOneRequired("prompt", "prompt-file", "messages", "tokens")
	cmd.MarkFlagsMutuallyExclusive("chat", "messages")
	cmd.MarkFlagsMutuallyExclusive("chat", "tokens")
	cmd.MarkFlagsMutuallyExclusive("greedy", "temperature")
	cmd.MarkFlagsMutuallyExclusive("cache", "no-cache")
	return cmd
}

func (f *generateFlags) add(flags *pflag.FlagSet) {
	flags.SortFlags = false
	flags.StringVar(&f.prompt, "prompt", "", "`TEXT` to continue")
	flags.StringVar(&f.promptFile, "prompt-file", "", "`FILE` with the text to continue")
	flags.BoolVar(&f.chat, "chat", false, "take the prompt as the user's message of a chat, in the template of the model")
	flags.StringVar(&f.messages, "messages", "", "`FILE` with the messages of a chat, such as "+`[{"role":"user","content":"Hi"}]`)
	flags.StringVar(&f.tokens, "tokens", "", "tokens to continue, such as `1,5,7`")
	flags.StringVar(&f.tokenizer, "tokenizer", "", "`FILE` or folder with the tokenizer (tokenizer.json, "+
		"tokenizer.model, ...)")
	s := &f.sampling
	flags.IntVar(&s.MaxTokens, "max-tokens", defaultTokens,
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
	flags.IntVar(&f.count, "count", 1, "continuations of the prompt")
	flags.IntVar(&f.window, "window", 0, "most tokens that the decoder sees; 0 for the window in its files")
	flags.BoolVar(&f.noCache, "no-cache", false, "compute all tokens again for each new one")
	flags.StringVar(&f.cache, "cache", "", "element `TYPE` of the cache of keys and values: f16 takes half the memory of f32, "+
		"int8 about a quarter (default the model's)")
	flags.BoolVar(&f.json, "json", false, "print each continuation as a line of JSON, when it has ended")
	f.session.add(flags)
	flags.Lookup("seed").Usage = "seed of the random numbers, and of weights that the file leaves to chance"
}

// sample lists the flags that choose among tokens. Each of them needs a temperature.
var sample = []string{"top-k", "top-p", "min-p"}

// choice returns the sampling for a prompt of this many tokens. Flags that are given replace the
// settings of the files beside the model. Without --max-tokens, tokens end with the window unless
// it slides.
func (f *generateFlags) choice(files generate.Sampling, o *generate.Options, prompt int) generate.Sampling {
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
	if !f.changed("max-tokens") && o.Window > 0 && !o.Slide {
		s.MaxTokens = max(1, min(s.MaxTokens, o.Window-prompt+1))
	}
	return s
}

// cacheTypes lists the values of --cache.
var cacheTypes = map[string]nacre.DType{"": nacre.Invalid, "f16": nacre.Float16, "int8": nacre.Int8}

// check returns an error for flags that are wrong for every model.
func (f *generateFlags) check() error {
	if f.count < 1 {
		return usagef("--count %d: it must be 1 at least", f.count)
	}
	if f.window < 0 {
		return usagef("--window %d: it is negative", f.window)
	}
	if _, ok := cacheTypes[f.cache]; !ok {
		return usagef("--cache %s: it takes f16 or int8; without it the cache has the model's type", f.cache)
	}
	if err := f.sampling.Validate(); err != nil {
		return usageError{err}
	}
	_, err := f.ids()
	return err
}

// ids returns the tokens of --tokens, or nil without the flag.
func (f *generateFlags) ids() ([]int32, error) {
	if f.tokens == "" {
		return nil, nil
	}
	var list []int32
	for _, word := range strings.Split(f.tokens, ",") {
		id, err := strconv.ParseInt(strings.TrimSpace(word), 10, 32)
		if err != nil {
			return nil, usagef("--tokens: %q is no number of a token; give numbers such as 1,5,7", word)
		}
		list = append(list, int32(id))
	}
	return list, nil
}

func (f *generateFlags) run(ctx context.Context, path string, stdout, stderr io.Writer) (err error) {
	start := time.Now()
	if err := f.check(); err != nil {
		return err
	}
	so, err := f.session.options()
	if err != nil {
		return err
	}
	so.CacheType = cacheTypes[f.cache]
	file, folder, err := decoderFile(path)
	if err != nil {
		return err
	}
	m, err := nacre.OpenContext(ctx, file)
	if err != nil {
		return err
	}
	defer func() { err = join(err, m) }()
	o, files, err := generate.SettingsOf(m, beneath.FS(folder))
	if err != nil {
		return fmt.Errorf("%s: %w", folder, err)
	}
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
	text, prompt, err := f.encoded(ctx, m, folder, stderr)
	if err != nil {
		return err
	}
	if text != nil {
		o.Tokenizer = text
		for _, warning := range text.Warnings() {
			printable.Fprintln(stderr, "warning:", warning)
		}
	}
	s, err := m.NewSessionContext(ctx, so)
	if err != nil {
		return err
	}
	defer func() { err = join(err, s) }()
	g, err := generate.New(ctx, s, o)
	if err != nil {
		return err
	}
	w := writer{stdout: stdout, stderr: stderr, json: f.json, text: text != nil, start: start}
	return w.all(ctx, g, prompt, f.count, f.choice(files, &o, len(prompt)))
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
