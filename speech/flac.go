package speech

import (
	"bufio"
	"errors"
	"io"

	"github.com/mewkiz/flac"
)

// streamInfo is the size of the block that every FLAC file begins with.
const streamInfo = "\x00\x00\x22"

// readFLAC reads a FLAC file.
func readFLAC(r *bufio.Reader) (Sound, error) {
	begin, err := r.Peek(8)
	if err != nil {
		return Sound{}, io.ErrUnexpectedEOF
	}
	if begin[4]&0x7f != 0 || string(begin[5:]) != streamInfo { // the highest bit says whether blocks follow
		return Sound{}, errors.New("it does not begin with a description of the sound")
	}
	return decodeFLAC(r)
}

// decodeFLAC reads a file that begins as it should.
func decodeFLAC(r io.Reader) (Sound, error) {
	stream, err := flac.New(r)
	if err != nil {
		return Sound{}, err
	}
	info := stream.Info
	m, err := newMixer(int(info.SampleRate), int(info.NChannels))
	if err != nil {
		return Sound{}, err
	}
	if info.NSamples > 0 {
		if err := m.room(int(min(info.NSamples, maxSamples+1))); err != nil {
			return Sound{}, err
		}
	}
	if info.BitsPerSample < 4 || info.BitsPerSample > 32 {
		return Sound{}, errorf(ErrSound, "its samples have %d bits", info.BitsPerSample)
	}
	scale := 1 / float32(uint64(1)<<(info.BitsPerSample-1))
	var list []float32
	for {
		frame, err := stream.ParseNext()
		if err == io.EOF {
			return m.Sound, nil
		}
		if err != nil {
			return Sound{}, err
		}
		n := int(frame.BlockSize)
		if len(frame.Subframes) != m.channels {
			return Sound{}, errors.New("the number of channels changes")
		}
		if err := m.room(n); err != nil {
			return Sound{}, err
		}
		list = list[:0]
		for i := range n {
			for _, channel := range frame.Subframes {
				if i >= len(channel.Samples) {
					return Sound{}, errors.New("a channel is cut short")
				}
				list = append(list, finite(float64(float32(channel.Samples[i])*scale)))
			}
		}
		if err := m.add(list); err != nil {
			return Sound{}, err
		}
	}
}
