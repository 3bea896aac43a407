package generate

import (
	"context"
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/guard"
)

// Generator generates tokens and text with a session of a decoder. Its methods may be called from
// many goroutines at once.
type Generator struct {
	options Options
	decoder *decoder
	chunk   int
}

// New returns a generator. The session must stay open while the generator is in use. If the network
// is not a decoder of tokens, the error is nacre.ErrUnsupported and says what is missing. If an
// option is out of range or ctx is nil, it is nacre.ErrOption. When the context is done it is the
// context's error.
func New(ctx context.Context, session *nacre.Session, o Options) (_ *Generator, err error) {
	defer guard.At(fileOf(session)).End(&err)
	if session == nil {
		return nil, errorf(nacre.ErrOption, "the session is nil")
	}
	if ctx == nil {
		return nil, errorf(nacre.ErrOption, "%s: the context of a generator is nil", fileOf(session))
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	d, err := find(ctx, session, &o)
	if err != nil {
		return nil, err
	}
	d.partial = d.mayBePartial()
	if d.session, err = session.LastRows(ctx, d.logits.Name); err != nil {
		return nil, err
	}
	if t, ok := o.Tokenizer.(Ender); ok {
		o.StopIDs = slices.Concat(o.StopIDs, t.EndIDs())
		o.SuppressIDs = slices.Concat(o.SuppressIDs, t.SuppressedIDs())
	}
	return &Generator{options: o, decoder: d, chunk: d.chunkOf(&o)}, nil
}

// fileOf names the model of a session in errors.
func fileOf(session *nacre.Session) string {
	if m := session.Model(); m != nil {
		return m.Source().File
	}
	return ""
}

// check checks a prompt and sampling before any computation.
func (g *Generator) check(prompt []int32, s *Sampling) error {
	if err := s.Validate(); err != nil {
		return err
	}
	file, o := g.decoder.file, &g.options
	switch {
	case len(prompt) == 0:
		return errorf(ErrPrompt, "%s: the prompt has no tokens; a decoder needs one at least", file)
	case o.Window > 0 && len(prompt) > o.Window:
		return errorf(ErrWindow, "%s: the prompt has %d tokens, and the window %d; shorten the prompt", file, len(prompt), o.Window)
	case s.MaxTokens == 0 && (o.Window == 0 || o.Slide) && len(o.StopIDs)+len(s.StopIDs)+len(s.Stop) == 0:
		return errorf(nacre.ErrOption, "%s: generation has no end; set Sampling.MaxTokens or a stop", file)
	}
	return g.checkIDs(prompt)
}

// checkIDs checks that the vocabulary has the tokens of a prompt.
func (g *Generator) checkIDs(prompt []int32) error {
	d := g.decoder
	for i, id := range prompt {
		if id < 0 || d.vocab > 0 && int(id) >= d.vocab {
			const text = "%s: token %d of the prompt is %d; the vocabulary has %s"
			return errorf(ErrPrompt, text, d.file, i, id, d.vocabulary())
		}
	}
	return nil
}

// most is the largest room that is reserved at once for tokens that may not come.
const most = 4096

// room returns the most tokens that a sequence can have, so that its states need not grow. If that
// is unknown or more than most, it returns 0.
func (g *Generator) room(prompt, tokens int) int {
	n := 0
	if tokens > 0 && tokens <= most {
		n = prompt + tokens
	}
	if w := g.options.Window; w > 0 && w <= most && (n == 0 || n > w) {
		n = w
	}
	return n
}

// vocabulary describes the range of tokens.
func (d *decoder) vocabulary() string {
	if d.vocab == 0 {
		return "none below 0"
	}
	return fmt.Sprintf("tokens 0 to %d", d.vocab-1)
}

// errNotMade is the error of a Generator and of a Sequence that are nil or zero values.
var errNotMade = errorf(nacre.ErrClosed, "the value was never made; New makes a Generator, Start a Sequence, and NewSampler a Sampler")

func (g *Generator) made() bool { return g != nil && g.decoder != nil }

func (q *Sequence) made() bool { return q != nil && q.generator.made() }

// file names the model in errors.
func (g *Generator) file() string {
	if !g.made() {
		return ""
	}
	return g.decoder.file
}

func (q *Sequence) file() string {
	if !q.made() {
		return ""
	}
	return q.generator.decoder.file
}
