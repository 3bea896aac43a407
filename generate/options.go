package generate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/nacre-ml/nacre"
)

// Tokenizer turns text into the ids of a decoder's vocabulary, and ids into text, as
// tokenizer.Tokenizer does. It must be safe for use by several goroutines.
type Tokenizer interface {
	// Encode returns the ids of a text. With special, it adds the ids that the vocabulary puts
	// around a text.
	Encode(text string, special bool) []int32
	// Decoding returns a stream for the ids of one text, which one goroutine uses.
	Decoding() Stream
}

// Stream turns ids into text one by one, as tokenizer.Stream does.
type Stream = interface {
	// Push takes the next id and returns the text that no id after it can change: whole
	// characters, or U+FFFD for bytes that make none.
	Push(id int32) string
	// Flush returns the text that is left.
	Flush() string
	// Err says why Push gives no more text; nil while it does.
	Err() error
}

// ContextEncoder is a Tokenizer that says why it cannot encode a text: the context has ended, or
// the text takes more than its limits allow. The methods of a Generator call EncodeContext if the
// tokenizer has it, as tokenizer.Tokenizer does.
type ContextEncoder interface {
	EncodeContext(ctx context.Context, text string, special bool) ([]int32, error)
}

// Ender is a Tokenizer that knows which ids end a text and which a text must not have, as
// tokenizer.FromGGUF's does. New adds them to the options.
type Ender interface {
	EndIDs() []int32
	SuppressedIDs() []int32
}

// Options describe a decoder beyond its network. The zero value is for a decoder with the usual
// names of inputs and outputs. SettingsOf fills it from the files beside a model.
type Options struct {
	// Tokenizer is for the methods that take or return text; nil if none of them is called.
	Tokenizer Tokenizer
	// StopIDs are tokens that end a text, such as an end-of-text token. They are not delivered.
	StopIDs []int32
	// SuppressIDs are tokens that are never chosen.
	SuppressIDs []int32
	// Window is how many tokens the decoder sees at most; 0 if that is not known.
	Window int
	// Original is how many tokens the original window of a decoder of the type longrope has; 0 for
	// other decoders, and for sessions with a Lowering.Context. Beyond it, all tokens are rotated
	// differently, so they are computed again, once.
	Original int
	// Slide continues beyond the window: each token is then computed from the last Window tokens,
	// again from position 0, as gpt.rs does. Without Slide, generation ends when the window is
	// full.
	Slide bool
	// LastOfEqual makes greedy sampling take the largest token of several with equal logits, as
	// gpt.rs does. Otherwise it takes the smallest.
	LastOfEqual bool
	// NoCache computes all tokens again for each new one, without states.
	NoCache bool
	// Chunk is how many tokens of a prompt are computed at once; 0 for 128.
	Chunk int
	// IDs and Logits name the input for tokens and the output for logits. If empty, they are found
	// by name and type.
	IDs, Logits string
}

// Sampling says how tokens are chosen and when generation ends. The zero value is greedy and goes
// on to a stop, or until the window is full.
//
// The logits are changed in this order: bias, penalties, Options.SuppressIDs, Adjust, temperature,
// top-k, top-p, min-p. NaN counts as negative infinity.
type Sampling struct {
	// MaxTokens is the most tokens to generate; 0 for as many as the window has space for. A window
	// that is full earlier ends the text, with the reason Window.
	MaxTokens int
	// Bias is added to the logits of its tokens. Negative infinity forbids a token.
	Bias map[int32]float32
	// Adjust, unless nil, may change the logits of the next token, in place and by token. Negative
	// infinity forbids a token: a grammar forbids all tokens that it does not allow to follow, among
	// them StopIDs while the text must not end. Prompt and generated are the tokens so far; Adjust
	// must not change them, and must keep none of the slices. It runs once for each token. Batch,
	// Continuations and Beams call it from several goroutines, for one sequence each. An error ends
	// generation.
	Adjust func(prompt, generated []int32, logits []float32) error
	// Alternatives is how many of the likeliest tokens Token.Alternatives lists. If it is positive,
	// Token.LogProb is set, too. Both are of the distribution that the decoder gives: of its logits
	// before any change.
	Alternatives int
	// Temperature divides the logits. At 0 the token of the largest logit is taken, and TopK, TopP
	// and MinP have no effect.
	Temperature float64
	// TopK keeps the K largest logits, and any logits equal to the smallest of them; 0 keeps all.
	TopK int
	// TopP keeps the fewest likeliest tokens that together have that probability. Of equal ones the
	// smaller token comes first. 0 and 1 keep all.
	TopP float64
	// MinP keeps the tokens with at least that part of the probability of the likeliest; 0 keeps
	// all.
	MinP float64
	// RepetitionPenalty divides the positive logits of tokens in the prompt and of generated
	// tokens, and multiplies their negative ones; 0 and 1 change nothing.
	RepetitionPenalty float64
	// PresencePenalty is subtracted from the logits of generated tokens. FrequencyPenalty is
	// subtracted once for each time that a token was generated.
	PresencePenalty, FrequencyPenalty float64
	// Seed chooses the random numbers. The same seed gives the same tokens, on any number of
	// threads.
	Seed uint64
	// StopIDs are tokens that end a text, beside the StopIDs of Options.
	StopIDs []int32
	// Stop are texts that end a text, for methods that yield text. The text before the first
	// complete stop is delivered, and no more.
	Stop []string
}

