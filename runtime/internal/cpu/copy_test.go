package cpu

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
)

var copyWidths = []int{1, 2, 4, 8, 16}

func rubbish(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// testBox is a copy of elements. Each axis has an extent and the steps in source and destination.
type testBox struct {
	srcAt, dstAt int
	axes         [][3]int
}

// by copies by the formula.
func (x testBox) by(width int, src, dst []byte) {
	var walk func(axes [][3]int, from, to int)
	walk = func(axes [][3]int, from, to int) {
		if len(axes) == 0 {
			copy(dst[to*width:][:width], src[from*width:][:width])
			return
		}
		for i := range axes[0][0] {
			walk(axes[1:], from+i*axes[0][1], to+i*axes[0][2])
		}
	}
	walk(x.axes, x.srcAt, x.dstAt)
}

// boxWords returns the words of a copy. All boxes have the same number of axes.
func boxWords(transpose bindings.Kernel, width int, list ...testBox) (w words) {
	w.part(transpose)
	w.int(width, len(list[0].axes), len(list))
	for _, x := range list {
		w.int(x.srcAt, x.dstAt)
		for _, a := range x.axes {
			w.int(a[:]...)
		}
	}
	return w
}

// eachTranspose calls f with every kernel that transposes, and its element width.
func eachTranspose(t *testing.T, f func(k bindings.Kernel, width int)) {
	for _, width := range copyWidths {
		for _, k := range runnable(t, fmt.Sprintf("w%d_transpose", width)) {
			f(k, width)
		}
	}
}

func TestCopy(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		src, dst int // elements
		box      testBox
	}{
		{"scalar", 3, 4, testBox{2, 1, nil}},
		{"empty", 3, 4, testBox{0, 0, [][3]int{{0, 1, 1}, {3, 1, 1}}}},
		{"row", 70000, 70001, testBox{0, 1, [][3]int{{70000, 1, 1}}}},
		{"fill", 1, 70000, testBox{0, 0, [][3]int{{70000, 0, 1}}}},
		{"reverse", 70000, 70000, testBox{69999, 0, [][3]int{{70000, -1, 1}}}},
		{"transpose", 300 * 333, 300 * 333, testBox{0, 0, [][3]int{{333, 1, 300}, {300, 333, 1}}}},
		{"transpose 17x15", 17 * 15, 17 * 15, testBox{0, 0, [][3]int{{15, 1, 17}, {17, 15, 1}}}},
		{"rows", 50 * 70, 50 * 90, testBox{3, 7, [][3]int{{50, 70, 90}, {64, 1, 1}}}},
		{"permute 0,2,1,3", 770, 770, testBox{0, 0, [][3]int{{2, 385, 385}, {7, 11, 55}, {5, 77, 11}, {11, 1, 1}}}},
		{"permute 2,1,0", 120000, 120000, testBox{0, 0, [][3]int{{60, 1, 2000}, {50, 60, 40}, {40, 3000, 1}}}},
		{"pixels of 3 apart", 3 * 10007, 3 * 10011, testBox{0, 5, [][3]int{{3, 1, 10008}, {10007, 3, 1}}}},
		{"pixels of 2 apart", 2 * 77, 2 * 77, testBox{0, 0, [][3]int{{2, 1, 77}, {77, 2, 1}}}},
		{"pixels of 4 apart", 8 * 1000, 8 * 1000, testBox{0, 0, [][3]int{{2, 4000, 4000}, {4, 1, 1000}, {1000, 4, 1}}}},
		{"planes of 3 together", 3 * 10011, 3*10007 + 1, testBox{2, 1, [][3]int{{10007, 1, 3}, {3, 10008, 1}}}},
		{"planes of 2 together", 2 * 77, 2 * 77, testBox{0, 0, [][3]int{{77, 1, 2}, {2, 77, 1}}}},
		{"planes of 4 together", 8 * 1000, 8 * 1000, testBox{0, 0, [][3]int{{2, 4000, 4000}, {1000, 1, 4}, {4, 1000, 1}}}},
		{"3 of 5 channels", 5 * 500, 3 * 500, testBox{1, 0, [][3]int{{3, 1, 500}, {500, 5, 1}}}},
		{"column", 200, 2000, testBox{0, 5, [][3]int{{200, 1, 10}}}},
		{"joined", 24, 24, testBox{0, 0, [][3]int{{2, 12, 12}, {1, 7, 9}, {3, 4, 4}, {1, 0, 0}, {4, 1, 1}}}},
		{"sixteen axes", 1 << 16, 1 << 16, testBox{0, 0, func() (axes [][3]int) {
			for i := range 16 {
				axes = append(axes, [3]int{2, 1 << i, 1 << (15 - i)})
			}
			return axes
		}()}},
	}
	pool, r := testPool(t), rand.New(rand.NewPCG(3, 4))
	eachTranspose(t, func(k bindings.Kernel, width int) {
		for _, tt := range tests {
			src := rubbish(r, tt.src*width)
			want := bytes.Repeat([]byte{0xa5}, tt.dst*width)
			tt.box.by(width, src, want)
			got := runGuarded(t, partOf(t, "copy", 0), boxWords(k, width, tt.box), pool, len(want), min(width, 8), src)
			if !bytes.Equal(got, want) {
				t.Errorf("%s with %s/%s: wrong elements", tt.name, k.Op(), k.Variant())
			}
		}
	})
}

