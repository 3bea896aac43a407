package bindings

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"
)

var moveWidths = []int{1, 2, 4, 8, 16}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// guarded returns n bytes that start `skip` bytes after a multiple of 64, and a
// function that reports a write around them.
func guarded(n, skip int) (b []byte, intact func() bool) {
	all := make([]byte, n+skip+2*64)
	all = all[-uintptr(unsafe.Pointer(&all[0]))%64:]
	for i := range all {
		all[i] = 0xa5
	}
	b = all[skip : skip+n : skip+n]
	return b, func() bool {
		for i, v := range all {
			if (i < skip || i >= skip+n) && v != 0xa5 {
				return false
			}
		}
		return true
	}
}

func TestMoveTranspose(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sizes := [][2]int{{1, 1}, {3, 5}, {4, 4}, {8, 8}, {16, 16}, {17, 15}, {33, 70}, {64, 64}, {1, 40}, {40, 1}}
	for _, width := range moveWidths {
		for _, k := range usable(t, TransposeOp(width)) {
			for _, s := range sizes {
				for _, pad := range []int{0, 3} {
					rows, cols := s[0], s[1]
					ss, ds := cols+pad, rows+pad
					src := randomBytes(r, rows*ss*width)
					dst, intact := guarded(((cols-1)*ds+rows)*width, min(width, 8))
					before := bytes.Clone(dst)
					MoveTranspose(k, unsafe.Pointer(&src[0]), unsafe.Pointer(&dst[0]), rows, cols, ss, ds)
					for c := range cols {
						for x := range min(ds, (len(dst)-c*ds*width)/width) {
							got, want := dst[(c*ds+x)*width:][:width], before[(c*ds+x)*width:][:width]
							if x < rows {
								want = src[(x*ss+c)*width:][:width]
							}
							if !bytes.Equal(got, want) {
								t.Fatalf("%s %s %dx%d strides %d,%d: element %d,%d is %x, not %x", k.Op(), k.Variant(), rows, cols, ss, ds, c, x, got, want)
							}
						}
					}
					if !intact() {
						t.Fatalf("%s %s %dx%d: wrote outside", k.Op(), k.Variant(), rows, cols)
					}
				}
			}
		}
	}
}

// boxCopy is MoveBoxes for one box, by the formula.
func boxCopy(b Box, width int, src, dst []byte) {
	var walk func(axis, from, to int)
	walk = func(axis, from, to int) {
		if axis == b.Axes {
			copy(dst[to*width:][:width], src[from*width:][:width])
			return
		}
		for i := range b.Extent[axis] {
			walk(axis+1, from+i*b.From[axis], to+i*b.To[axis])
		}
	}
	walk(0, b.SrcAt, b.DstAt)
}

