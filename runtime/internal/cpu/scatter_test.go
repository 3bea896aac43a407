package cpu

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
)

type scatterNumber interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

var scatterReductions = []string{"add", "mul", "max", "min"}

func reduced[T scatterNumber](how string, a, b T) T {
	switch how {
	case "add":
		return a + b
	case "mul":
		return a * b
	case "max":
		return max(a, b)
	}
	return min(a, b)
}

// checkReductions scatters blocks with every reduction of a type. Several blocks go to one place.
func checkReductions[T scatterNumber](t *testing.T, pool *bindings.Pool, name string, values []T) {
	r := rand.New(rand.NewPCG(13, 14))
	size := len(viewBytes(values)) / len(values)
	for _, how := range scatterReductions {
		for _, k := range runnable(t, name+"_scatter_"+how) {
			const rows = 5
			for _, block := range []int{1, 3, 5000} {
				index := []int64{0, 4, 2, -1, 2, 0}
				old, updates := make([]T, rows*block), make([]T, len(index)*block)
				for _, list := range [][]T{old, updates} {
					for i := range list {
						list[i] = values[r.IntN(len(values))]
					}
				}
				want := slices.Clone(old)
				for j, x := range index {
					for i := range block {
						to := &want[(int(x)+rows)%rows*block+i]
						*to = reduced(how, *to, updates[j*block+i])
					}
				}
				var w words
				w.int(8)
				w.part(k)
				w.int(size, len(index), block, 1, rows)
				for _, p := range []*bindings.Pool{nil, pool} {
					y, intact := guardedBytes(len(old)*size, size)
					copy(y, viewBytes(old))
					runCommand(t, partOf(t, "scatter", 0), w, p, indexBytesOf(8, index...), viewBytes(updates), y)
					if !intact() || !sameNumbers(viewAs[T](y), want) {
						t.Errorf("%s/%s with blocks of %d: wrong", k.Op(), k.Variant(), block)
					}
				}
			}
		}
	}
}

// viewBytes returns the bytes of a list.
func viewBytes[T any](list []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*int(unsafe.Sizeof(one)))
}

// sameNumbers compares bits. All NaNs are equal.
func sameNumbers[T scatterNumber](a, b []T) bool {
	return slices.EqualFunc(a, b, func(x, y T) bool {
		if x != x || y != y {
			return x != x && y != y
		}
		return x == y && math.Signbit(float64(x)) == math.Signbit(float64(y))
	})
}

func TestScatterReductions(t *testing.T) {
	pool := testPool(t)
	nan, inf := math.NaN(), math.Inf(1)
	checkReductions(t, pool, "f32",
		[]float32{0, float32(math.Copysign(0, -1)), 1.5, -3, float32(nan), float32(inf), -float32(inf)})
	checkReductions(t, pool, "f64", []float64{0, math.Copysign(0, -1), 1.5, -3, nan, inf, -inf})
	checkReductions(t, pool, "i8", []int8{0, 1, -1, 127, -128, 50})
	checkReductions(t, pool, "i16", []int16{0, 1, -1, math.MaxInt16, math.MinInt16, 300})
	checkReductions(t, pool, "i32", []int32{0, 1, -1, math.MaxInt32, math.MinInt32, 70000})
	checkReductions(t, pool, "i64", []int64{0, 1, -1, math.MaxInt64, math.MinInt64, 1 << 40})
	checkReductions(t, pool, "u8", []uint8{0, 1, 255, 128, 20})
	checkReductions(t, pool, "u16", []uint16{0, 1, math.MaxUint16, 40000})
	checkReductions(t, pool, "u32", []uint32{0, 1, math.MaxUint32, 3e9})
	checkReductions(t, pool, "u64", []uint64{0, 1, math.MaxUint64, 1 << 63})
}

