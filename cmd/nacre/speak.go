package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/internal/output"
	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/speech"
)

// speakFlags are the flags of nacre speak.
type speakFlags struct {
	session   sessionFlags
	voice     string
	like      string
	precision string
	out       string
	play      bool
	phonemes  bool
	noise     float64
	noiseW    float64
	options   speech.SpeakOptions
	sampling  generate.Sampling
	json      bool
}

func speakCommand() *cobra.Command {
	var f speakFlags
	cmd := &cobra.Command{
		Use:   "speak [TEXT]",
		Short: "Speak a text with a voice",
		Long: `Speak a text with a voice: a file VOICE.onnx of Piper with VOICE.onnx.json beside it, or
a folder of Chatterbox turbo, which speaks like the person in the recording that
--reference names. Without TEXT, or if it is -, the text is read from standard input.

Sound goes to a WAV file of one channel and 16 bits, which appears when it is complete; a
file that was there stays until then. -o - writes it to standard output as it comes. With
--play a player of the system plays it from the first sentence on: ` + playerNames() + `.

Phonemes come from espeak-ng if that program is installed, else English is spoken by rules of
Nacre itself. The same seed gives the same sound.

The real-time factor is the time that computing takes over the length of the sound: below
1, the voice speaks faster than people listen.`,
		Example: `nacre speak "Hello. How are you?" --voice en_US-joe-medium.onnx --play
nacre speak --voice en_US-joe-medium.onnx -o story.wav < story.txt
nacre speak "[laugh] That was close." --voice chatterbox-turbo-ONNX --reference me.wav --precision q4 --play
nacre speak "One moment." --voice en_US-joe-medium.onnx --speed 1.3 -o - | ffmpeg -i - moment.mp3`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%s given; the form is %s (quotation marks make one argument of a text)", plural(len(args), "argument"), cmd.UseLine())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("noise") {
				f.options.Noise = nil
			}
			if !cmd.Flags().Changed("noise-w") {
				f.options.NoiseW = nil
			}
			return f.run(cmd, append(args, "-")[0])
		},
	}
	f.add(cmd.Flags())
	cmd.MarkFlagsOneRequired("output", "play")
	return cmd
}

func (f *speakFlags) add(flags *pflag.FlagSet) {
	f.options.Noise, f.options.NoiseW = &f.noise, &f.noiseW
	flags.SortFlags = false
	flags.StringVar(&f.voice, "voice", "", "`FILE` or folder of the voice")
	flags.StringVar(&f.like, "reference", "", "sound `FILE` of the person that a voice of Chatterbox speaks like: WAV, FLAC or MP3")
	flags.StringVar(&f.precision, "precision", "", "fp32, fp16, quantized, q4 or q4f16 of Chatterbox (default the fastest that is there)")
	flags.Float64Var(&f.sampling.Temperature, "temperature", 0, "how much Chatterbox leaves to chance; 0 takes the likeliest sound, 0.8 varies it")
	flags.StringVarP(&f.out, "output", "o", "", "WAV `FILE` to write; - for standard output")
	flags.BoolVar(&f.play, "play", false, "play the sound")
	flags.Float64Var(&f.options.Speed, "speed", 1, "how fast to speak; 2 is twice as fast")
	flags.StringVar(&f.options.Speaker, "speaker", "", "name or number of a speaker (default the first)")
	flags.Float64Var(&f.noise, "noise", 0, "how much the sound varies (noise_scale of Piper; default the voice's)")
	flags.Float64Var(&f.noiseW, "noise-w", 0, "how much the lengths of sounds vary (noise_w of Piper; default the voice's)")
	flags.DurationVar(&f.options.Pause, "pause", 200*time.Millisecond, "silence between sentences")
	flags.BoolVar(&f.phonemes, "phonemes", false, "take the text as phonemes that the voice knows, such as həlˈoʊ")
	flags.BoolVar(&f.json, "json", false, "print the statistics as JSON")
	f.session.add(flags)
	flags.Lookup("seed").Usage = "seed of the random numbers"
	for _, name := range []string{"quirks", "context"} { // of other models
		flags.Lookup(name).Hidden = true
	}
}

