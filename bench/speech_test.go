package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/speech"
)

// asPhonemes takes a text as phonemes.
type asPhonemes struct{}

func (asPhonemes) Phonemes(_ context.Context, text string) (string, error) { return text, nil }

// A syllable as phonemes, and as the numbers that voices of Piper have for them, each with a 0.
const (
	syllable    = "ðɪs"
	syllableIDs = "41,0,74,0,31,0,"
)

// BenchmarkSpeech times a voice of Piper on one thread: a sentence whose plan is made,
// and a syllable from the opening of the file on. The real-time factor is ms over sound-ms. The peer
// runs the network alone.
func BenchmarkSpeech(b *testing.B) {
	path := piperVoice(b)
	open := func() *speech.Voice {
		v, err := speech.Open(path, speech.Options{Phonemes: asPhonemes{}, Session: nacre.Options{Threads: 1}})
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
	b.Run("sentence", func(b *testing.B) {
		v := open()
		defer v.Close()
		const syllables = 12
		text, ids := strings.Repeat(syllable, syllables), "1,0,"+strings.Repeat(syllableIDs, syllables)+"2"
		n := fmt.Sprint(strings.Count(ids, ",") + 1)
		peer, err := startPeer(b, path, 1, "batch_size=1", "phonemes="+n, "input:="+ids, "input_lengths:="+n, "scales:=0,1,0")
		alone(b, err)
		sound := 0.0
		versus(b, 1, func() (err error) {
			sound, err = spoken(v, text)
			return err
		}, peer, "run")
		b.ReportMetric(1e3*sound, "sound-ms")
	})
	b.Run("opening", func(b *testing.B) {
		versus(b, 1, func() error {
			v := open()
			if _, err := spoken(v, syllable); err != nil {
				return err
			}
			return v.Close()
		}, nil, "")
	})
}

// spoken speaks phonemes without noise, and returns the seconds of sound.
func spoken(v *speech.Voice, text string) (float64, error) {
	seconds := 0.0
	for s, err := range v.Speak(context.Background(), text, speech.SpeakOptions{Noise: new(float64), NoiseW: new(float64)}) {
		if err != nil {
			return 0, err
		}
		seconds += s.Seconds()
	}
	return seconds, nil
}

// piperVoice returns the path of a voice of Piper.
func piperVoice(b *testing.B) string {
	path := filepath.Join("..", ".cache", "voices", "en_US-joe-medium.onnx")
	if _, err := os.Stat(path); err != nil {
		testenv.Skip(b, "no voice of Piper: scripts/fetch-voice.sh fetches one")
	}
	return path
}
