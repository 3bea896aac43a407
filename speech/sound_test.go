package speech

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// wave returns n samples of a sine.
func wave(amplitude, hertz float64, rate, n int) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(amplitude * math.Sin(2*math.Pi*hertz*float64(i)/float64(rate)))
	}
	return list
}

// sum adds sounds of equal length.
func sum(list ...[]float32) []float32 {
	out := make([]float32, len(list[0]))
	for _, x := range list {
		for i, v := range x {
			out[i] += v
		}
	}
	return out
}

// differ returns the largest difference between sounds of equal length.
func differ(t *testing.T, a, b []float32) float64 {
	t.Helper()
	if len(a) != len(b) {
		t.Fatalf("%d samples, want %d", len(a), len(b))
	}
	most := 0.0
	for i := range a {
		d := math.Abs(float64(a[i]) - float64(b[i]))
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		most = max(most, d)
	}
	return most
}

// TestReadSound reads files of libsndfile (oracles/speech/sounds.py).
func TestReadSound(t *testing.T) {
	tolerances := map[string]float64{"u8.wav": 1. / 100, "layer3.mp3": 0.02}
	for _, path := range testenv.Files(t, "testdata", "sounds", "*.*") {
		name := filepath.Base(path)
		if filepath.Ext(name) == ".json" {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadSound(bytes.NewReader(data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		rate, n := 8000, 400
		if name == "layer3.mp3" {
			rate, n = 22050, 8000
			got.Samples = aligned(got.Samples, n)
		}
		want := sum(wave(0.25, 440, rate, n), wave(0.125, 880, rate, n))
		tolerance := tolerances[name]
		if tolerance == 0 {
			tolerance = 1. / (1 << 15)
		}
		if got.Rate != rate {
			t.Errorf("%s: rate %d, want %d", name, got.Rate, rate)
		}
		part := got.Samples
		if name == "layer3.mp3" {
			part, want = part[2000:6000], want[2000:6000]
		}
		if d := differ(t, part, want); d > tolerance {
			t.Errorf("%s: differs by %g, at most %g is right", name, d, tolerance)
		}
	}
}

// aligned returns n samples from where a decoded MP3 file agrees best with the sound: its codec
// delays.
func aligned(x []float32, n int) []float32 {
	want := sum(wave(0.25, 440, 22050, n), wave(0.125, 880, 22050, n))
	best, at := math.Inf(1), 0
	for shift := 0; shift+n <= len(x); shift++ {
		e := 0.0
		for i := n / 4; i < n/2; i++ {
			e += math.Pow(float64(x[shift+i]-want[i]), 2)
		}
		if e < best {
			best, at = e, shift
		}
	}
	return x[at : at+n]
}

// TestWAV writes and reads sounds, whole and piece by piece.
func TestWAV(t *testing.T) {
	s := Sound{16000, append(wave(0.9, 100, 16000, 999), 2, -2, float32(math.NaN()))}
	var whole, pieces bytes.Buffer
	if err := WriteWAV(&whole, s); err != nil {
		t.Fatal(err)
	}
	w, err := NewWAVWriter(&pieces, s.Rate)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(s.Samples); at += 100 {
		if err := w.Write(s.Samples[at:min(at+100, len(s.Samples))]); err != nil {
			t.Fatal(err)
		}
	}
	s.Samples[999], s.Samples[1000], s.Samples[1001] = 1, -1, 0
	for name, file := range map[string][]byte{
		"whole": whole.Bytes(), "of unknown length": pieces.Bytes(), "with its header": append(w.Header(), pieces.Bytes()[44:]...),
	} {
		got, err := ReadSound(bytes.NewReader(file))
		if err != nil || got.Rate != s.Rate {
			t.Errorf("%s: rate %d, %v", name, got.Rate, err)
			continue
		}
		if d := differ(t, got.Samples, s.Samples); d > 1./(1<<14) {
			t.Errorf("%s: differs by %g", name, d)
		}
	}
	if !bytes.Equal(w.Header(), whole.Bytes()[:44]) {
		t.Error("the header of pieces differs from the header of a whole sound")
	}
}

// TestUnfitSounds reads files that are refused.
func TestUnfitSounds(t *testing.T) {
	file := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join("testdata", "sounds", name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	wav := func(at int, b ...byte) []byte {
		data := file("pcm16.wav")
		copy(data[at:], b)
		return data
	}
	flac := func(at int, b ...byte) []byte {
		data := file("pcm16.flac")
		copy(data[at:], b)
		return data
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "WAV, FLAC or MP3"},
		{"text", []byte("these are words and no sound"), "WAV, FLAC or MP3"},
		{"no samples", file("pcm16.wav")[:44], "no sound in it"},
		{"cut short", file("pcm16.wav")[:30], "cut short"},
		{"without samples", wav(36, 'l', 'i', 's', 't'), "ends before its samples"},
		{"of no channels", wav(22, 0, 0), "0 channels"},
		{"of many channels", wav(22, 0xff, 0xff), "65535 channels"},
		{"of rate 0", wav(24, 0, 0, 0, 0), "0 samples a second"},
		{"of a huge rate", wav(24, 0xff, 0xff, 0xff, 0xff), "samples a second"},
		{"compressed", wav(20, 7, 0), "code 7"},
		{"of 12 bits", wav(34, 12, 0), "12 bits"},
		{"of two days", wav(40, 0, 0, 0, 0x70), "longer than an hour"},
		{"a FLAC file of another first block", flac(4, 4, 0xff, 0xff, 0xff), "does not begin"},
		{"a FLAC file that claims days", flac(21, 0xff, 0xff, 0xff, 0xff, 0xff), "longer than an hour"},
		{"half a FLAC file", file("pcm16.flac")[:300], "cannot be read"},
		{"half an ID3 tag", []byte("ID3\x04\x00\x00\x7f\x7f\x7f\x7fxxxx"), "cannot be read"},
	} {
		_, err := ReadSound(bytes.NewReader(c.data))
		if err == nil || !errors.Is(err, ErrSound) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestMixer bounds the length of sounds.
func TestMixer(t *testing.T) {
	m, err := newMixer(8, 2)
	if err != nil {
		t.Fatal(err)
	}
	hour := make([]float32, 2*8*maxSeconds+1)
	if err := m.add(hour); err != nil || len(m.Samples) != 8*maxSeconds {
		t.Errorf("an hour: %d samples, %v", len(m.Samples), err)
	}
	if err := m.add(hour[:2]); !errors.Is(err, ErrSound) {
		t.Errorf("more than an hour: %v", err)
	}
}

// FuzzReadSound reads any file.
func FuzzReadSound(f *testing.F) {
	for _, path := range testenv.Files(f, "testdata", "sounds", "*.*") {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ReadSound(bytes.NewReader(data))
		if err != nil {
			if !errors.Is(err, ErrSound) {
				t.Errorf("the error is none of ErrSound: %v", err)
			}
			return
		}
		for _, x := range s.Samples {
			if !(x >= -1 && x <= 1) {
				t.Fatalf("a sample is %v", x)
			}
		}
	})
}

// TestResample resamples sines, whose samples at another rate are known.
func TestResample(t *testing.T) {
	for _, c := range []struct{ from, to int }{
		{22050, 24000}, {24000, 22050}, {44100, 16000}, {48000, 24000}, {8000, 48000}, {44100, 24001}, {16000, 16000},
	} {
		n := c.from / 5
		low := float64(min(c.from, c.to))
		for _, hertz := range []float64{50, low * 0.2, low * 0.4} {
			got := Sound{c.from, wave(0.8, hertz, c.from, n)}.Resample(c.to)
			if want := (n*c.to + c.from - 1) / c.from; len(got.Samples) != want || got.Rate != c.to {
				t.Fatalf("%d to %d: %d samples at %d, want %d", c.from, c.to, len(got.Samples), got.Rate, want)
			}
			edge := len(got.Samples) / 10
			want := wave(0.8, hertz, c.to, len(got.Samples)-edge)[edge:]
			if d := differ(t, got.Samples[edge:len(got.Samples)-edge], want); d > 1e-4 {
				t.Errorf("%d to %d: %g Hz differs by %g", c.from, c.to, hertz, d)
			}
		}
		if 0.6*low < 0.45*float64(c.from) { // a frequency that the lower rate cannot hold is gone
			got := Sound{c.from, wave(0.8, 0.6*low, c.from, n)}.Resample(c.to).Samples
			edge := len(got) / 10
			if d := differ(t, got[edge:len(got)-edge], make([]float32, len(got)-2*edge)); d > 1e-3 {
				t.Errorf("%d to %d: %g of a frequency beyond the band is left", c.from, c.to, d)
			}
		}
	}
	for _, s := range []Sound{{0, []float32{1}}, {16000, nil}, {-1, nil}} {
		if got := s.Resample(24000); len(got.Samples) != 0 {
			t.Errorf("%v becomes %v", s, got)
		}
	}
}

// TestResampleScipy compares with scipy.signal.resample_poly (oracles/speech/sounds.py).
func TestResampleScipy(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "sounds", "resampled.json"))
	if err != nil {
		t.Fatal(err)
	}
	var answers []struct {
		From, To, N, First int
		Sound              []float32
	}
	if err := json.Unmarshal(data, &answers); err != nil || len(answers) == 0 {
		t.Fatal(len(answers), err)
	}
	for _, a := range answers {
		x := sum(wave(0.4, 300, a.From, a.N), wave(0.3, 1234.5, a.From, a.N), wave(0.2, 5000, a.From, a.N))
		got := Sound{a.From, x}.Resample(a.To).Samples
		if d := differ(t, got[a.First:][:len(a.Sound)], a.Sound); d > 2e-3 {
			t.Errorf("%d to %d: differs by %g", a.From, a.To, d)
		}
	}
}
