package speech

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// kind is a kind of voices. Open takes the first kind whose files are there.
type kind struct {
	name string
	// needs says in messages which files the kind has.
	needs string
	// found reports whether the files are a voice of this kind, as far as their names tell.
	found func(f files) bool
	open  func(f files, o *Options) (engine, error)
}

// kinds lists the kinds of voices.
var kinds = []kind{
	{"piper", "a file VOICE.onnx with VOICE.onnx.json beside it", piperFound, openPiper},
	{"kokoro", "a folder with a model, vocab.json or config.json, and voices*.npz, voices*.bin or voices/*.bin", kokoroFound,
		openKokoro},
	{"chatterbox", "a folder with the graphs and the tokenizer of Chatterbox turbo", chatterboxFound, openChatterbox},
}

// kindOf returns the kind of a voice.
func kindOf(f files) (*kind, error) {
	for i := range kinds {
		if kinds[i].found(f) {
			return &kinds[i], nil
		}
	}
	var list []string
	for _, k := range kinds {
		list = append(list, k.needs+" ("+k.name+")")
	}
	return nil, errors.New("this is no voice; a voice is " + strings.Join(list, ", or "))
}

// engine is a voice of one kind. One goroutine at a time calls its methods.
type engine interface {
	// say computes the sound of one sentence.
	say(ctx context.Context, q *request) (utterance, error)
	// check returns an error for options that the voice does not take.
	check(o *SpeakOptions) error
	// rate returns the samples in a second of sound.
	rate() int
	// language returns the language of the voice, such as en-us; "" if its files do not say.
	language() string
	// speakers returns the names of the speakers in their order, nil for a voice of one speaker.
	speakers() []string
	close() error
}

// request is a sentence to speak.
type request struct {
	text    string
	speaker int     // index in the engine's speakers; 0 if it has none
	speed   float64 // positive
	seed    uint64  // the sentence's own
	options *SpeakOptions
	// progress is called while the engine computes; it is never nil.
	progress func(done, most int)
}

// utterance is the sound of a sentence.
type utterance struct {
	samples  []float32 // from -1 to 1
	unspoken []string  // characters that the voice does not know, each once
}

// speakerOf returns the index of a speaker by name or number.
func speakerOf(speakers []string, name string) (int, error) {
	if name == "" || len(speakers) == 0 && name == "0" {
		return 0, nil
	}
	if i := slices.Index(speakers, name); i >= 0 {
		return i, nil
	}
	return numbered(speakers, name)
}
