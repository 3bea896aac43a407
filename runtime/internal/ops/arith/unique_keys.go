package arith

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// uniqueKeys has width keys for every slice of a value. Keys are equal if and only if the slices
// are, and they sort like the slices.
type uniqueKeys struct {
	run   *op.Run
	pace  *op.Pace
	list  []uint64 // [slices, width]
	width int
}

func newUniqueKeys(c *op.Run, x *tensor.Tensor, s kit.AxisView) (*uniqueKeys, error) {
	list, err := c.ScratchInt64s(s.Outer * s.N * s.Inner)
	if err != nil {
		return nil, err
	}
	k := &uniqueKeys{c, c.Pace(), unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(list))), len(list)), s.Outer * s.Inner}
	if x.DType() == tensor.String {
		return k, k.putTexts(c, x.Strings(), s)
	}
	k.putNumbers(x, s)
	return k, nil
}

// putNumbers sets the keys of numbers.
func (k *uniqueKeys) putNumbers(x *tensor.Tensor, s kit.AxisView) {
	switch x.DType() {
	case tensor.F32:
		putKeys(k, tensor.View[float32](x), s, floatKeys[float32])
	case tensor.F64:
		putKeys(k, tensor.View[float64](x), s, floatKeys[float64])
	case tensor.F16:
		putKeys(k, tensor.View[packed.F16](x), s, halfKeys[packed.F16])
	case tensor.BF16:
		putKeys(k, tensor.View[packed.BF16](x), s, halfKeys[packed.BF16])
	case tensor.I8:
		putKeys(k, tensor.View[int8](x), s, signedKeys[int8])
	case tensor.I16:
		putKeys(k, tensor.View[int16](x), s, signedKeys[int16])
	case tensor.I32:
		putKeys(k, tensor.View[int32](x), s, signedKeys[int32])
	case tensor.I64:
		putKeys(k, tensor.View[int64](x), s, signedKeys[int64])
	case tensor.U16:
		putKeys(k, tensor.View[uint16](x), s, unsignedKeys[uint16])
	case tensor.U32:
		putKeys(k, tensor.View[uint32](x), s, unsignedKeys[uint32])
	case tensor.U64:
		putKeys(k, tensor.View[uint64](x), s, unsignedKeys[uint64])
	default:
		putKeys(k, x.Bytes(), s, unsignedKeys[byte])
	}
}

// putTexts sets the keys of strings to their ranks among all distinct strings.
func (k *uniqueKeys) putTexts(c *op.Run, x []string, s kit.AxisView) error {
	if err := c.Mem.Reserve(groupBytes * len(x)); err != nil {
		return err
	}
	place := map[string]uint64{}
	for _, v := range x {
		k.pace.Work(64 + len(v))
		place[v] = 0
	}
	sorted := make([]string, 0, len(place))
	for v := range place {
		sorted = append(sorted, v)
	}
	slices.SortFunc(sorted, func(a, b string) int {
		k.pace.Work(64 + min(len(a), len(b)))
		return strings.Compare(a, b)
	})
	for i, v := range sorted {
		place[v] = uint64(i)
	}
	putKeys(k, x, s, func(dst []uint64, x []string) {
		for i, v := range x {
			k.pace.Work(32 + len(v))
			dst[i] = place[v]
		}
	})
	return c.Mem.Reserve(-groupBytes * len(x))
}

// putKeys writes the keys of all elements, slice by slice. keys converts adjacent elements.
func putKeys[T any](k *uniqueKeys, x []T, s kit.AxisView, keys func(dst []uint64, x []T)) {
	dst := k.list
	if s.Outer == 1 {
		for at := 0; at < len(x); at += uniqueStretch {
			n := min(uniqueStretch, len(x)-at)
			k.pace.Work(n)
			keys(dst[at:at+n], x[at:at+n])
		}
		return
	}
	for a := range s.Outer {
		for n := range s.N {
			k.pace.Work(8 + s.Inner)
			from, to := (a*s.N+n)*s.Inner, (n*s.Outer+a)*s.Inner
			keys(dst[to:to+s.Inner], x[from:from+s.Inner])
		}
	}
}

func signedKeys[T int8 | int16 | int32 | int64](dst []uint64, x []T) {
	for i, v := range x {
		dst[i] = int64Key(int64(v))
	}
}

func unsignedKeys[T byte | uint16 | uint32 | uint64](dst []uint64, x []T) {
	for i, v := range x {
		dst[i] = uint64(v)
	}
}

func floatKeys[T float32 | float64](dst []uint64, x []T) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = float64Key(float64(v))
	}
}

func halfKeys[T interface{ Float32() float32 }](dst []uint64, x []T) {
	for i, v := range x {
		dst[i] = float64Key(float64(v.Float32()))
	}
}

// row returns the keys of slice i.
func (k *uniqueKeys) row(i int) []uint64 { return k.list[i*k.width:][:k.width] }

// text returns the keys of slice i as a string that shares their memory.
func (k *uniqueKeys) text(i int) string {
	return unsafe.String((*byte)(unsafe.Pointer(unsafe.SliceData(k.row(i)))), 8*k.width)
}

// sort returns the groups in ascending order and renumbers the groups of all slices in of.
func (k *uniqueKeys) sort(list []group, of []int64) ([]group, error) {
	order, err := k.order(list)
	if err != nil {
		return nil, err
	}
	sorted, to := make([]group, len(list)), make([]int64, len(list))
	for i, g := range order {
		k.pace.Work(4)
		sorted[i], to[g] = list[g], int64(i)
	}
	for i, g := range of {
		k.pace.Work(2)
		of[i] = to[g]
	}
	return sorted, nil
}

// order returns the numbers of the groups in ascending order of their keys.
func (k *uniqueKeys) order(list []group) ([]int64, error) {
	if k.width == 1 {
		s, err := newDigitSort(k.run, len(list))
		if err != nil {
			return nil, err
		}
		for i, g := range list {
			k.pace.Work(2)
			s.set(i, k.list[g.first])
		}
		return s.sorted(k.run)
	}
	order := make([]int64, len(list))
	for i := range order {
		order[i] = int64(i)
	}
	slices.SortFunc(order, func(a, b int64) int {
		k.pace.Work(16 + k.width)
		return slices.Compare(k.row(list[a].first), k.row(list[b].first))
	})
	return order, nil
}
