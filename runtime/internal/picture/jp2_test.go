package picture_test

import (
	"encoding/binary"
	"errors"
	"os"
	"testing"

	"github.com/nacre-ml/nacre/runtime/internal/picture"
)

func box(kind, body string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))) + kind + body
}

// jp2 wraps a stored codestream in boxes and decodes it.
func jp2(t *testing.T, stream, header string) (*picture.Picture, error) {
	t.Helper()
	data, err := os.ReadFile("testdata/openjpeg/" + stream)
	if err != nil {
		t.Fatal(err)
	}
	f, err := picture.Open([]byte(box("jP  ", "\r\n\x87\n") + box("ftyp", "jp2 \x00\x00\x00\x00jp2 ") + box("jp2h",
		header) + box("jp2c", string(data))))
	if err != nil {
		return nil, err
	}
	return f.Decode()
}

func grey(pixels []byte, i int) (r, g, b byte) { return pixels[i], pixels[i], pixels[i] }

// TestJP2 checks the effect of boxes on the components of a codestream.
func TestJP2(t *testing.T) {
	colours := func(pixels []byte, i int) (r, g, b byte) { return pixels[3*i], pixels[3*i+1], pixels[3*i+2] }
	enumerated := func(space byte) string { return box("colr", "\x01\x00\x00\x00\x00\x00"+string([]byte{space})) }
	palette := "\x01\x00\x03\x07\x07\x07"
	for i := range 256 {
		palette += string([]byte{byte(i), byte(255 - i), byte(i / 2)})
	}
	mapping := "\x00\x00\x01\x02" + "\x00\x00\x01\x00" + "\x00\x00\x01\x01"
	for _, tt := range []struct {
		name, stream, header string
		channels             int
		want                 func(pixels []byte, i int) (r, g, b byte)
	}{
		{"rgb", "flat", enumerated(16), 3, colours},
		{"a profile", "flat", box("colr", "\x02\x00\x00profile"), 3, colours},
		{"grey of three components", "flat", enumerated(17), 1, func(p []byte, i int) (r, g, b byte) { return grey([]byte{p[3*i]}, 0) }},
		{"channels the other way round", "flat", enumerated(16) + box("cdef", "\x00\x03\x00\x00\x00\x00\x00\x03\x00\x01\x00\x00\x00\x02\x00\x02\x00\x00\x00\x01"), 3,
			func(p []byte, i int) (r, g, b byte) { return p[3*i+2], p[3*i+1], p[3*i] }},
		{"channels that are not there", "flat", box("cdef", "\x00\x01\x00\x09\x00\x00\x00\x01"), 3, colours},
		{"a palette", "mixed11", box("pclr", palette) + box("cmap", mapping), 3, func(p []byte, i int) (r, g, b byte) { return p[i] / 2, p[i], 255 - p[i] }},
		{"a palette that nothing uses", "mixed11", box("pclr", palette), 1, grey},
		{"a palette of 16 bits", "mixed11", box("pclr", "\x00\x01\x01\x0f\x00\x00"), 0, nil},
		{"a palette cut off", "mixed11", box("pclr", palette[:99]), 0, nil},
		{"a component that is not there", "mixed11", box("pclr", palette) + box("cmap", "\x00\x01\x01\x00"), 0, nil},
		{"colours that are not there", "mixed11", box("pclr", palette) + box("cmap", "\x00\x00\x01\x03"), 0, nil},
		{"a box cut off", "flat", "\x00\x00\x00\xffcolr", 0, nil},
		{"inks", "flat", enumerated(12), 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := jp2(t, tt.stream+".j2k", tt.header)
			if tt.want == nil {
				if err == nil {
					t.Error("it was read")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			plain, err := readPNG("testdata/openjpeg/" + tt.stream + ".png")
			if err != nil {
				t.Fatal(err)
			}
			if p.Channels != tt.channels {
				t.Errorf("%d channels, want %d", p.Channels, tt.channels)
			}
			want := &picture.Picture{Width: plain.Width, Height: plain.Height, Channels: 3}
			for i := range plain.Width * plain.Height {
				r, g, b := tt.want(plain.Pixels, i)
				want.Pixels = append(want.Pixels, r, g, b)
			}
			if err := compare(p, want); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestUnsupported opens headers of pictures that other programs may read.
func TestUnsupported(t *testing.T) {
	frame := func(mark, precision, components string) string {
		return "\xff\xd8\xff" + mark + "\x00\x11" + precision + "\x00\x08\x00\x08" + components
	}
	three := "\x03\x01\x11\x00\x02\x11\x00\x03\x11\x00"
	for name, data := range map[string]string{
		"lossless JPEG":             frame("\xc3", "\x08", three),
		"arithmetic JPEG":           frame("\xc9", "\x08", three),
		"JPEG of 12 bits":           frame("\xc1", "\x0c", three),
		"JPEG of odd factors":       frame("\xc0", "\x08", "\x03\x01\x31\x00\x02\x21\x00\x03\x11\x00"),
		"JPEG without height":       "\xff\xd8\xff\xc0\x00\x11\x08\x00\x00\x00\x08" + three,
		"BMP of an old kind":        "BM" + string(make([]byte, 60)),
		"high-throughput JPEG 2000": "\xff\x4f\xff\x51\x00\x29\x40\x00" + "\x00\x00\x00\x08\x00\x00\x00\x08" + string(make([]byte, 8)) + "\x00\x00\x00\x08\x00\x00\x00\x08" + string(make([]byte, 8)) + "\x00\x01\x07\x01\x01" + "\xff\x50\x00\x08\x00\x02\x00\x00\x00\x00",
	} {
		if _, err := picture.Open([]byte(data)); !errors.Is(err, picture.ErrUnsupported) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