// spelled takes a text as phonemes.
type spelled struct{}

func (spelled) Phonemes(_ context.Context, text string) (string, error) { return text, nil }

// spoken is the statistics of a text.
type spoken struct {
	Voice     string   `json:"voice"`
	Kind      string   `json:"kind"`
	Language  string   `json:"language"`
	Rate      int      `json:"rate"`
	Sentences int      `json:"sentences"`
	Seconds   float64  `json:"seconds"`          // of sound
	Computed  float64  `json:"computed_seconds"` // of work, without the opening of the voice
	Factor    float64  `json:"real_time_factor"`
	First     float64  `json:"first_sound_seconds"` // from the start of the command
	Unspoken  []string `json:"unspoken"`
}

func (f *speakFlags) run(cmd *cobra.Command, text string) (err error) {
	begin := time.Now()
	if err := f.check(); err != nil {
		return err
	}
	o := speech.Options{Precision: f.precision}
	if o.Session, err = f.session.options(); err != nil {
		return err
	}
	if o.Reference, err = f.reference(); err != nil {
		return err
	}
	if f.phonemes {
		o.Phonemes = spelled{}
	}
	if text == "-" {
		if text, err = readText(cmd.InOrStdin()); err != nil {
			return err
		}
	}
	voice, err := speech.Open(f.voice, o)
	if err != nil {
		return err
	}
	defer func() { err = join(err, voice) }()
	ctx, free := untilSignal(cmd.Context())
	defer free()
	defer func() {
		if stopped, ok := context.Cause(ctx).(signalError); ok && err != nil {
			err = stopped
		}
	}()
	sinks, err := f.sinks(ctx, cmd.OutOrStdout(), voice.Rate())
	if err != nil {
		return err
	}
	s := spoken{Voice: f.voice, Kind: voice.Kind(), Language: voice.Language(), Rate: voice.Rate()}
	if err := f.speak(ctx, voice, text, sinks, &s, begin, cmd.ErrOrStderr()); err != nil {
		for _, k := range sinks {
			k.discard()
		}
		return err
	}
	return f.report(cmd, &s)
}

// check checks the flags that are wrong for every voice.
func (f *speakFlags) check() error {
	switch {
	case f.voice == "":
		return usagef("--voice FILE is missing; scripts/fetch-voice.sh of Nacre fetches a voice")
	case f.out == "-" && f.json:
		return usagef("--json and -o - both write to standard output; give a file to -o")
	case f.options.Speed <= 0:
		return usagef("--speed %v: it must be positive; 1 is the voice's own speed", f.options.Speed)
	}
	if f.options.Pause == 0 {
		f.options.Pause = -1 // none
	}
	f.options.Seed = f.session.seed
	if f.sampling.Temperature != 0 {
		// As the publishers of Chatterbox turbo sample.
		f.sampling.TopK, f.sampling.TopP, f.sampling.RepetitionPenalty = 1000, 0.95, 1.2
		f.options.Sampling = &f.sampling
	}
	return nil
}

// reference reads the sound of a person to speak like, if one is named.
func (f *speakFlags) reference() (speech.Sound, error) {
	if f.like == "" {
		return speech.Sound{}, nil
	}
	file, err := os.Open(f.like)
	if err != nil {
		return speech.Sound{}, err
	}
	defer file.Close()
	s, err := speech.ReadSound(file)
	if err != nil {
		return speech.Sound{}, fmt.Errorf("%s: %w", f.like, err)
	}
	return s, nil
}

// readText reads a text of at most so many bytes that the voice can say that it is too long.
func readText(r io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, 4*speech.MaxText+4))
	if err != nil {
		return "", fmt.Errorf("standard input: %w", err)
	}
	return strings.TrimPrefix(string(data), "\ufeff"), nil
}

