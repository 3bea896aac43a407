// Command voice prints where in a recording somebody speaks.
//
//	voice silero_vad.onnx talk.wav
//
// The model is Silero VAD in its version for opset 16 and later: it takes 32 ms of sound with the
// 4 ms before them, at 16 kHz, and returns how likely somebody speaks. It keeps its state in a
// stream. The recording is a file of WAV, FLAC or MP3 of any rate.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/speech"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: voice model.onnx talk.wav")
	}
	if err := run(context.Background(), os.Stdout, os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

const (
	rate   = 16000
	frame  = 512 // samples that a run is about
	before = 64  // samples before them
	begins = 0.5 // likelihood at which speech begins
	ends   = 0.35
)

func run(ctx context.Context, w io.Writer, file, recording string) error {
	f, err := os.Open(recording)
	if err != nil {
		return err
	}
	defer f.Close()
	sound, err := speech.ReadSound(bufio.NewReader(f))
	if err != nil {
		return fmt.Errorf("%s: %w", recording, err)
	}
	samples := sound.Resample(rate).Samples
	model, err := nacre.Open(file)
	if err != nil {
		return err
	}
	defer model.Close()
	session, err := model.NewSession(nacre.Options{Threads: 1})
	if err != nil {
		return err
	}
	defer session.Close()
	d, err := newDetector(ctx, session)
	if err != nil {
		return err
	}
	defer d.stream.Close()
	speaks, since := false, 0.0
	for at := 0; at < len(samples); at += frame {
		likely, err := d.next(ctx, samples[at:min(at+frame, len(samples))])
		if err != nil {
			return err
		}
		switch now := float64(at) / rate; {
		case !speaks && likely >= begins:
			speaks, since = true, now
		case speaks && likely < ends:
			speaks = false
			fmt.Fprintf(w, "%.2f s to %.2f s\n", since, now)
		}
	}
	if speaks {
		fmt.Fprintf(w, "%.2f s to %.2f s\n", since, float64(len(samples))/rate)
	}
	return nil
}

// detector hears one recording.
type detector struct {
	stream *nacre.Stream
	inputs map[string]*nacre.Tensor
	heard  []float32 // the elements of the input: the last samples before, and a frame
}

func newDetector(ctx context.Context, session *nacre.Session) (*detector, error) {
	d := &detector{heard: make([]float32, before+frame)}
	x, err := nacre.NewTensor(d.heard, 1, len(d.heard))
	if err != nil {
		return nil, err
	}
	d.inputs = map[string]*nacre.Tensor{"input": x, "sr": nacre.Scalar(int64(rate))}
	d.stream, err = session.NewStream(ctx, nacre.StreamOptions{})
	return d, err
}

// next returns how likely somebody speaks in the samples. A shorter frame is filled with silence.
func (d *detector) next(ctx context.Context, samples []float32) (float32, error) {
	copy(d.heard, d.heard[frame:])
	clear(d.heard[before+copy(d.heard[before:], samples):])
	outputs, err := d.stream.Run(ctx, d.inputs)
	if err != nil {
		return 0, err
	}
	likely, err := nacre.Data[float32](outputs["output"])
	if err != nil {
		return 0, err
	}
	return likely[0], nil
}
