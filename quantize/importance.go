package quantize

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"os"
	"strings"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/gguf"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Importance is the mean of the squares of each input of weights, over calibration data. An element
// of a weight matters in proportion to the mean of its column.
type Importance struct {
	// Columns has the numbers of each weight by its name: as many as a row has elements, for each
	// expert in turn.
	Columns map[string][]float32
	// Datasets are the names of the calibration data.
	Datasets []string
	// Chunks is the number of pieces of calibration data, ChunkSize their tokens.
	Chunks, ChunkSize int

	counts map[string]float32 // rows that a mean is of
	// products are the means of the products of each two columns, by the name of the weight.
	products map[string][]float64
}

// ReadImportance reads a file of importance, which llama.cpp calls an imatrix: of GGUF, or of the
// older binary form.
func ReadImportance(ctx context.Context, path string) (_ *Importance, err error) {
	defer guard.At(path).End(&err)
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	var head [4]byte
	_, err = f.Read(head[:])
	f.Close()
	if err == nil && gguf.Probe(head[:]) {
		m, err := formats.LoadWithin(formats.NewBudget(ctx, formats.Limits{}), path)
		if err != nil {
			return nil, err
		}
		defer m.Close()
		return fromGGUF(m)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return fromBinary(path, data)
}

// fromGGUF reads importance from the tensors NAME.in_sum2 and NAME.counts.
func fromGGUF(m *graph.Model) (*Importance, error) {
	wrong := func(name, format string, args ...any) error {
		return graph.Errorf(graph.ErrFormat, "%s: importance of %q: "+format, append([]any{m.File, name}, args...)...)
	}
	if kind := text(m, "general.type"); kind != "imatrix" {
		return nil, graph.Errorf(graph.ErrFormat, "%s is a file of general.type %q, not imatrix", m.File, kind)
	}
	p := &Importance{Columns: map[string][]float32{}, Chunks: number(m, "imatrix.chunk_count"), ChunkSize: number(m, "imatrix.chunk_size")}
	for _, pair := range m.Meta {
		if pair.Key == "imatrix.datasets" && pair.Data != nil && pair.Data.DType() == tensor.String {
			p.Datasets = append(p.Datasets, pair.Data.Strings()...)
		}
	}
	counts := map[string]*tensor.Tensor{}
	for _, x := range m.Graph.Initializers {
		if name, ok := strings.CutSuffix(x.Name, ".counts"); ok {
			counts[name] = x.Tensor
		}
	}
	for _, x := range m.Graph.Initializers {
		name, ok := strings.CutSuffix(x.Name, ".in_sum2")
		if !ok {
			continue
		}
		c := counts[name]
		shape := x.Tensor.Shape()
		if c == nil || c.DType() != tensor.F32 || x.Tensor.DType() != tensor.F32 || len(shape) == 0 || c.Len() == 0 || x.Tensor.Len()%c.Len() != 0 {
			return nil, wrong(name, "sums are %v and counts %v, not float32 of the same experts", x.Tensor, c)
		}
		list := make([]float32, x.Tensor.Len())
		n, per := tensor.View[float32](c.Aligned()), len(list)/c.Len()
		for i, v := range tensor.View[float32](x.Tensor.Aligned()) {
			if list[i] = v / n[i/max(per, 1)]; n[i/max(per, 1)] == 0 {
				list[i] = 1 // an expert that was never chosen
			}
		}
		if err := p.put(name, list); err != nil {
			return nil, wrong(name, "%w", err)
		}
	}
	if len(p.Columns) == 0 {
		return nil, graph.Errorf(graph.ErrFormat, "%s has no importance", m.File)
	}
	return p, nil
}

// put adds the numbers of a weight.
func (p *Importance) put(name string, list []float32) error {
	for i, v := range list {
		if !(v >= 0) || v > math.MaxFloat32 {
			return graph.Errorf(graph.ErrFormat, "number %d is %v, neither 0 nor positive", i, v)
		}
	}
	if _, ok := p.Columns[name]; ok {
		return graph.Errorf(graph.ErrFormat, "it is there more than once")
	}
	p.Columns[name] = list
	return nil
}

// fromBinary reads importance from the older form:
//
//	i32 entries | entries | i32 chunks | i32 length | name of the data
//	entry  i32 length | name | i32 calls | i32 values | f32 means times calls
//
// The last three fields may be missing.
func fromBinary(path string, data []byte) (*Importance, error) {
	r := bytes.NewReader(data)
	at := func() int64 { return r.Size() - int64(r.Len()) }
	var failed error
	fail := func(format string, args ...any) {
		if failed == nil {
			failed = &graph.Error{Stage: "load", File: path, Offset: at(), Kind: graph.ErrFormat, Err: graph.Errorf(graph.ErrFormat, format, args...)}
		}
	}
	word := func(what string, least, most int) int {
		var v int32
		if err := binary.Read(r, binary.LittleEndian, &v); err != nil {
			fail("the file ends before %s", what)
			return 0
		}
		if int(v) < least || int(v) > most {
			fail("%s is %d, and %d bytes follow; it is no file of importance", what, v, r.Len())
			return 0
		}
		return int(v)
	}
	word32 := math.MaxInt32
	p := &Importance{Columns: map[string][]float32{}}
	for range word("the number of entries", 1, r.Len()/16) {
		name := make([]byte, word("the length of a name", 1, r.Len()))
		_, _ = r.Read(name)
		calls := word("the number of calls", 0, word32)
		list := make([]float32, word("the number of values", 1, r.Len()/4))
		if failed != nil {
			return nil, failed
		}
		if err := binary.Read(r, binary.LittleEndian, list); err != nil {
			fail("the file ends within the values of %q", name)
		}
		for i := range list {
			if list[i] /= float32(calls); calls == 0 {
				list[i] = 1
			}
		}
		if failed == nil {
			if err := p.put(string(name), list); err != nil {
				fail("%q: %w", name, err)
			}
		}
		if failed != nil {
			return nil, failed
		}
	}
	if failed == nil && r.Len() > 0 {
		p.Chunks = word("the number of chunks", 0, word32)
		name := make([]byte, word("the length of a name", 0, r.Len()))
		_, _ = r.Read(name)
		p.Datasets = []string{string(name)}
		if r.Len() > 0 {
			fail("%d bytes follow the last entry", r.Len())
		}
	}
	return p, failed
}

// of returns the importance of the columns of each row of a weight, nil if there is none.
func (p *Importance) of(name string, shape tensor.Shape) (func(row int) []float32, error) {
	if p == nil {
		return nil, nil
	}
	list, ok := p.Columns[name]
	if !ok {
		return nil, nil
	}
	k, experts := shape[len(shape)-1], 1
	if len(shape) == 3 {
		experts = shape[0]
	}
	switch {
	case len(list) == k:
		return func(int) []float32 { return list }, nil
	case len(list) == k*experts:
		rows := shape[len(shape)-2]
		return func(row int) []float32 { return list[row/rows*k:][:k] }, nil
	}
	return nil, graph.Errorf(graph.ErrShape, "weight %q is %v, and its importance has %d numbers; is it of another model?", name, shape, len(list))
}
