package onnx

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// openAll reads and checks data as a model. It fails the test if that panics or returns an error of
// no kind.
func openAll(t *testing.T, data []byte) error {
	t.Helper()
	m, err := Read(nil, "test.onnx", data)
	if err == nil {
		err = graph.Validate(m)
	}
	checkRefused(t, err)
	checkVerify(t, data, limits{}, err)
	return err
}

// checkVerify fails the test unless the first problem of verifying is the error of reading.
func checkVerify(t *testing.T, data []byte, l limits, err error) {
	t.Helper()
	d := newDecoder(nil, "test.onnx", data)
	d.limits = l.withDefaults()
	problems := d.verify()
	if (len(problems) > 0) != (err != nil) {
		t.Fatalf("reading finds %v, verifying %v", err, problems)
	}
	var read, verified *graph.Error
	if errors.As(err, &read) && errors.As(problems[0], &verified) &&
		(read.Offset != verified.Offset || read.Err.Error() != verified.Err.Error()) {
		t.Errorf("reading finds %v, verifying %v", err, problems)
	}
}

// readLimited is Read with other limits.
func readLimited(data []byte, l limits) (*graph.Model, error) {
	d := newDecoder(nil, "fuzz.onnx", data)
	d.limits = l.withDefaults()
	m := d.model()
	return m, d.result()
}

func TestTruncated(t *testing.T) {
	for _, m := range []*graph.Model{small(), everything()} {
		data := written(t, m)
		for n := range data {
			m, err := Read(nil, "test.onnx", data[:n])
			checkRefused(t, err)
			if err == nil && m.Graph == nil {
				t.Fatalf("%d bytes give a model without a graph", n)
			}
			var e *graph.Error
			if errors.As(err, &e) && (e.Offset < 0 || e.Offset > int64(n)) {
				t.Errorf("%d bytes: error at byte %d", n, e.Offset)
			}
		}
	}
}

func TestBitFlips(t *testing.T) {
	data := written(t, small())
	for i := range data {
		for bit := range 8 {
			data[i] ^= 1 << bit
			openAll(t, data)
			data[i] ^= 1 << bit
		}
	}
	data = written(t, everything())
	for i := range data {
		data[i] ^= 0xff
		openAll(t, data)
		data[i] ^= 0xff
	}
}

