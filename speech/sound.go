package speech

import (
	"bufio"
	"bytes"
	"io"

	"github.com/nacre-ml/nacre/internal/guard"
)

// Sound is one channel of sound.
type Sound struct {
	// Rate is how many samples a second has.
	Rate int
	// Samples are from -1 to 1.
	Samples []float32
}

// Seconds returns how long the sound is.
func (s Sound) Seconds() float64 {
	if s.Rate <= 0 {
		return 0
	}
	return float64(len(s.Samples)) / float64(s.Rate)
}

// Limits of sound files. They bound the memory that a small file can ask for.
const (
	maxRate     = 192_000
	maxSeconds  = 3600
	maxSamples  = maxSeconds * 48_000
	maxChannels = 32
)

// soundFormat is a format of sound files.
type soundFormat struct {
	name string
	is   func(begin []byte) bool
	read func(r *bufio.Reader) (Sound, error)
}

// soundFormats lists the formats that ReadSound reads. MP3 is recognised by little, so it is last.
var soundFormats = []soundFormat{
	{"WAV", func(b []byte) bool { return bytes.HasPrefix(b, []byte("RIFF")) && string(b[8:12]) == "WAVE" }, readWAV},
	{"FLAC", func(b []byte) bool { return bytes.HasPrefix(b, []byte("fLaC")) }, readFLAC},
	{"MP3", func(b []byte) bool {
		return bytes.HasPrefix(b, []byte("ID3")) || b[0] == 0xff && b[1]&0xe6 == 0xe2
	}, readMP3},
}

// ReadSound reads a sound file: WAV, FLAC or MP3, told apart by their contents. Channels are
// averaged. The error is ErrSound if the file is none of these, damaged, empty or longer than an
// hour, or an error of r.
func ReadSound(r io.Reader) (s Sound, err error) {
	defer guard.At("").End(&err)
	b := bufio.NewReaderSize(r, 1<<16)
	begin, err := b.Peek(12)
	if err != nil && err != io.EOF {
		return Sound{}, err
	}
	for _, f := range soundFormats {
		if len(begin) < 12 || !f.is(begin) {
			continue
		}
		err := guard.Call(func() (err error) {
			s, err = f.read(b)
			return err
		})
		if err != nil {
			return Sound{}, errorf(ErrSound, "the %s file cannot be read: %w", f.name, err)
		}
		if len(s.Samples) == 0 {
			return Sound{}, errorf(ErrSound, "the %s file has no sound in it", f.name)
		}
		return s, nil
	}
	return Sound{}, errorf(ErrSound, "the file is no sound that this package reads: WAV, FLAC or MP3")
}

// mixer averages the channels of a sound and bounds its length.
type mixer struct {
	Sound
	channels int
}

// newMixer returns the mixer for sound of this form.
func newMixer(rate, channels int) (*mixer, error) {
	switch {
	case rate < 1 || rate > maxRate:
		return nil, errorf(ErrSound, "it has %d samples a second; sounds have 1 to %d", rate, maxRate)
	case channels < 1 || channels > maxChannels:
		return nil, errorf(ErrSound, "it has %d channels; sounds have 1 to %d", channels, maxChannels)
	}
	return &mixer{Sound{Rate: rate}, channels}, nil
}

// room returns an error unless n more samples are within the limits.
func (m *mixer) room(n int) error {
	if n > min(maxSamples, maxSeconds*m.Rate)-len(m.Samples) {
		return errorf(ErrSound, "it is longer than an hour; cut out the part that is needed")
	}
	return nil
}

// add appends frames of one sample for each channel. A frame that is not whole is left out.
func (m *mixer) add(samples []float32) error {
	n := len(samples) / m.channels
	if err := m.room(n); err != nil {
		return err
	}
	for i := range n {
		sum := float32(0)
		for _, x := range samples[i*m.channels:][:m.channels] {
			sum += x
		}
		m.Samples = append(m.Samples, sum/float32(m.channels))
	}
	return nil
}
