package nacre_test

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"os/exec"
	goruntime "runtime"
	"testing"

	"github.com/nacre-ml/nacre"
)

// bytesOf returns the bytes that f allocates in Go's heap. Other allocations of the process count,
// too, so it repeats a count above most.
func bytesOf(most int, f func()) int {
	took := 0
	for range 4 {
		var before, after goruntime.MemStats
		goruntime.ReadMemStats(&before)
		f()
		goruntime.ReadMemStats(&after)
		if took = int(after.TotalAlloc - before.TotalAlloc); took <= most {
			break
		}
	}
	return took
}

// alone reports whether the process runs only this test, so that nothing else allocates. Otherwise
// it starts such a process and fails if that fails.
func alone(t *testing.T) bool {
	t.Helper()
	const variable = "NACRE_TEST_ALONE"
	if os.Getenv(variable) != "" {
		return true
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), variable+"=1")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, text)
	}
	return false
}

// TestPictureMemory decodes pictures of every kind of pixels, with just enough memory and with
// less.
func TestPictureMemory(t *testing.T) {
	if !alone(t) {
		return
	}
	const wide, high = 320, 240
	box := image.Rect(0, 0, wide, high)
	flat := image.NewPaletted(box, color.Palette{color.Black, color.White})
	clear := image.NewNRGBA(box)
	clear.Pix[3] = 7
	pngOf := func(img image.Image) []byte {
		var b bytes.Buffer
		if err := png.Encode(&b, img); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	jpegOf := func(img image.Image) []byte {
		var b bytes.Buffer
		if err := jpeg.Encode(&b, img, nil); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	// A decoder takes a file for progressive until it misses a scan that refines another.
	refined := jpegOf(image.NewRGBA(box))
	refined[bytes.Index(refined, []byte{0xff, 0xc0})+1] = 0xc2
	dim := func(n int) nacre.Dim { return nacre.Dim{Size: n} }
	small := nacre.Info{Kind: nacre.TensorKind, DType: nacre.Uint8, Shape: []nacre.Dim{dim(1), dim(3), dim(8), dim(8)}}
	wideIn, highIn, own := small, small, small
	wideIn.Shape = []nacre.Dim{dim(1), dim(3), dim(1), dim(4000)}
	highIn.Shape = []nacre.Dim{dim(1), dim(3), dim(4000), dim(1)}
	own.Shape, own.DType = []nacre.Dim{dim(1), dim(3), {Size: -1, Symbol: "h"}, {Size: -1, Symbol: "w"}}, nacre.Float32
	for name, data := range map[string][]byte{
		"gray png": pngOf(image.NewGray(box)), "palette png": pngOf(flat), "opaque png": pngOf(image.NewRGBA(box)), "png": pngOf(clear),
		"gray png of 16 bits": pngOf(image.NewGray16(box)), "png of 16 bits": pngOf(image.NewNRGBA64(box)),
		"gray jpeg": jpegOf(image.NewGray(box)), "jpeg": jpegOf(image.NewRGBA(box)), "progressive jpeg": refined,
	} {
		for in, v := range map[string]nacre.Info{"small": small, "wide": wideIn, "high": highIn, "own": own} {
			for _, o := range []nacre.ImageOptions{{}, {Fit: nacre.FitLetterbox}} {
				o.MemoryLimit = 1000
				if _, err := nacre.DecodeImage(data, v, o); !errors.Is(err, nacre.ErrMemory) {
					t.Errorf("%s, %s: with 1000 bytes the error is %v, want one of memory", name, in, err)
				}
				// The least limit, to 10 percent.
				const overhead = 200 << 10 // of decoders
				for low, high := 1000, 8<<20; high > low+low/10; {
					o.MemoryLimit = (low + high) / 2
					var err error
					took := bytesOf(o.MemoryLimit+overhead, func() { _, err = nacre.DecodeImage(data, v, o) })
					if errors.Is(err, nacre.ErrMemory) {
						low = o.MemoryLimit
						if took > overhead {
							t.Errorf("%s, %s: %d bytes were taken before the error", name, in, took)
						}
						continue
					}
					high = o.MemoryLimit
					if took > o.MemoryLimit+overhead {
						t.Errorf("%s, %s, fit %d: %d bytes were taken with a limit of %d", name, in, o.Fit, took, o.MemoryLimit)
						break
					}
				}
			}
		}
	}
}

// TestPictureOfFewBytes decodes a picture with pixels that take a thousand times its file.
func TestPictureOfFewBytes(t *testing.T) {
	if !alone(t) {
		return
	}
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, 9000, 7000))); err != nil {
		t.Fatal(err)
	}
	in := nacre.Info{Kind: nacre.TensorKind, DType: nacre.Float32,
		Shape: []nacre.Dim{{Size: 1}, {Size: 3}, {Size: 16}, {Size: 16}}}
	var err error
	took := bytesOf(1<<20,
		func() { _, err = nacre.DecodeImage(file.Bytes(), in, nacre.ImageOptions{MemoryLimit: 16 << 20}) })
	if !errors.Is(err, nacre.ErrMemory) || took > 1<<20 {
		t.Errorf("%d bytes were taken, and the error is %v", took, err)
	}
	img := image.NewGray(image.Rect(0, 0, 4, 4))
	in.Shape[2].Size, in.Shape[3].Size = 4000, 4000
	if _, err := nacre.FromImage(img, in, nacre.ImageOptions{MemoryLimit: 16 << 20}); !errors.Is(err, nacre.ErrMemory) {
		t.Errorf("a large tensor of a small picture: %v, want an error of memory", err)
	}
	if _, err := nacre.FromImage(img, in, nacre.ImageOptions{MemoryLimit: -1}); !errors.Is(err, nacre.ErrOption) {
		t.Errorf("a negative limit: %v, want an error of options", err)
	}
}