// sink takes sound.
type sink interface {
	write(samples []float32) error
	// finish completes the sound.
	finish() error
	// discard undoes an incomplete sound.
	discard()
}

// sinks returns where the sound goes.
func (f *speakFlags) sinks(ctx context.Context, stdout io.Writer, rate int) (list []sink, err error) {
	defer func() {
		if err != nil {
			for _, k := range list {
				k.discard()
			}
		}
	}()
	switch f.out {
	case "":
	case "-":
		if terminal(stdout) {
			return nil, usagef("-o -: standard output is a terminal; give a file, or --play")
		}
		w, err := speech.NewWAVWriter(asIs(stdout), rate)
		if err != nil {
			return nil, err
		}
		list = append(list, &wavFile{nil, w})
	default:
		file, err := output.Create(f.out)
		if err != nil {
			return nil, err
		}
		w, err := speech.NewWAVWriter(file, rate)
		if err != nil {
			file.Discard()
			return nil, err
		}
		list = append(list, &wavFile{file, w})
	}
	if f.play {
		p, err := newPlayer(ctx, rate)
		if err != nil {
			return list, err
		}
		list = append(list, p)
	}
	return list, nil
}

// wavFile is a WAV file. Without a file it is standard output.
type wavFile struct {
	file *output.File
	wav  *speech.WAVWriter
}

func (w *wavFile) write(samples []float32) error { return w.wav.Write(samples) }

func (w *wavFile) finish() error {
	if w.file == nil {
		return nil
	}
	if _, err := w.file.WriteAt(w.wav.Header(), 0); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		w.file.Discard()
		return err
	}
	return w.file.Commit()
}

func (w *wavFile) discard() {
	if w.file != nil {
		w.file.Discard()
	}
}

// speak speaks a text to the sinks and completes them.
func (f *speakFlags) speak(
	ctx context.Context, voice *speech.Voice, text string, sinks []sink, s *spoken, begin time.Time, stderr io.Writer,
) error {
	const steps = 1000 // of the bar, for a sentence
	var bar *progressbar.ProgressBar
	o := f.options
	if terminal(stderr) {
		o.Progress = func(p speech.Progress) {
			if bar == nil {
				bar = progressbar.NewOptions(p.Count*steps, progressbar.OptionSetWriter(stderr),
					progressbar.OptionSetDescription("speech"), progressbar.OptionSetPredictTime(true),
					progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
			}
			_ = bar.Set(p.Index*steps + steps*p.Done/max(p.Most, 1))
		}
	}
	for sentence, err := range voice.Speak(ctx, text, o) {
		if err != nil {
			return err
		}
		if s.Seconds == 0 && len(sentence.Samples) > 0 {
			s.First = time.Since(begin).Seconds()
		}
		s.Sentences++
		s.Seconds += sentence.Seconds()
		s.Computed += sentence.Took.Seconds()
		for _, c := range sentence.Unspoken {
			if !slices.Contains(s.Unspoken, c) {
				s.Unspoken = append(s.Unspoken, c)
			}
		}
		for _, k := range sinks {
			if err := k.write(sentence.Samples); err != nil {
				return err
			}
		}
	}
	for _, k := range sinks {
		if err := k.finish(); err != nil {
			return err
		}
	}
	s.Factor = s.Computed / s.Seconds
	return nil
}

// report prints the statistics.
func (f *speakFlags) report(cmd *cobra.Command, s *spoken) error {
	if len(s.Unspoken) > 0 {
		printable.Fprintf(cmd.ErrOrStderr(), "nacre: %s: the voice does not know %s, and leaves it out\n", f.voice,
			strings.Join(s.Unspoken, " "))
	}
	if f.json {
		return writeJSON(within(cmd), s)
	}
	printable.Fprintf(cmd.ErrOrStderr(), "%.2f s of sound in %.2f s: real-time factor %.3f; first sound after %.2f s\n",
		s.Seconds, s.Computed, s.Factor, s.First)
	return nil
}
