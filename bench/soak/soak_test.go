// Package soak has a test that runs all features of a session at once, for as long as one likes.
package soak

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

var (
	lasts      = flag.Duration("soak", 0, "how long TestSoak goes on; 0 for a few rounds")
	deviceName = flag.String("soak-device", "", "the Vulkan device that TestSoak has sessions on, too")
)

// goroutines is the number of goroutines of TestSoak.
const goroutines = 16

// chore is a piece of work that any number of goroutines may do at once. Wrong results are an
// error.
type chore struct {
	name string
	do   func(r *rand.Rand) error
}

// TestSoak has goroutines open, run, bind, stream, generate, cancel and close without pause. All
// results equal the session's first, bit for bit, and memory does not grow.
//
//	go test -race -run '^TestSoak$' -timeout 0 ./bench/soak -soak 1h -soak-device 0 -v
func TestSoak(t *testing.T) {
	settled := func() (heap uint64, running int) {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc, runtime.NumGoroutine()
	}
	list, end := chores(t)
	heap, before := settled()
	t.Logf("%d kinds of chores; %d MiB of Go's heap, %d MiB resident", len(list), heap>>20, residentBytes(t)>>20)

	var done, failed atomic.Int64
	var left atomic.Bool
	var all sync.WaitGroup
	count := make([]atomic.Int64, len(list))
	for i := range goroutines {
		all.Go(func() {
			r := rand.New(rand.NewPCG(7, uint64(i)))
			for n := 0; !left.Load() && (*lasts > 0 || n < 2*len(list)/goroutines+4); n++ {
				k := r.IntN(len(list))
				if err := list[k].do(r); err != nil && failed.Add(1) < 20 {
					t.Errorf("%s: %v", list[k].name, err)
				}
				count[k].Add(1)
				done.Add(1)
			}
		})
	}
	if *lasts > 0 {
		watch(t, *lasts, &done)
		left.Store(true)
	}
	all.Wait()
	times := map[string]int64{}
	for k, c := range list {
		times[c.name] += count[k].Load()
	}
	for _, name := range slices.Sorted(maps.Keys(times)) {
		t.Logf("%8d times %s", times[name], name)
	}
	last, running := settled()
	runtime.KeepAlive(list)
	t.Logf("%d chores, %d failed; %d MiB of Go's heap", done.Load(), failed.Load(), last>>20)
	if most := heap + heap/4 + 32<<20; last > most {
		t.Errorf("%d bytes of Go's heap are left, where %d were before", last, heap)
	}
	if running > before {
		t.Errorf("%d goroutines are left, where %d were before", running, before)
	}
	end()
}

// watch waits for d. It is an error if resident memory in the second half clearly exceeds its most
// in the first. Garbage is collected before memory is looked at: a slow machine collects it late.
func watch(t *testing.T, d time.Duration, done *atomic.Int64) {
	t.Helper()
	const samples = 60
	var most [2]int
	for i := range samples {
		time.Sleep(d / samples)
		debug.FreeOSMemory()
		bytes := residentBytes(t)
		half := 2 * i / samples
		most[half] = max(most[half], bytes)
		t.Logf("%v: %d chores, %d MiB resident", (d * time.Duration(i+1) / samples).Round(time.Second), done.Load(),
			bytes>>20)
	}
	if most[1] > most[0]+most[0]/8+16<<20 {
		t.Errorf("%d MiB were resident in the second half, %d in the first", most[1]>>20, most[0]>>20)
	}
}

// residentBytes returns the resident memory of the process, or 0 if the system does not report it.
func residentBytes(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, resident int
	if _, err := fmt.Sscan(string(data), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * os.Getpagesize()
}

// chores makes models and sessions, and returns chores that use them. The function end closes them.
func chores(t *testing.T) (list []chore, end func()) {
	t.Helper()
	var closers []func()
	add := func(c ...chore) { list = append(list, c...) }
	var device nacre.Device
	ways := 2
	if *deviceName != "" {
		d, err := vulkan.Open(*deviceName, vulkan.Options{})
		if err != nil {
			t.Fatal(err)
		}
		device, ways = d, 3
		closers = append(closers, func() { d.Close() })
	}
	for _, top := range topologies.All {
		if !slices.Contains([]string{"perceptron", "trees_1000", "voice", "listener", "mobilenetv3"}, top.Name) {
			continue
		}
		file := encode(t, top.Build())
		add(opening(t, top.Name, file), broken(top.Name, file))
		for _, o := range []nacre.Options{{Threads: 1}, {Threads: 2}, {Threads: 2, Device: device}}[:ways] {
			m, s := decode(t, top.Name, file, o)
			closers = append(closers, func() { s.Close(); m.Close() })
			name := fmt.Sprintf("%s on %d threads", top.Name, o.Threads)
			if o.Device != nil {
				name = top.Name + " on " + o.Device.Name()
			}
			add(running(t, name, s), binding(t, name, s), cancelling(t, name, s), looking(t, name, s))
		}
	}
	file := encode(t, topologies.Decoder(2, 32, 2, 50))
	for _, o := range []nacre.Options{{Threads: 1}, {Threads: 2}, {Threads: 2, Device: device}}[:ways] {
		m, s := decode(t, "decoder", file, o)
		closers = append(closers, func() { s.Close(); m.Close() })
		add(streaming(t, s))
	}
	m, s := decode(t, "llama",
		encode(t, topologies.Llama(topologies.LlamaSize{Layers: 2, Width: 64, Heads: 4, KVHeads: 2, Hidden: 96, Words: 100,
			FourBits: true})), nacre.Options{})
	closers = append(closers, func() { s.Close(); m.Close() })
	add(generating(t, s))
	add(limited(t))
	models := prepare(t)
	const share = 10 // more chores for operators, because they are many
	add(slices.Repeat([]chore{operating(models, nil)}, share)...)
	if device != nil {
		add(slices.Repeat([]chore{operating(models, device)}, share)...)
	}
	return list, func() {
		for _, f := range slices.Backward(closers) {
			f()
		}
	}
}

func encode(t *testing.T, m *graph.Model) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := onnx.Write(&file, m); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func decode(t *testing.T, name string, file []byte, o nacre.Options) (*nacre.Model, *nacre.Session) {
	t.Helper()
	m, err := nacre.Decode(name, file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.NewSession(o)
	if err != nil {
		t.Fatal(err)
	}
	return m, s
}