func TestMoveBoxes(t *testing.T) {
	tests := []struct {
		name     string
		src, dst int // elements
		box      Box
	}{
		{"scalar", 3, 4, Box{SrcAt: 2, DstAt: 1}},
		{"empty", 3, 4, Box{Axes: 2, Extent: [8]int{0, 3}, From: [8]int{1, 1}, To: [8]int{1, 1}}},
		{"row", 70000, 70001, Box{DstAt: 1, Axes: 1, Extent: [8]int{70000}, From: [8]int{1}, To: [8]int{1}}},
		{"fill", 1, 70000, Box{Axes: 1, Extent: [8]int{70000}, To: [8]int{1}}},
		{"reverse", 70000, 70000, Box{SrcAt: 69999, Axes: 1, Extent: [8]int{70000}, From: [8]int{-1}, To: [8]int{1}}},
		{"transpose", 300 * 333, 300 * 333, Box{Axes: 2, Extent: [8]int{333, 300}, From: [8]int{1, 333}, To: [8]int{300, 1}}},
		{"rows", 50 * 70, 50 * 90, Box{SrcAt: 3, DstAt: 7, Axes: 2, Extent: [8]int{50, 64}, From: [8]int{70, 1}, To: [8]int{90, 1}}},
		{"permute 0,2,1,3", 2 * 5 * 7 * 11, 2 * 5 * 7 * 11, Box{Axes: 4, Extent: [8]int{2, 7, 5, 11}, From: [8]int{385, 11, 77, 1}, To: [8]int{385, 55, 11, 1}}},
		{"permute 2,1,0", 40 * 50 * 60, 40 * 50 * 60, Box{Axes: 3, Extent: [8]int{60, 50, 40}, From: [8]int{1, 60, 3000}, To: [8]int{2000, 40, 1}}},
		{"column", 200, 2000, Box{DstAt: 5, Axes: 1, Extent: [8]int{200}, From: [8]int{1}, To: [8]int{10}}},
		{"eight axes", 256, 256, Box{Axes: 8, Extent: [8]int{2, 2, 2, 2, 2, 2, 2, 2}, From: [8]int{1, 2, 4, 8, 16, 32, 64, 128}, To: [8]int{128, 64, 32, 16, 8, 4, 2, 1}}},
	}
	pool, err := NewPool(2)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	r := rand.New(rand.NewPCG(3, 4))
	for _, tt := range tests {
		for _, width := range moveWidths {
			for _, k := range usable(t, TransposeOp(width)) {
				for _, p := range []*Pool{nil, pool} {
					name := fmt.Sprintf("%s %s %s", tt.name, k.Op(), k.Variant())
					src := randomBytes(r, tt.src*width)
					dst, intact := guarded(tt.dst*width, min(width, 8))
					want := bytes.Clone(dst)
					boxCopy(tt.box, width, src, want)
					b := tt.box
					b.Src, b.Dst = unsafe.Pointer(&src[0]), unsafe.Pointer(&dst[0])
					MoveBoxes(k, width, []Box{b}, p)
					if !bytes.Equal(dst, want) {
						t.Fatalf("%s: wrong elements", name)
					}
					if !intact() {
						t.Fatalf("%s: wrote outside", name)
					}
				}
			}
		}
	}
}

// TestMoveManyBoxes copies the pieces of a vector in an order of their own.
func TestMoveManyBoxes(t *testing.T) {
	const n = 100000
	pool, err := NewPool(2)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	r := rand.New(rand.NewPCG(5, 6))
	src := randomBytes(r, 4*n)
	dst := make([]byte, 4*n)
	var list []Box
	for at := 0; at < n; {
		size := min(r.IntN(2000), n-at)
		list = append(list, Box{Src: unsafe.Pointer(&src[0]), Dst: unsafe.Pointer(&dst[0]), SrcAt: at, DstAt: at, Axes: 1,
			Extent: [8]int{size}, From: [8]int{1}, To: [8]int{1}})
		at += size
	}
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	k, err := Select(TransposeOp(4), DetectISA())
	if err != nil {
		t.Fatal(err)
	}
	MoveBoxes(k, 4, list, pool)
	if !bytes.Equal(src, dst) {
		t.Fatal("wrong elements")
	}
}

func TestMoveGather(t *testing.T) {
	pool, err := NewPool(2)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	r := rand.New(rand.NewPCG(7, 8))
	for _, block := range []int{1, 2, 3, 4, 8, 12, 16, 100, 70000} {
		for _, p := range []*Pool{nil, pool} {
			outer, axis := 3, 7
			index := make([]int64, max(1, 200000/block))
			for i := range index {
				index[i] = int64(r.IntN(axis))
			}
			src := randomBytes(r, outer*axis*block)
			dst, intact := guarded(outer*len(index)*block, 1)
			MoveGather(unsafe.Pointer(&src[0]), index, unsafe.Pointer(&dst[0]), outer, axis, block, p)
			for o := range outer {
				for j, x := range index {
					if !bytes.Equal(dst[(o*len(index)+j)*block:][:block], src[(o*axis+int(x))*block:][:block]) {
						t.Fatalf("block %d: %d,%d is wrong", block, o, j)
					}
				}
			}
			if !intact() {
				t.Fatalf("block %d: wrote outside", block)
			}
		}
	}
}
