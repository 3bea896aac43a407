package picture_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/internal/picture"
)

func TestPNM(t *testing.T) {
	for _, tt := range []struct {
		name, file    string
		width, height int
		want          string // empty for a file that is refused
	}{
		{"bits as digits", "P1 3 2 101 0 1\n1", 3, 2, "\x00\xff\x00\xff\x00\x00"},
		{"bits", "P4\n10 2\n\xaa\x40\x00\xc0", 10, 2, "\x00\xff\x00\xff\x00\xff\x00\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00"},
		{"decimals", "P2\n2 2\n255\n0 1\n254\t255", 2, 2, "\x00\x01\xfe\xff"},
		{"colours as decimals", "P3 1 2 100 0 50 100 1 2 3", 1, 2, "\x00\x80\xff\x03\x05\x08"},
		{"comments", "P2 # two\n#lines # of it\n2 1# and\n15 # here\n3 # there\n 15", 2, 1, "\x33\xff"},
		{"grey", "P5 2 1 255\n\x00\x7f", 2, 1, "\x00\x7f"},
		{"data that look like space", "P5 2 1 255\n\n\n", 2, 1, "\n\n"},
		{"few greys", "P5 3 1 3 \x00\x01\x03", 3, 1, "\x00\x55\xff"},
		{"16 bits", "P5 2 1 65535\n\x12\x34\xff\xff", 2, 1, "\x12\xff"},
		{"colours", "P6 1 1 255 abc and more", 1, 1, "abc"},
		{"a sample beyond the largest", "P2 1 1 7 8", 0, 0, ""},
		{"too few decimals", "P2 2 1 7 8", 0, 0, ""},
		{"too few bytes", "P6 1 1 255 ab", 0, 0, ""},
		{"no bit", "P1 1 1 2", 0, 0, ""},
		{"no pixels", "P5 0 3 255 ", 0, 0, ""},
		{"no largest sample", "P5 1 1 0 a", 0, 0, ""},
		{"samples of 17 bits", "P5 1 1 65536 aaa", 0, 0, ""},
		{"a huge picture", "P5 4294967296 4294967296 255 aaa", 0, 0, ""},
		{"a large picture", "P6 2147483647 2147483647 255 aaa", 0, 0, ""},
		{"a negative width", "P5 -1 1 255 a", 0, 0, ""},
		{"only the magic number", "P5", 0, 0, ""},
		{"no space", "P55 1 255 a", 0, 0, ""},
		{"an endless comment", "P5 1 1 # 255 a", 0, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := picture.Open([]byte(tt.file))
			if err == nil {
				var p *picture.Picture
				p, err = f.Decode()
				if err == nil && tt.want != "" && (p.Width != tt.width || p.Height != tt.height || string(p.Pixels) != tt.want) {
					t.Errorf("got %d by %d pixels %q, want %d by %d pixels %q", p.Width, p.Height, p.Pixels, tt.width, tt.height,
						tt.want)
				}
			}
			if (err != nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), "PNM: ") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestNoPicture opens data of no known format.
func TestNoPicture(t *testing.T) {
	for _, data := range [][]byte{nil, {0}, []byte("GIF89a"), []byte("P7\n"), []byte("RIFF1234WAVE"),
		bytes.Repeat([]byte{0xff}, 100)} {
		if f, err := picture.Open(data); err == nil {
			t.Errorf("%q is %v", data, f.Format)
		}
	}
}
