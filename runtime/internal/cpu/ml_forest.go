package cpu

import (
	"unsafe"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/ml"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// forest holds the constant operands of a command of trees, in one block of memory.
type forest struct {
	data    []byte
	counts  [forestLists]int // elements of each list
	size    [forestLists]int // bytes of an element
	missing bool
}

// The lists of a forest, in the order of the operands.
const (
	forestNodes = iota
	forestRoots
	forestFirst
	forestTarget
	forestWeight
	forestLists
)

// forestHeader is the size in bytes of the header before the lists: the number of elements of each
// list, then 1 if a node lets NaNs pass.
const forestHeader = 64

// forest packs trees, once for all plans.
func (b *binder) forest(f *ml.Forest, double bool) (*forest, error) {
	key, pack := packKey{data: unsafe.Pointer(f.Model), words: "f32"}, packForest[float32]
	if double {
		key.words, pack = "f64", packForest[float64]
	}
	data, err := b.dev.packs.keep(key, f.Model, func() ([]byte, error) {
		defer b.dev.stages.Begin("pack")()
		return pack(f)
	})
	if err != nil {
		return nil, err
	}
	return forestOf(data, double), nil
}

// packForest writes the header and the lists, each at a multiple of 64.
func packForest[T float32 | float64](of *ml.Forest) ([]byte, error) {
	t, err := layOut[T](of)
	if err != nil {
		return nil, err
	}
	lists := [forestLists][]byte{memoryOf(t.nodes), memoryOf(t.roots), memoryOf(t.first), memoryOf(t.target),
		memoryOf(t.weight)}
	counts := [forestLists]int{len(t.nodes), len(t.roots), len(t.first), len(t.target), len(t.weight)}
	n := forestHeader
	for _, list := range lists {
		n += device.AlignUp(len(list))
	}
	data, err := allocPack(n)
	if err != nil {
		return nil, err
	}
	header, at := forestNumbers(data), forestHeader
	for i, list := range lists {
		header[i] = int64(counts[i])
		copy(data[at:], list)
		at += device.AlignUp(len(list))
	}
	header[forestLists] = 0
	if t.missing {
		header[forestLists] = 1
	}
	return data, nil
}

// forestNumbers returns the header of packed trees.
func forestNumbers(data []byte) []int64 {
	return unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(data))), forestHeader/8)
}

// forestOf reads the result of packForest.
func forestOf(data []byte, double bool) *forest {
	f := &forest{data: data, size: [forestLists]int{16, 4, 4, 4, 4}}
	if double {
		f.size[forestNodes], f.size[forestWeight] = 24, 8
	}
	header := forestNumbers(data)
	for i := range f.counts {
		f.counts[i] = int(header[i])
	}
	f.missing = header[forestLists] != 0
	return f
}

// memoryOf returns the memory of a list.
func memoryOf[T any](list []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*int(unsafe.Sizeof(zero)))
}

// operands returns the lists as operands; none for an empty list.
func (f *forest) operands() (list [forestLists]device.Operand) {
	at := forestHeader
	for i, n := range f.counts {
		n *= f.size[i]
		if n > 0 {
			list[i] = device.Operand{Place: device.Const, Data: f.data[at:][:n]}
		}
		at += device.AlignUp(n)
	}
	return list
}

// words is nacre_forest_words of csrc/ml/ml.h.
func (f *forest) words(rows, features graph.Dim, targets int, how ml.TreeAggregate) (w words) {
	w.dim(rows, features)
	w.int(targets, f.counts[forestRoots], int(how))
	w.bool(f.missing)
	return w
}

// bindTrees binds regressors with scores equal to the results of the trees, in the type in which
// these are computed. The operator has checked that a known number of features suffices.
func bindTrees(o *ml.TreeRegressor, b *binder) error {
	in, out := b.In[0], b.Out[0]
	kernel, double := "f32_forest", o.Double(in.DType)
	d := tensor.F32
	if double {
		kernel, d = "f64_forest", tensor.F64
	}
	if !o.Plain() || in.DType != d || out.DType != d || len(in.Dims) != 2 {
		return device.Refuse("scores are not plain sums of the trees")
	}
	rows, ok := b.Max(in.Dims[0])
	if !ok || !in.Dims[1].IsKnown() {
		return device.Refuse("extents %v are not known", in.Dims)
	}
	f, err := b.forest(o.Forest, double)
	if err != nil {
		return err
	}
	var seen device.Operand
	if !o.Single {
		seen = b.temp(rows * o.Model.Targets)
	}
	c, w := f.operands(), f.words(in.Dims[0], in.Dims[1], o.Model.Targets, o.Aggregate)
	return b.run(kernel, w, b.in(0), c[forestNodes], c[forestRoots], c[forestFirst], c[forestTarget], c[forestWeight],
		b.out(0), seen)
}

// trees runs a command of trees.
func (c *calls) trees(
	name string, f *forest, of *ml.Forest, rows, features int, x, y device.Operand, seen []byte,
) error {
	o := f.operands()
	at := c.at(seen)
	w := f.words(graph.Known(rows), graph.Known(features), of.Model.Targets, of.Aggregate)
	if err := c.run(name, w, x, o[forestNodes], o[forestRoots], o[forestFirst], o[forestTarget], o[forestWeight], y,
		at); err != nil {
		return err
	}
	return c.runAll()
}
