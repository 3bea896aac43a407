package speech

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/guard"
)

// A WAV file is RIFF, the bytes that follow, WAVE, and chunks: a name of 4 characters, the bytes
// that follow, and these, with a byte more if their number is odd. The chunk "fmt " says how the
// samples in the chunk "data" are stored. A file written without knowing its length has the largest
// number for the bytes of "data".

// Codes of how samples are stored.
const (
	wavPCM        = 1
	wavFloat      = 3
	wavExtensible = 0xfffe
)

// wavFormat is the chunk "fmt ".
type wavFormat struct {
	Code       uint16
	Channels   uint16
	Rate       uint32
	ByteRate   uint32
	FrameBytes uint16
	Bits       uint16
}

// readWAV reads a WAV file with samples that are integers of 8 to 32 bits, or floats.
func readWAV(r *bufio.Reader) (Sound, error) {
	if _, err := r.Discard(12); err != nil {
		return Sound{}, err
	}
	var format *wavFormat
	for {
		var c struct {
			Name [4]byte
			Size uint32
		}
		if err := binary.Read(r, binary.LittleEndian, &c); err != nil {
			return Sound{}, errors.New("it ends before its samples")
		}
		size := int64(c.Size)
		switch string(c.Name[:]) {
		case "fmt ":
			f, rest, err := readWAVFormat(r, size)
			if err != nil {
				return Sound{}, err
			}
			format, size = f, rest
		case "data":
			if format == nil {
				return Sound{}, errors.New("it does not say how its samples are stored")
			}
			return format.samples(r, size)
		}
		if _, err := io.CopyN(io.Discard, r, size+int64(c.Size&1)); err != nil {
			return Sound{}, errors.New("it ends before its samples")
		}
	}
}

// readWAVFormat reads a chunk "fmt " of that many bytes, and returns how many are left.
func readWAVFormat(r io.Reader, size int64) (*wavFormat, int64, error) {
	var f wavFormat
	if size < 16 || binary.Read(r, binary.LittleEndian, &f) != nil {
		return nil, 0, errors.New("its description of the samples is cut short")
	}
	size -= 16
	if f.Code == wavExtensible && size >= 24 {
		var more struct {
			_    [8]byte // size, bits in use, places of loudspeakers
			Code uint16
			_    [14]byte
		}
		if err := binary.Read(r, binary.LittleEndian, &more); err != nil {
			return nil, 0, errors.New("its description of the samples is cut short")
		}
		f.Code = more.Code
		size -= 24
	}
	return &f, size, nil
}

// decoder returns the function that reads one sample, and the bytes that it takes.
func (f *wavFormat) decoder() (func(b []byte) float32, int, error) {
	little := binary.LittleEndian
	switch {
	case f.Code == wavPCM && f.Bits == 8:
		return func(b []byte) float32 { return (float32(b[0]) - 128) / 128 }, 1, nil
	case f.Code == wavPCM && f.Bits == 16:
		return func(b []byte) float32 { return float32(int16(little.Uint16(b))) / (1 << 15) }, 2, nil
	case f.Code == wavPCM && f.Bits == 24:
		return func(b []byte) float32 {
			return float32(int32(uint32(b[0])<<8|uint32(b[1])<<16|uint32(b[2])<<24)) / (1 << 31)
		}, 3, nil
	case f.Code == wavPCM && f.Bits == 32:
		return func(b []byte) float32 { return float32(int32(little.Uint32(b))) / (1 << 31) }, 4, nil
	case f.Code == wavFloat && f.Bits == 32:
		return func(b []byte) float32 { return finite(float64(math.Float32frombits(little.Uint32(b)))) }, 4, nil
	case f.Code == wavFloat && f.Bits == 64:
		return func(b []byte) float32 { return finite(math.Float64frombits(little.Uint64(b))) }, 8, nil
	}
	return nil, 0, errorf(ErrSound, "its samples have %d bits and code %d; "+
		"samples are integers of 8 to 32 bits (code 1) or floats (code 3)", f.Bits, f.Code)
}

// finite returns x within -1 and 1; NaN becomes 0.
func finite(x float64) float32 {
	if math.IsNaN(x) {
		return 0
	}
	return float32(max(-1, min(1, x)))
}