// TestCopyManyBoxes copies the pieces of a vector in random order. Some are empty.
func TestCopyManyBoxes(t *testing.T) {
	const n = 100000
	pool, r := testPool(t), rand.New(rand.NewPCG(5, 6))
	src := rubbish(r, 4*n)
	var list []testBox
	for at := 0; at < n; {
		size := min(max(r.IntN(2000)-500, 0), n-at)
		list = append(list, testBox{at, at, [][3]int{{size, 1, 1}}})
		at += size
	}
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	got := runGuarded(t, partOf(t, "copy", 0), boxWords(partOf(t, "w4_transpose", bindings.DetectISA()), 4, list...),
		pool, 4*n, 4, src)
	if !bytes.Equal(src, got) {
		t.Fatal("wrong elements")
	}
}

// indexBytesOf returns indices as elements of 4 or 8 bytes.
func indexBytesOf(size int, list ...int64) []byte {
	b, _ := guardedBytes(size*len(list), size)
	for i, x := range list {
		if size == 4 {
			viewAs[int32](b)[i] = int32(x)
		} else {
			viewAs[int64](b)[i] = x
		}
	}
	return b
}

func TestSlice(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(7, 8))
	shape := []int{6, 5, 40}
	src := rubbish(r, volume(shape)*4)
	transpose := partOf(t, "w4_transpose", bindings.DetectISA())
	run := func(out []int, starts, ends, axes, steps []byte, cuts int) (bindings.Failure, bool, []byte) {
		var w words
		w.part(transpose)
		w.int(4, cuts, 8, 8, 4, 8, 3)
		for a, n := range shape {
			w.int(n, out[a])
		}
		y, intact := guardedBytes(volume(out)*4, 4)
		f, failed := runCommand(t, partOf(t, "slice", 0), w, pool, src, y, starts, ends, axes, steps)
		if !intact() {
			t.Fatal("slice wrote outside its result")
		}
		return f, failed, y
	}
	// x[-4:100, :, 30:2:-3]
	out := []int{4, 5, 10}
	_, failed, y := run(out, indexBytesOf(8, 30, -4), indexBytesOf(8, 2, 100), indexBytesOf(4, -1, 0),
		indexBytesOf(8, -3, 1), 2)
	if failed {
		t.Fatal("slice failed")
	}
	i := 0
	for a := range 4 {
		for c := range 5 {
			for k := range 10 {
				at := ((2+a)*5+c)*40 + 30 - 3*k
				if !bytes.Equal(y[4*i:][:4], src[4*at:][:4]) {
					t.Fatalf("element %d is not element %d of x", i, at)
				}
				i++
			}
		}
	}
	for _, tt := range []struct {
		text        string
		start, axis int64
		step        int64
	}{
		{"the inputs ask for 3 elements where 4 were planned", 3, 0, 1},
		{"axis 3 is not one", 2, 3, 1},
		{"step 0 is 0", 2, 0, 0},
	} {
		f, failed, _ := run([]int{4, 5, 40}, indexBytesOf(8, tt.start), indexBytesOf(8, 9), indexBytesOf(4, tt.axis),
			indexBytesOf(8, tt.step), 1)
		if !failed || !strings.Contains(failure(f).Error(), tt.text) {
			t.Errorf("the failure is %v, not %q", failure(f), tt.text)
		}
	}
}

func TestGather(t *testing.T) {
	t.Parallel()
	pool, r := testPool(t), rand.New(rand.NewPCG(9, 10))
	for _, block := range []int{1, 2, 3, 4, 8, 12, 16, 100, 70000} {
		for _, shared := range []bool{true, false} {
			for _, size := range []int{4, 8} {
				const outer, rows, cols = 3, 4, 7
				count := max(2, 200000/block)
				index := make([]int64, 2*count)
				if !shared {
					index = make([]int64, 2*count*outer)
				}
				for i := range index {
					n := []int{rows, cols}[i%2]
					index[i] = int64(r.IntN(2*n) - n)
				}
				var w words
				w.int(size, outer, count)
				w.bool(shared, false)
				w.int(block, 2, rows, cols)
				src := rubbish(r, outer*rows*cols*block)
				got := runGuarded(t, partOf(t, "gather", 0), w, pool, outer*count*block, 1, src, indexBytesOf(size, index...))
				for i := range outer * count {
					tuple := index[i%count*2:]
					if !shared {
						tuple = index[i*2:]
					}
					at := (i/count*rows+(int(tuple[0])+rows)%rows)*cols + (int(tuple[1])+cols)%cols
					if !bytes.Equal(got[i*block:][:block], src[at*block:][:block]) {
						t.Fatalf("block of %d bytes, shared %v: %d is wrong", block, shared, i)
					}
				}
			}
		}
	}
}