// Validate checks the values that can be checked without a decoder. The error is nacre.ErrOption
// and names every value that is out of range.
func (s Sampling) Validate() error {
	var errs []error
	check := func(ok bool, name string, v any, must string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s is %v; it must be %s", name, v, must))
		}
	}
	finite := func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
	check(s.MaxTokens >= 0, "MaxTokens", s.MaxTokens, "positive, or 0 for no bound")
	check(finite(s.Temperature) && s.Temperature >= 0, "Temperature", s.Temperature, "a number from 0 up")
	check(s.TopK >= 0, "TopK", s.TopK, "positive, or 0 for all")
	check(s.TopP >= 0 && s.TopP <= 1, "TopP", s.TopP, "from 0 to 1")
	check(s.MinP >= 0 && s.MinP <= 1, "MinP", s.MinP, "from 0 to 1")
	check(finite(s.RepetitionPenalty) && s.RepetitionPenalty >= 0, "RepetitionPenalty", s.RepetitionPenalty, "positive, or 0 for none")
	check(finite(s.PresencePenalty), "PresencePenalty", s.PresencePenalty, "finite")
	check(finite(s.FrequencyPenalty), "FrequencyPenalty", s.FrequencyPenalty, "finite")
	check(s.Alternatives >= 0, "Alternatives", s.Alternatives, "positive, or 0 for none")
	for _, id := range slices.Sorted(maps.Keys(s.Bias)) {
		x := s.Bias[id]
		check(id >= 0, "a token of Bias", id, "0 or more")
		check(x <= math.MaxFloat32, fmt.Sprintf("Bias of token %d", id), x, "finite or negative infinity")
	}
	for _, stop := range s.Stop {
		check(stop != "" && utf8.ValidString(stop), "a stop text", fmt.Sprintf("%q", stop), "UTF-8 and not empty")
	}
	if len(errs) == 0 {
		return nil
	}
	return &kindError{nacre.ErrOption, errors.Join(errs...)}
}

// validate checks the options.
func (o *Options) validate() error {
	switch {
	case o.Window < 0:
		return errorf(nacre.ErrOption, "option Window is %d; it must not be negative", o.Window)
	case o.Original < 0:
		return errorf(nacre.ErrOption, "option Original is %d; it must not be negative", o.Original)
	case o.Chunk < 0:
		return errorf(nacre.ErrOption, "option Chunk is %d; it must not be negative", o.Chunk)
	case o.Slide && o.Window == 0:
		return errorf(nacre.ErrOption, "option Slide needs a Window")
	}
	return nil
}

// ErrWindow reports tokens that do not fit in the window of a decoder.
var ErrWindow = errors.New("generate: the window is full")

// ErrPrompt reports a prompt that a decoder cannot take: without tokens, or with tokens that its
// vocabulary lacks.
var ErrPrompt = errors.New("generate: unfit prompt")

// kindError is an error with a kind for errors.Is. Its message does not repeat the kind.
type kindError struct{ kind, err error }

func (e *kindError) Error() string   { return e.err.Error() }
func (e *kindError) Unwrap() []error { return []error{e.kind, e.err} }

func errorf(kind error, format string, args ...any) error {
	return &kindError{kind, fmt.Errorf(format, args...)}
}
