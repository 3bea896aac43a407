package speech

import (
	"bufio"
	"encoding/binary"
	"io"

	"github.com/hajimehoshi/go-mp3"
)

// readMP3 reads an MP3 file. The decoder returns two channels of 16-bit samples for every file.
func readMP3(r *bufio.Reader) (Sound, error) {
	d, err := mp3.NewDecoder(struct{ io.Reader }{r}) // no Seeker, which would be read twice
	if err != nil {
		return Sound{}, err
	}
	m, err := newMixer(d.SampleRate(), 2)
	if err != nil {
		return Sound{}, err
	}
	buf := make([]byte, 1<<15)
	list := make([]float32, len(buf)/2)
	for {
		n, err := io.ReadFull(d, buf)
		for i := range n / 2 {
			list[i] = float32(int16(binary.LittleEndian.Uint16(buf[2*i:]))) / (1 << 15)
		}
		if err := m.add(list[:n/2]); err != nil {
			return Sound{}, err
		}
		switch err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			return m.Sound, nil
		default:
			return Sound{}, err
		}
	}
}
