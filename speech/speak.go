package speech

import (
	"context"
	"fmt"
	"iter"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/speech/phonemes"
)

// SpeakOptions say how a voice speaks. The zero value speaks as the files of the voice say.
type SpeakOptions struct {
	// Speed is how fast the voice speaks, from 0.1 to 10; 0 is 1, and 2 is twice as fast.
	Speed float64
	// Speaker is the name or the number of a speaker; "" is the first.
	Speaker string
	// Noise and NoiseW are how much the sound of phonemes and their lengths vary, for voices of
	// Piper: its noise_scale and noise_w. Nil is the voice's own. With both 0, a text always
	// sounds the same.
	Noise, NoiseW *float64
	// Sampling is how a voice of Chatterbox chooses codes of speech; nil takes the likeliest, with a
	// RepetitionPenalty of 1.2. Its Seed is not read. MaxTokens is at most 1024, 41 seconds.
	Sampling *generate.Sampling
	// Seed chooses the random numbers. The same seed gives the same sound, on any number of
	// threads.
	Seed uint64
	// Pause is the silence after each sentence but the last; 0 is 0.2 s, and less is none.
	Pause time.Duration
	// Progress is called while a sentence is computed, from one goroutine; it may be nil.
	Progress func(Progress)
}

// Progress says how far a sentence is.
type Progress struct {
	// Index is the number of the sentence, of Count.
	Index, Count int
	// Done is how many steps of the sentence are computed, of at most Most. If they are equal, the
	// sound of the steps is left.
	Done, Most int
}

// Sentence is a spoken sentence.
type Sentence struct {
	// Sound is the sound, with the pause to the next sentence. It has no samples if nothing of the
	// sentence can be spoken.
	Sound
	// Text is the sentence: the bytes From to To-1 of the text.
	Text     string
	From, To int
	// Index is the number of the sentence, from 0, and Count the number of sentences.
	Index, Count int
	// Unspoken lists what the voice does not know, each once: characters, or phonemes of them.
	Unspoken []string
	// Took is how long the computation took.
	Took time.Duration
}

// MaxText is the most characters of a text.
const MaxText = 100_000

// pause is the silence between sentences, as Piper has it.
const pause = 200 * time.Millisecond

// Speak yields the sound of a text, sentence by sentence, in order. While the caller uses a
// sentence, the next one is computed. Breaking off the loop or ending ctx ends the work before
// Speak returns. After an error the loop ends.
//
// The error is ErrText for a text that cannot be spoken, nacre.ErrOption for an option with an
// invalid value, nacre.ErrBusy if the voice speaks already, nacre.ErrClosed if it is closed, the
// context's error when the context is done, and else as for nacre.Session.Run.
func (v *Voice) Speak(ctx context.Context, text string, o SpeakOptions) iter.Seq2[Sentence, error] {
	return func(yield func(Sentence, error) bool) {
		if !v.made() {
			yield(Sentence{}, errorf(nacre.ErrClosed, "the voice was never opened"))
			return
		}
		if !v.mu.TryLock() {
			yield(Sentence{}, errorf(nacre.ErrBusy, "%s: the voice speaks already", v.path))
			return
		}
		defer v.mu.Unlock()
		work, err := v.task(ctx, text, &o)
		if err != nil {
			yield(Sentence{}, fmt.Errorf("%s: %w", v.path, err))
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		next := make(chan result)
		go work.run(ctx, next)
		defer func() {
			cancel()
			for range next {
			}
		}()
		spoken := false
		for r := range next {
			if !yield(r.sentence, r.err) || r.err != nil {
				return
			}
			spoken = spoken || len(r.sentence.Samples) > 0
		}
		if err := ctx.Err(); err != nil {
			yield(Sentence{}, fmt.Errorf("%s: %w", v.path, err))
		} else if !spoken {
			yield(Sentence{}, errorf(ErrText, "%s: the text has nothing that this voice can speak", v.path))
		}
	}
}

// task is a text that a voice is to speak.
type task struct {
	voice   *Voice
	text    string
	spans   []phonemes.Span
	options *SpeakOptions
	request request // without text and seed
}

// result is a sentence, or the error that ends the text.
type result struct {
	sentence Sentence
	err      error
}

// task checks a text and options.
func (v *Voice) task(ctx context.Context, text string, o *SpeakOptions) (*task, error) {
	if v.closed {
		return nil, errorf(nacre.ErrClosed, "the voice is closed")
	}
	if ctx == nil {
		return nil, errorf(nacre.ErrOption, "the context is nil")
	}
	if err := checkText(text); err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := v.engine.check(o); err != nil {
		return nil, err
	}
	q := request{speed: o.Speed, options: o}
	if q.speed == 0 {
		q.speed = 1
	}
	var err error
	if q.speaker, err = speakerOf(v.engine.speakers(), o.Speaker); err != nil {
		return nil, err
	}
	return &task{v, text, phonemes.Sentences(text), o, q}, nil
}

// checkText checks a text.
func checkText(text string) error {
	n := utf8.RuneCountInString(text)
	switch {
	case strings.TrimSpace(text) == "":
		return errorf(ErrText, "the text is empty")
	case n > MaxText:
		return errorf(ErrText, "the text has %d characters; a text has at most %d, so speak it in parts", n, MaxText)
	case !utf8.ValidString(text):
		return errorf(ErrText, "the text is not UTF-8")
	}
	return nil
}

// check checks the options that all voices have.
func (o *SpeakOptions) check() error {
	if o.Speed != 0 && !(o.Speed >= 0.1 && o.Speed <= 10) {
		return errorf(nacre.ErrOption, "option Speed is %v; it must be from 0.1 to 10", o.Speed)
	}
	for name, x := range map[string]*float64{"Noise": o.Noise, "NoiseW": o.NoiseW} {
		if x != nil && !(*x >= 0 && *x <= 10) {
			return errorf(nacre.ErrOption, "option %s is %v; it must be from 0 to 10", name, *x)
		}
	}
	return nil
}

// run sends the sentences to next in order, and closes it.
func (t *task) run(ctx context.Context, next chan<- result) {
	defer close(next)
	for i := range t.spans {
		s, err := t.sentence(ctx, i)
		select {
		case next <- result{s, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// sentence speaks sentence i.
func (t *task) sentence(ctx context.Context, i int) (s Sentence, err error) {
	defer guard.At(t.voice.path).End(&err)
	span, count := t.spans[i], len(t.spans)
	s = Sentence{Text: t.text[span.From:span.To], From: span.From, To: span.To, Index: i, Count: count}
	q := t.request
	q.text, q.seed = s.Text, t.options.Seed+uint64(i)*0x9e3779b97f4a7c15
	q.progress = func(done, most int) {
		if t.options.Progress != nil {
			t.options.Progress(Progress{i, count, done, most})
		}
	}
	begin := time.Now()
	u, err := t.voice.engine.say(ctx, &q)
	if err != nil {
		return Sentence{}, err
	}
	s.Took = time.Since(begin)
	s.Rate, s.Samples, s.Unspoken = t.voice.engine.rate(), u.samples, u.unspoken
	if i+1 < count && len(s.Samples) > 0 {
		s.Samples = append(s.Samples, make([]float32, t.options.silence(s.Rate))...)
	}
	return s, nil
}

// silence returns how many samples the pause between sentences has.
func (o *SpeakOptions) silence(rate int) int {
	d := o.Pause
	if d == 0 {
		d = pause
	}
	return int(math.Round(min(max(d.Seconds(), 0), 60) * float64(rate)))
}
