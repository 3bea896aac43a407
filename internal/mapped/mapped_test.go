package mapped

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// random maps a file of n random bytes.
func random(t *testing.T, n int) (content, data []byte, unmap func() error) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, uint64(n)))
	content = make([]byte, n)
	for i := range content {
		content[i] = byte(r.Uint32())
	}
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if data, unmap, err = File(f, n); err != nil {
		t.Fatal(err)
	}
	return content, data, unmap
}

// resident returns the resident bytes of mapped files of the process.
func resident(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		testenv.Skip(t, "the system does not tell what a process holds: ", err)
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); f[0] == "RssFile:" {
			n, err := strconv.Atoi(f[1])
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("no RssFile")
	return 0
}

// TestReleaseGivesBack reads a file, releases it and reads it again.
func TestReleaseGivesBack(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux gives pages of a private mapping back at once")
	}
	const size = 32 << 20
	content, data, unmap := random(t, size)
	defer unmap()
	before := resident(t)
	if !bytes.Equal(content, data) {
		t.Fatal("the memory is not the file")
	}
	full := resident(t)
	Release(data)
	after := resident(t)
	if full-before < size*3/4 || after > before+size/4 {
		t.Errorf("%d bytes before, %d when touched, %d when released", before, full, after)
	}
	if !bytes.Equal(content, data) {
		t.Error("released memory is not the file")
	}
}

// TestReleaseParts releases parts of several files at any offset, and other memory in between,
// while files are mapped and unmapped.
func TestReleaseParts(t *testing.T) {
	var done sync.WaitGroup
	for range 8 {
		content, data, unmap := random(t, 100_000)
		done.Go(func() {
			r := rand.New(rand.NewPCG(7, 7))
			heap := bytes.Clone(content)
			for range 200 {
				from := r.IntN(len(data) + 1)
				to := from + r.IntN(len(data)-from+1)
				Release(data[from:to])
				Release(heap[from:to])
			}
			if !bytes.Equal(heap, content) || !bytes.Equal(data, content) {
				t.Error("the content changed")
			}
			if err := unmap(); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	if len(files.list) != 0 {
		t.Errorf("%d files are left", len(files.list))
	}
}
