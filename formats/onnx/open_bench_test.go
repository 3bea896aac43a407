package onnx

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// The model of the benchmark: benchLayers layers, each of one constant and two nodes.
const (
	benchLayers = 350
	benchBytes  = 4 << 20 // of a layer's constant
)

// writeLarge writes a model of 1.4 GB to a file with holes. Only the bytes outside constants take
// space on disk.
func writeLarge(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var tail encoder
	for i := range benchLayers {
		in, out := "v"+strconv.Itoa(i), "v"+strconv.Itoa(i+1)
		tail.message(1, func(e *encoder) {
			e.entries(1, []string{in, "w" + strconv.Itoa(i)})
			e.entry(2, "m"+strconv.Itoa(i))
			e.entry(4, "MatMul")
		})
		tail.message(1, func(e *encoder) {
			e.entry(1, "m"+strconv.Itoa(i))
			e.entry(2, out)
			e.entry(4, "Relu")
		})
	}
	(&writer{}).values(&tail, 11, []*graph.Value{{Name: "v0"}})
	(&writer{}).values(&tail, 12, []*graph.Value{{Name: "v" + strconv.Itoa(benchLayers)}})
	heads := make([][]byte, benchLayers)
	length := tail.len()
	for i := range heads {
		heads[i] = constantHead(i)
		length += len(heads[i]) + benchBytes
	}
	start := proto(func(e *encoder) { e.int(1, 8); e.message(8, func(e *encoder) { e.int(2, 17) }) })
	start = protowire.AppendVarint(protowire.AppendTag(start, 7, protowire.BytesType), uint64(length))
	if _, err := f.Write(start); err != nil {
		return err
	}
	for _, h := range heads {
		if _, err := f.Write(h); err != nil {
			return err
		}
		if _, err := f.Seek(benchBytes, 1); err != nil {
			return err
		}
	}
	_, err = f.Write(tail.appendTo(nil))
	return err
}

// constantHead returns the bytes of a constant's field before its elements.
func constantHead(i int) []byte {
	head := proto(func(e *encoder) {
		e.ints(1, []int64{1024, 1024})
		e.int(2, 1)
		e.entry(8, "w"+strconv.Itoa(i))
		e.tag(rawData, protowire.BytesType)
		e.buf = protowire.AppendVarint(e.buf, benchBytes)
	})
	field := protowire.AppendTag(nil, 5, protowire.BytesType)
	return append(protowire.AppendVarint(field, uint64(len(head)+benchBytes)), head...)
}

// opened reads and checks the model, and returns the time and the bytes that stay on the heap.
func opened(tb testing.TB, path string) (took time.Duration, heap int64) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	m, err := openPath(path)
	if err == nil {
		err = graph.Validate(m)
	}
	if err != nil {
		tb.Fatal(err)
	}
	took = time.Since(start)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if len(m.Graph.Nodes) != 2*benchLayers {
		tb.Fatal("nodes are missing")
	}
	if err := m.Close(); err != nil {
		tb.Fatal(err)
	}
	return took, int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "large.onnx")
	if err := writeLarge(path); err != nil {
		testenv.Skip(b, err)
	}
	var heap int64
	var took time.Duration
	n := 0
	for b.Loop() {
		d, h := opened(b, path)
		took += d
		heap = max(heap, h)
		n++
	}
	b.ReportMetric(float64(took.Microseconds())/1000/float64(n), "ms/open")
	b.ReportMetric(float64(heap), "heap-bytes")
}

// TestOpenLarge checks that the heap memory of an open model does not grow with its weights.
func TestOpenLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.onnx")
	if err := writeLarge(path); err != nil {
		testenv.Skip(t, err)
	}
	if _, heap := opened(t, path); heap > 1<<20 {
		t.Errorf("%d bytes stay on the heap", heap)
	}
}
