package picture_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/nacre-ml/nacre/runtime/internal/picture"
)

// enough is the memory in bytes that these tests allow a picture.
const enough = 32 << 20

// open reads a picture, whole or broken, and checks the result.
func open(t *testing.T, data []byte) {
	f, err := picture.Open(data)
	if err != nil || f.Memory > enough {
		return
	}
	p, err := f.Decode()
	if err != nil {
		return
	}
	if len(p.Pixels) != p.Width*p.Height*p.Channels || p.Channels != 1 && p.Channels != 3 {
		t.Errorf("%s: %d bytes for %d by %d pixels of %d", f.Format, len(p.Pixels), p.Width, p.Height, p.Channels)
	}
	if len(p.Pixels) > f.Memory {
		t.Errorf("%s: %d bytes of pixels, %d announced", f.Format, len(p.Pixels), f.Memory)
	}
	p.Grey(make([]byte, p.Width*p.Height))
}

func stored(tb testing.TB) map[string][]byte {
	files := map[string][]byte{}
	for _, folder := range folders {
		names, err := filepath.Glob(filepath.Join(folder, "*.*"))
		if err != nil || len(names) == 0 {
			tb.Fatalf("no stored pictures: %v", err)
		}
		for _, name := range names {
			if files[name], err = os.ReadFile(name); err != nil {
				tb.Fatal(err)
			}
		}
	}
	return files
}

func FuzzDecode(f *testing.F) {
	for _, data := range stored(f) {
		f.Add(data)
	}
	f.Fuzz(open)
}

// TestBroken truncates pictures and changes bytes at random.
func TestBroken(t *testing.T) {
	rounds := 100
	if testing.Short() {
		rounds = 20
	}
	for name, data := range stored(t) {
		r := rand.New(rand.NewPCG(1, uint64(len(data))))
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			for range rounds {
				broken := append([]byte(nil), data...)
				for range 1 + r.IntN(4) {
					broken[min(r.IntN(len(broken)), r.IntN(len(broken)))] = byte(r.IntN(256))
				}
				if r.IntN(3) == 0 {
					broken = broken[:r.IntN(len(broken))]
				}
				open(t, broken)
			}
		})
	}
}
