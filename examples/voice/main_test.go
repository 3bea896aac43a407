package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/speech"
)

// TestVoice hears silence, vowels made of pulses and resonances, and silence again.
func TestVoice(t *testing.T) {
	testenv.Need(t, bindings.Available())
	model := testenv.Samples(t, "models", "silero_vad_op18_ifless", "model.onnx")
	path := filepath.Join(t.TempDir(), "talk.wav")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := speech.WriteWAV(f, talk(24000)); err != nil {
		t.Fatal(err)
	}
	f.Close()
	var out strings.Builder
	if err := run(context.Background(), &out, model, path); err != nil {
		t.Fatal(err)
	}
	var begin, end float64
	if n, err := fmt.Sscanf(out.String(), "%f s to %f s\n", &begin, &end); n != 2 || strings.Count(out.String(), "\n") != 1 ||
		math.Abs(begin-2) > 0.3 || math.Abs(end-4) > 0.3 {
		t.Errorf("%q, %v; want one time from 2 s to 4 s", out.String(), err)
	}
}

// talk returns two seconds of silence, two of vowels and two of silence.
func talk(rate int) speech.Sound {
	s := speech.Sound{Rate: rate, Samples: make([]float32, 6*rate)}
	vowels := [][3]float64{{730, 1090, 2440}, {270, 2290, 3010}, {300, 870, 2240}, {530, 1840, 2480}}
	var state [3][2]float64
	phase := 0.0
	for i := 2 * rate; i < 4*rate; i++ {
		at := float64(i-2*rate) / float64(rate)
		vowel := vowels[int(at*5)%len(vowels)]
		phase += (120 + 20*math.Sin(2*math.Pi*3*at)) / float64(rate)
		x := 0.0
		if phase >= 1 {
			phase--
			x = 1
		}
		y := 0.0
		for k, formant := range vowel {
			radius := math.Exp(-math.Pi * 80 / float64(rate))
			v := x + 2*radius*math.Cos(2*math.Pi*formant/float64(rate))*state[k][0] - radius*radius*state[k][1]
			state[k] = [2]float64{v, state[k][0]}
			y += v * []float64{1, 0.5, 0.25}[k]
		}
		s.Samples[i] = float32(0.05 * y * math.Abs(math.Sin(2*math.Pi*2*at)))
	}
	return s
}