// TestGatherRows gathers by one index each that all rows share, from short lists and long ones.
func TestGatherRows(t *testing.T) {
	t.Parallel()
	pool, r := testPool(t), rand.New(rand.NewPCG(21, 22))
	const outer, extent = 700, 9
	for _, block := range []int{4, 8, 12} {
		for _, count := range []int{1, 5, 256, 300} {
			for _, forward := range []bool{false, true} {
				index := make([]int64, count)
				for i := range index {
					if index[i] = int64(r.IntN(extent)); !forward && i%2 == 0 {
						index[i] -= extent
					}
				}
				var w words
				w.int(8, outer, count)
				w.bool(true, forward)
				w.int(block, 1, extent)
				src := rubbish(r, outer*extent*block)
				got := runGuarded(t, partOf(t, "gather", 0), w, pool, outer*count*block, 1, src, indexBytesOf(8, index...))
				for i := range outer * count {
					at := i/count*extent + (int(index[i%count])+extent)%extent
					if !bytes.Equal(got[i*block:][:block], src[at*block:][:block]) {
						t.Fatalf("block of %d bytes, %d indices: %d is wrong", block, count, i)
					}
				}
			}
		}
	}
	var w words
	w.int(8, 1, 2, 1, 1, 4, 1, extent)
	f, failed := runCommand(t, partOf(t, "gather", 0), w, pool, make([]byte, 4*extent), indexBytesOf(8, 0, -1),
		make([]byte, 8))
	if want := "element 1 of the indices is -1, which is not in 0..8"; !failed || failure(f).Error() != want {
		t.Errorf("the failure is %v, not %q", failure(f), want)
	}
}

// TestIndexBeyond checks that an index beyond its axis ends the run.
func TestIndexBeyond(t *testing.T) {
	pool := testPool(t)
	elements := func() (w words) { w.int(8, 0, 4, 3, 1, 1, 3, 0); return w }
	for name, w := range map[string]words{
		"gather":           func() (w words) { w.int(8, 1, 3, 1, 0, 4, 1, 3); return w }(),
		"scatter":          func() (w words) { w.int(8, 0, 4, 3, 1, 1, 3); return w }(),
		"gather_elements":  elements(),
		"scatter_elements": elements(),
	} {
		for _, bad := range []int64{3, -4, 1 << 40} {
			x, y, index := make([]byte, 12), make([]byte, 12), indexBytesOf(8, 0, bad, 2)
			operands := [][]byte{x, index, y}
			if strings.HasPrefix(name, "scatter") {
				operands = [][]byte{index, x, y}
			}
			f, failed := runCommand(t, partOf(t, name, 0), w, pool, operands...)
			want := fmt.Sprintf("element 1 of the indices is %d, which is not in -3..2", bad)
			if !failed || failure(f).Error() != want {
				t.Errorf("%s: the failure is %v, not %q", name, failure(f), want)
			}
		}
	}
}

func TestGatherElements(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(11, 12))
	data, index := []int{5, 6, 700}, []int{4, 9, 650}
	for axis := range data {
		shape := slices.Clone(index)
		if axis != 1 {
			shape[1] = 3
		}
		list := make([]int64, volume(shape))
		for i := range list {
			list[i] = int64(r.IntN(data[axis]))
		}
		steps := []int{4200, 700, 1}
		for _, width := range copyWidths {
			var w words
			w.int(4, 0, width, data[axis], steps[axis], 3)
			for a, n := range shape {
				if a == axis {
					w.int(n, 0)
				} else {
					w.int(n, steps[a])
				}
			}
			src := rubbish(r, volume(data)*width)
			got := runGuarded(t, partOf(t, "gather_elements", 0), w, pool, len(list)*width, min(width, 8), src,
				indexBytesOf(4, list...))
			for i, x := range list {
				at := []int{i / shape[2] / shape[1], i / shape[2] % shape[1], i % shape[2]}
				at[axis] = int(x)
				from := (at[0]*6+at[1])*700 + at[2]
				if !bytes.Equal(got[i*width:][:width], src[from*width:][:width]) {
					t.Fatalf("axis %d, width %d: element %d is wrong", axis, width, i)
				}
			}
		}
	}
}