func TestScatterElements(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(15, 16))
	const rows, cols, count = 7, 5, 3000
	// y[index[p], p mod 5] = updates[p]; the last one remains.
	index := make([]int64, count*cols)
	for i := range index {
		index[i] = int64(r.IntN(rows))
	}
	updates := rubbish(r, 4*len(index))
	var w words
	w.int(8, 0, 4, rows, cols, 2, count, 0, cols, 1)
	want := bytes.Repeat([]byte{0xa5}, rows*cols*4)
	for p, x := range index {
		copy(want[(int(x)*cols+p%cols)*4:][:4], updates[4*p:])
	}
	got := runGuarded(t, partOf(t, "scatter_elements", 0), w, pool, len(want), 4, indexBytesOf(8, index...), updates)
	if !bytes.Equal(got, want) {
		t.Fatal("wrong elements")
	}
}

func TestRegions(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(17, 18))
	for _, width := range copyWidths {
		const batch, rows, cols = 3, 40, 33
		x := rubbish(r, batch*rows*cols*width)
		for _, k := range []int64{0, 3, -5, 100, -100, math.MinInt64, math.MaxInt64} {
			for _, upper := range []bool{true, false} {
				var w words
				w.int(width, batch, rows, cols)
				w.bool(upper)
				want := slices.Clone(x)
				far := min(max(k, -100), 100)
				for i := range batch * rows * cols {
					row, col := int64(i/cols%rows), int64(i%cols)
					if upper && col < row+far || !upper && col > row+far {
						clear(want[i*width:][:width])
					}
				}
				if got := runGuarded(t, partOf(t, "triangle", 0), w, pool, len(x), 1, x, indexBytesOf(8, k)); !bytes.Equal(got,
					want) {
					t.Fatalf("triangle %d, upper %v, width %d: wrong", k, upper, width)
				}
			}
		}
	}
	const batch, time, block = 4, 9, 12
	x, lengths := rubbish(r, batch*time*block), []int64{0, 9, 1, 4}
	var w words
	w.int(4, block, batch, time, 1, batch)
	got := runGuarded(t, partOf(t, "reverse_sequence", 0), w, pool, len(x), 1, x, indexBytesOf(4, lengths...))
	for b, n := range lengths {
		for i := range time {
			from := i
			if i < int(n) {
				from = int(n) - 1 - i
			}
			if !bytes.Equal(got[(i*batch+b)*block:][:block], x[(from*batch+b)*block:][:block]) {
				t.Fatalf("reverse_sequence: time %d of sequence %d is wrong", i, b)
			}
		}
	}
	if _, failed := runCommand(t, partOf(t, "reverse_sequence", 0), w, pool, x, indexBytesOf(4, 0, 10, 1, 4),
		got); !failed {
		t.Fatal("a length beyond the sequence did not end the run")
	}
}

func TestOneHotAndStore(t *testing.T) {
	pool := testPool(t)
	var w words
	w.int(4, 2, 2, 3, 2, 1)
	y := make([]byte, 2*2*3*2)
	runCommand(t, partOf(t, "one_hot", 0), w, pool, indexBytesOf(4, 0, 2, -1, 3), []byte{0, 0, 1, 2}, y)
	want := make([]byte, len(y))
	for _, at := range []int{0, 5, 10} { // [o, x, i]: 0,0,0; 0,2,1; 1,2,0
		copy(want[2*at:], []byte{1, 2})
	}
	if !bytes.Equal(y, want) {
		t.Errorf("one_hot is %v, not %v", y, want)
	}
	list := []int{3, -1, math.MaxInt32}
	w = words{}
	w.int(len(list))
	w.int(list...)
	wide, narrow := make([]byte, 24), make([]byte, 12)
	runCommand(t, partOf(t, "store_i64", 0), w, pool, wide)
	runCommand(t, partOf(t, "store_i32", 0), w, pool, narrow)
	if !slices.Equal(viewAs[int64](wide), []int64{3, -1, math.MaxInt32}) ||
		!slices.Equal(viewAs[int32](narrow), []int32{3, -1, math.MaxInt32}) {
		t.Errorf("stored %v and %v", viewAs[int64](wide), viewAs[int32](narrow))
	}
	w = words{}
	w.int(1, math.MaxInt32+1)
	if _, failed := runCommand(t, partOf(t, "store_i32", 0), w, pool, narrow); !failed {
		t.Error("a number beyond int32 did not end the run")
	}
}
