package picture_test

import (
	"flag"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/internal/picture"
)

var more = flag.String("pictures", "", "another folder of pictures that oracles/operators/pictures.py made")

// folders hold pictures and, as NAME.png, the results of other programs: pictures made by
// oracles/operators/pictures.py, and pictures that Pillow cannot write, made with OpenJPEG's
// opj_compress and with Glymur.
var folders = []string{"testdata/pillow", "testdata/openjpeg"}

// TestPictures compares the stored pictures with the results of other programs.
func TestPictures(t *testing.T) {
	folders := folders
	if *more != "" {
		folders = append(folders, *more)
	}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.*"))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		for _, name := range files {
			base, extension, _ := strings.Cut(filepath.Base(name), ".")
			if extension == "png" {
				continue
			}
			format, err := checkPicture(name, filepath.Join(folder, base+".png"))
			if err != nil {
				t.Errorf("%s: %v", filepath.Base(name), err)
			}
			seen[format]++
		}
		t.Logf("%s: %v", folder, seen)
	}
}

func checkPicture(name, answer string) (format string, err error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	want, err := readPNG(answer)
	if err != nil {
		return "", err
	}
	f, err := picture.Open(data)
	if err != nil {
		return "", err
	}
	got, err := f.Decode()
	if err != nil {
		return f.Format, err
	}
	return f.Format, compare(got, want)
}

// readPNG reads the pixels of a grey or coloured PNG.
func readPNG(name string) (*picture.Picture, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	img, err := png.Decode(file)
	if err != nil {
		return nil, err
	}
	b := img.Bounds()
	p := &picture.Picture{Width: b.Dx(), Height: b.Dy(), Channels: 3}
	if g, ok := img.(*image.Gray); ok {
		p.Channels, p.Pixels = 1, g.Pix
		return p, nil
	}
	for y := range p.Height {
		for x := range p.Width {
			r, g, b, _ := img.At(x, y).RGBA()
			p.Pixels = append(p.Pixels, byte(r>>8), byte(g>>8), byte(b>>8))
		}
	}
	return p, nil
}

// compare reports colours that differ.
func compare(got, want *picture.Picture) error {
	if got.Width != want.Width || got.Height != want.Height {
		return fmt.Errorf("got %d by %d pixels, want %d by %d", got.Width, got.Height, want.Width, want.Height)
	}
	a, b := make([]byte, 3*got.Width*got.Height), make([]byte, 3*got.Width*got.Height)
	got.Convert(a, false)
	want.Convert(b, false)
	worst, at, n := 0, 0, 0
	for i, w := range b {
		d := int(a[i]) - int(w)
		if d = max(d, -d); d > 0 {
			n++
		}
		if d > worst {
			worst, at = d, i
		}
	}
	if n > 0 {
		return fmt.Errorf("%d of %d values differ, the most at column %d of row %d: %d, want %d", n, len(b),
			at/3%want.Width, at/3/want.Width, a[at], b[at])
	}
	return nil
}
