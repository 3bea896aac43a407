package arith

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/nacre-ml/nacre/internal/elements"
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
	k := &uniqueKeys{c, c.Pace(), unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(list))), len(list)),
		s.Outer * s.Inner}
	if x.DType() == tensor.String {
		return k, k.putTexts(c, x.Strings(), s)
	}
	k.putNumbers(x, s)
	return k, nil
}

// putNumbers sets the keys of numbers.
func (k *uniqueKeys) putNumbers(x *tensor.Tensor, s kit.AxisView) {
	switch x.DType().Kind() {
	case tensor.Float:
		putKeys(k, x, s, func(dst []uint64, list []float64) {
			for i, v := range list {
				dst[i] = float64Key(v)
			}
		})
	case tensor.Signed:
		putKeys(k, x, s, func(dst []uint64, list []int64) {
			for i, v := range list {
				dst[i] = int64Key(v)
			}
		})
	default:
		k.eachRun(s, func(dst []uint64, at int) { elements.Get(dst, x, at) })
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
	k.eachRun(s, func(dst []uint64, at int) {
		for i, v := range x[at : at+len(dst)] {
			k.pace.Work(32 + len(v))
			dst[i] = place[v]
		}
	})
	return c.Mem.Reserve(-groupBytes * len(x))
}

// putKeys sets the keys of numbers, read as N. keys converts a block of them.
func putKeys[N float64 | int64](k *uniqueKeys, x *tensor.Tensor, s kit.AxisView, keys func(dst []uint64, list []N)) {
	var block [512]N
	k.eachRun(s, func(dst []uint64, at int) {
		for len(dst) > 0 {
			list := block[:min(len(dst), len(block))]
			elements.Get(list, x, at)
			keys(dst, list)
			dst, at = dst[len(list):], at+len(list)
		}
	})
}

// eachRun calls put for every run of adjacent elements of a slice, with the place of their keys and
// the index of the first.
func (k *uniqueKeys) eachRun(s kit.AxisView, put func(dst []uint64, at int)) {
	if n := len(k.list); s.Outer == 1 {
		for at := 0; at < n; at += uniqueStretch {
			dst := k.list[at:min(at+uniqueStretch, n)]
			k.pace.Work(len(dst))
			put(dst, at)
		}
		return
	}
	for a := range s.Outer {
		for n := range s.N {
			k.pace.Work(8 + s.Inner)
			from, to := (a*s.N+n)*s.Inner, (n*s.Outer+a)*s.Inner
			put(k.list[to:to+s.Inner], from)
		}
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