// samples reads the samples in a chunk "data" of that many bytes, as far as they are there.
func (f *wavFormat) samples(r io.Reader, size int64) (Sound, error) {
	decode, width, err := f.decoder()
	if err != nil {
		return Sound{}, err
	}
	m, err := newMixer(int(f.Rate), int(f.Channels))
	if err != nil {
		return Sound{}, err
	}
	if size < math.MaxUint32-64 {
		if err := m.room(int(size / int64(width*m.channels))); err != nil {
			return Sound{}, err
		}
	}
	frame := width * m.channels
	buf := make([]byte, 1<<15/frame*frame)
	list := make([]float32, len(buf)/width)
	r = io.LimitReader(r, size)
	for {
		n, err := io.ReadFull(r, buf)
		for i := range n / width {
			list[i] = decode(buf[i*width:])
		}
		if err := m.add(list[:n/width]); err != nil {
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

// wavHeader is the beginning of a WAV file of one channel with samples of 16 bits.
type wavHeader struct {
	RIFF     [4]byte
	Size     uint32 // of all that follows
	WAVE     [4]byte
	Fmt      [4]byte
	FmtSize  uint32
	Format   wavFormat
	Data     [4]byte
	DataSize uint32
}

// newWAVHeader returns the header for so many samples, for an unknown number if it is negative.
func newWAVHeader(rate, samples int) wavHeader {
	bytes := uint64(samples) * 2
	if samples < 0 || bytes > math.MaxUint32-36 {
		bytes = math.MaxUint32 - 36
	}
	return wavHeader{
		[4]byte([]byte("RIFF")), uint32(bytes) + 36, [4]byte([]byte("WAVE")),
		[4]byte([]byte("fmt ")), 16, wavFormat{wavPCM, 1, uint32(rate), 2 * uint32(rate), 2, 16},
		[4]byte([]byte("data")), uint32(bytes),
	}
}

// WriteWAV writes a sound as a WAV file of 16-bit samples. Samples beyond -1 and 1 are clipped.
func WriteWAV(w io.Writer, s Sound) (err error) {
	defer guard.At("").End(&err)
	if err := binary.Write(w, binary.LittleEndian, newWAVHeader(s.Rate, len(s.Samples))); err != nil {
		return err
	}
	return writePCM(w, s.Samples)
}

// writePCM writes samples as integers of 16 bits.
func writePCM(w io.Writer, samples []float32) error {
	buf := make([]byte, 0, 1<<15)
	for len(samples) > 0 {
		n := min(len(samples), cap(buf)/2)
		for _, x := range samples[:n] {
			v := int16(math.Round(float64(finite(float64(x))) * math.MaxInt16))
			buf = binary.LittleEndian.AppendUint16(buf, uint16(v))
		}
		if _, err := w.Write(buf); err != nil {
			return err
		}
		samples, buf = samples[n:], buf[:0]
	}
	return nil
}

// WAVWriter writes a WAV file of 16-bit samples piece by piece.
type WAVWriter struct {
	w       io.Writer
	rate    int
	samples int
}

// NewWAVWriter returns a writer, and writes the header of a sound of unknown length.
func NewWAVWriter(w io.Writer, rate int) (_ *WAVWriter, err error) {
	defer guard.At("").End(&err)
	return &WAVWriter{w: w, rate: rate}, binary.Write(w, binary.LittleEndian, newWAVHeader(rate, -1))
}

// Write appends samples.
func (w *WAVWriter) Write(samples []float32) (err error) {
	defer guard.At("").End(&err)
	if w == nil || w.w == nil {
		return errorf(nacre.ErrClosed, "the writer was never made; NewWAVWriter makes one")
	}
	w.samples += len(samples)
	return writePCM(w.w, samples)
}

// Header returns the header for the samples so far. At the beginning of the file it takes the place
// of the header of unknown length.
func (w *WAVWriter) Header() []byte {
	if w == nil {
		return nil
	}
	b, err := binary.Append(nil, binary.LittleEndian, newWAVHeader(w.rate, w.samples))
	if err != nil {
		panic(err) // all fields have fixed sizes
	}
	return b
}