// TestSplices puts lengths and numbers of extreme size at every offset.
func TestSplices(t *testing.T) {
	data := written(t, small())
	huge := [][]byte{
		{0xff, 0xff, 0xff, 0xff, 0x0f},
		{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
		{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80},
	}
	for i := range data {
		for _, h := range huge {
			openAll(t, append(append(append([]byte{}, data[:i]...), h...), data[i+1:]...))
		}
	}
}

// modelBytes builds a ModelProto of IR version 8 and operator set 17 with the fields of a graph.
func modelBytes(fill func(e *encoder), more ...func(e *encoder)) []byte {
	return proto(func(e *encoder) {
		e.int(1, 8)
		e.message(7, fill)
		e.message(8, func(e *encoder) { e.int(2, 17) })
		for _, f := range more {
			f(e)
		}
	})
}

// nested wraps a message in itself without building each level anew.
func nested(depth int, inner []byte, wrap func(e *encoder, inner []byte)) []byte {
	for range depth {
		last := inner
		inner = proto(func(e *encoder) { wrap(e, last) })
	}
	return inner
}

func TestHostile(t *testing.T) {
	subgraphs := func(depth int) []byte {
		return nested(depth, nil, func(e *encoder, inner []byte) {
			e.message(1, func(e *encoder) {
				e.entry(4, "If")
				e.message(5, func(e *encoder) { e.entry(1, "b"); e.bytes(6, inner) })
			})
		})
	}
	types := func(depth int) []byte {
		return nested(depth, nil, func(e *encoder, inner []byte) {
			e.message(4, func(e *encoder) { e.bytes(1, inner) })
		})
	}
	call := func(name string) func(e *encoder) {
		return func(e *encoder) { e.entry(4, name); e.entry(7, "f") }
	}
	cycle := func(n int) []func(e *encoder) {
		var list []func(e *encoder)
		for i := range n {
			list = append(list, func(e *encoder) {
				e.message(25, func(e *encoder) {
					e.entry(1, fmt.Sprint("f", i))
					e.message(7, call(fmt.Sprint("f", (i+1)%n)))
					e.entry(10, "f")
				})
			})
		}
		return list
	}
	initializer := func(fill func(e *encoder)) func(e *encoder) {
		return func(e *encoder) { e.message(5, fill) }
	}
	attr := func(fill func(e *encoder)) func(e *encoder) {
		return func(e *encoder) {
			e.message(1, func(e *encoder) { e.entry(2, "y"); e.entry(4, "Op"); e.message(5, fill) })
		}
	}
	none := func(*encoder) {}
	opset := func(domain string, version int64) []byte {
		return proto(func(e *encoder) {
			e.int(1, 8)
			e.message(7, none)
			e.message(8, func(e *encoder) { e.text(1, domain); e.int(2, version) })
		})
	}
	cases := []struct {
		name string
		data []byte
		want string
	}{
		{"empty file", nil, "no ir_version"},
		{"text", []byte("hello, world\n"), ""},
		{"zeros", make([]byte, 100), "no field tag"},
		{"no graph", proto(func(e *encoder) { e.int(1, 8) }), "no graph"},
		{"two graphs", modelBytes(none, func(e *encoder) { e.message(7, none) }), "two graphs"},
		{"no IR version", proto(func(e *encoder) { e.message(7, none) }), "no ir_version"},
		{"IR version later", proto(func(e *encoder) { e.int(1, 15) }), "ir_version 15 is newer than 14"},
		{"IR version negative", proto(func(e *encoder) { e.int(1, -1) }), "ir_version -1"},
		{"operator set later", opset("", 29), "operator set 29 is newer than 28"},
		{"operator set zero", opset("", 0), "version 0 of operator set"},
		{"operator set huge", opset("x", 1<<40), "version 1099511627776"},
		{"initializer twice", modelBytes(weights(tensorBytes(1, []int64{1}, raw(1, 2, 3, 4)), tensorBytes(1, []int64{1}, raw(1, 2, 3, 5)))), `initializer "w" is stored twice, with values that differ`},
		{"initializer twice, of two types", modelBytes(weights(tensorBytes(1, []int64{1}, raw(1, 2, 3, 4)), tensorBytes(6, []int64{1}, raw(1, 2, 3, 4)))), "values that differ"},
		{"operator sets many", modelBytes(none, func(e *encoder) {
			for i := range 300 {
				e.message(8, func(e *encoder) { e.entry(1, fmt.Sprint("d", i)); e.int(2, 1) })
			}
		}), "more than 256 domains"},
		{"domain not imported", modelBytes(func(e *encoder) {
			e.message(1, func(e *encoder) { e.entry(2, "y"); e.entry(4, "Scaler"); e.entry(7, "ai.onnx.ml") })
		}), `node "y" (Scaler): domain "ai.onnx.ml" is used and no version of it is imported`},
		{"no operator", modelBytes(func(e *encoder) { e.message(1, func(e *encoder) { e.entry(3, "n") }) }), "node has no operator"},
		{"subgraphs deep", modelBytes(func(e *encoder) { e.buf = append(e.buf, subgraphs(2000)...) }), "graphs nested more than 64 deep"},
		{"types deep", modelBytes(func(e *encoder) { e.message(11, func(e *encoder) { e.bytes(2, types(2000)) }) }), "types nested more than 64 deep"},
		{"groups deep", append([]byte{8, 8}, bytes.Repeat([]byte{0x9b, 0x06}, 200_000)...), "field 99"},
		{"function calls itself", modelBytes(none, cycle(1)...), "calls itself"},
		{"functions in a circle", modelBytes(none, cycle(20_000)...), "calls itself"},
		{"elements claimed", modelBytes(initializer(func(e *encoder) { e.int(1, 1<<40); e.int(2, 1); e.entry(8, "w") })), `tensor "w": float32[1099511627776] needs`},
		{"strings claimed", modelBytes(initializer(func(e *encoder) { e.int(1, 1<<40); e.int(2, 8); e.entry(8, "w") })), `tensor "w"`},
		{"integers claimed", modelBytes(initializer(func(e *encoder) { e.int(1, 1<<40); e.int(2, 7); e.bytes(7, []byte{1}) })), "needs 1099511627776 entries"},
		{"external", modelBytes(initializer(func(e *encoder) { e.int(2, 1); e.int(14, 1) })), "open the model as a file"},
		{"extents of a type many", modelBytes(func(e *encoder) {
			e.message(11, func(e *encoder) {
				e.message(2, func(e *encoder) {
					e.message(1, func(e *encoder) {
						e.message(2, func(e *encoder) { e.entries(1, make([]string, 65)) })
					})
				})
			})
		}), "more than 64 axes"},
		{"map of floats", modelBytes(func(e *encoder) {
			e.message(11, func(e *encoder) {
				e.message(2, func(e *encoder) { e.message(5, func(e *encoder) { e.int(1, 1) }) })
			})
		}), "keys of type float32"},
		{"attribute of two kinds", modelBytes(attr(func(e *encoder) { e.entry(1, "a"); e.float(2, 1); e.int(3, 1) })), "kinds float and int"},
		{"attribute of unknown kind", modelBytes(attr(func(e *encoder) { e.entry(1, "a"); e.int(20, 99) })), "unknown kind 99"},
		{"attribute without tensor", modelBytes(attr(func(e *encoder) { e.entry(1, "a"); e.int(20, 4) })), "has no value"},
		{"attribute without graph", modelBytes(attr(func(e *encoder) { e.entry(1, "a"); e.int(20, 5) })), "has no value"},
		{"attribute floats cut", modelBytes(attr(func(e *encoder) { e.entry(1, "a"); e.bytes(7, []byte{1, 2, 3}) })), "3 bytes of floats"},
		{"attribute ints cut", modelBytes(attr(func(e *encoder) { e.entry(1, "a"); e.bytes(8, []byte{1, 0x80}) })), "field 8"},
		{"reference to a graph", modelBytes(attr(func(e *encoder) { e.entry(1, "a"); e.int(20, 5); e.entry(21, "r") })), "stands in none"},
		{"graph as number", proto(func(e *encoder) { e.int(1, 8); e.int(7, 1) }), "wire type"},
		{"name as number", modelBytes(func(e *encoder) { e.int(2, 1) }), "wire type"},
		{"float as number", modelBytes(attr(func(e *encoder) { e.int(2, 1) })), "wire type"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := openAll(t, c.data)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestLimits checks that parts of two bytes in a file and hundreds of bytes in memory are counted.
func TestLimits(t *testing.T) {
	l := limits{objects: 1000, strings: 1000}
	const n = 2000
	cases := []struct {
		name string
		fill func(e *encoder)
	}{
		{"nodes", func(e *encoder) { e.entries(1, make([]string, n)) }},
		{"tensors", func(e *encoder) { e.entries(5, make([]string, n)) }},
		{"inputs", func(e *encoder) { e.entries(11, make([]string, n)) }},
		{"metadata", func(e *encoder) { e.entries(16, make([]string, n)) }},
		{"annotations", func(e *encoder) { e.entries(14, make([]string, n)) }},
		{"attributes", func(e *encoder) { e.message(1, func(e *encoder) { e.entries(5, make([]string, n)) }) }},
		{"names", func(e *encoder) { e.message(1, func(e *encoder) { e.entries(1, make([]string, n)) }) }},
		{"strings", func(e *encoder) {
			e.message(5, func(e *encoder) { e.int(1, n); e.int(2, 8); e.entries(stringData, make([]string, n)) })
		}},
		{"attribute strings", func(e *encoder) {
			e.message(1, func(e *encoder) { e.message(5, func(e *encoder) { e.entries(9, make([]string, n)) }) })
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := readLimited(modelBytes(c.fill), l)
			checkRefused(t, err)
			if err == nil {
				t.Error("read")
			}
		})
	}
}

// TestHostileMemory reads files that claim large tensors, and measures the memory allocated.
func TestHostileMemory(t *testing.T) {
	claims := [][]byte{
		tensorBytes(1, []int64{1 << 40}, raw(1, 2, 3, 4)),
		tensorBytes(8, []int64{1 << 40}, func(*encoder) {}),
		tensorBytes(1, []int64{1 << 20, 1 << 20}, func(e *encoder) { e.bytes(floatData, make([]byte, 40)) }),
		tensorBytes(26, []int64{1 << 50}, packedInts(int32Data, 1, 2, 3)),
	}
	for _, data := range claims {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := ReadTensor(data)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, graph.ErrFormat) {
			t.Errorf("got %v", err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<10 {
			t.Errorf("%v: %d bytes allocated", err, n)
		}
	}
}

// TestListMemory reads extents in fields of their own before a mebibyte of elements. The list of
// extents must not grow with the elements.
func TestListMemory(t *testing.T) {
	data := tensorBytes(2, []int64{1, 1, 1, 1 << 10, 1, 1 << 10}, raw(make([]byte, 1<<20)...))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, x, err := ReadTensor(data)
	runtime.ReadMemStats(&after)
	if err != nil || x.Len() != 1<<20 {
		t.Fatalf("got %v, %v", x, err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 64<<10 {
		t.Errorf("%d bytes allocated", n)
	}
}

func TestVersions(t *testing.T) {
	node := func(domain string) func(e *encoder) {
		return func(e *encoder) { e.message(1, func(e *encoder) { e.entry(4, "Op"); e.text(7, domain) }) }
	}
	model := func(ir int64, opsets []graph.Opset, domain string) []byte {
		return proto(func(e *encoder) {
			e.int(1, ir)
			e.message(7, node(domain))
			for _, o := range opsets {
				e.message(8, func(e *encoder) { e.text(1, o.Domain); e.int(2, int64(o.Version)) })
			}
		})
	}
	cases := []struct {
		name   string
		data   []byte
		domain string
		want   int
	}{
		{"first", model(1, nil, ""), "", 1},
		{"first, other domain", model(1, nil, "x"), "x", 1},
		{"standard", model(8, []graph.Opset{{Version: 17}}, ""), "", 17},
		{"standard spelled out", model(8, []graph.Opset{{Domain: "ai.onnx", Version: 17}}, ""), "", 17},
		{"node spelled out", model(8, []graph.Opset{{Version: 17}}, "ai.onnx"), "", 17},
		{"both spellings", model(8, []graph.Opset{{Version: 17}, {Domain: "ai.onnx", Version: 17}}, ""), "", 17},
		{"classical", model(8, []graph.Opset{{Domain: "ai.onnx.ml", Version: 3}}, "ai.onnx.ml"), "ai.onnx.ml", 3},
		{"contributed, not imported", model(8, []graph.Opset{{Version: 17}}, "com.microsoft"), "com.microsoft", 1},
		{"own, imported", model(8, []graph.Opset{{Domain: "mine", Version: 5}}, "mine"), "mine", 5},
		{"latest", model(14, []graph.Opset{{Version: 28}}, ""), "", 28},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m, err := Read(nil, "", c.data)
			if err != nil {
				t.Fatal(err)
			}
			if n := m.Graph.Nodes[0]; n.Version != c.want || n.Domain != c.domain {
				t.Errorf("%q version %d", n.Domain, n.Version)
			}
		})
	}
}

// TestImplicitKinds reads attributes without their kind, as the first IR version writes them.
func TestImplicitKinds(t *testing.T) {
	for _, row := range attrKinds {
		data := modelBytes(func(e *encoder) {
			e.message(1, func(e *encoder) {
				e.entry(4, "Op")
				e.message(5, func(e *encoder) {
					switch row.kind {
					case graph.AttrFloat, graph.AttrFloats:
						e.float(row.field, 1)
					case graph.AttrInt, graph.AttrInts:
						e.int(row.field, 1)
					case graph.AttrTensor, graph.AttrTensors:
						e.bytes(row.field, must(WriteTensor(nil, "", tensor.New(tensor.F32))))
					case graph.AttrSparse, graph.AttrSparses:
						e.message(row.field, func(e *encoder) { e.bytes(1, must(WriteTensor(nil, "", tensor.New(tensor.F32, 0)))) })
					default:
						e.bytes(row.field, nil)
					}
				})
			})
		})
		m, err := Read(nil, "", data)
		if err != nil {
			t.Errorf("%v: %v", row.kind, err)
			continue
		}
		if got := m.Graph.Nodes[0].Attrs[0].Kind; got != row.kind {
			t.Errorf("%v is taken for %v", row.kind, got)
		}
	}
}

func TestProbe(t *testing.T) {
	for _, m := range []*graph.Model{small(), everything()} {
		data := written(t, m)
		if !Probe(data) || !Probe(data[:20]) {
			t.Error("a model is not known as such")
		}
	}
	for _, s := range []string{"", "GPTRSCHK....", "{\"a\": 1}", "\x00\x00\x00\x00", "hello, world\n", "\x08"} {
		if Probe([]byte(s)) {
			t.Errorf("%q is taken for a model", s)
		}
	}
}

// TestUnsorted reads nodes in another order than they run.
func TestUnsorted(t *testing.T) {
	m := small()
	m.Graph.Nodes[0], m.Graph.Nodes[1] = m.Graph.Nodes[1], m.Graph.Nodes[0]
	again := must(Read(nil, "", written(t, m)))
	if again.Graph.Nodes[0].Op != "Add" {
		t.Error("nodes are not put in order")
	}
}
