package tensor

import (
	"sync"
	"testing"
)

func number(n int64) *Tensor {
	t, err := From([]int64{n})
	if err != nil {
		panic(err)
	}
	return t
}

func numbersOf(s *Sequence) []int64 {
	var list []int64
	for _, v := range s.Items {
		list = append(list, View[int64](v.(*Tensor))[0])
	}
	return list
}

// TestAppend grows two sequences from each of one sequence's prefixes, none of which changes.
func TestAppend(t *testing.T) {
	prefixes := []*Sequence{{}}
	for i := range 20 {
		prefixes = append(prefixes, prefixes[i].Append(number(int64(i))))
	}
	for n, s := range prefixes {
		a, b := s.Append(number(100)), s.Append(number(200))
		for _, x := range []struct {
			s    *Sequence
			last int64
		}{{a, 100}, {b, 200}, {s, int64(n - 1)}, {prefixes[20], 19}} {
			got := numbersOf(x.s)
			for i, v := range got[:max(len(got)-1, 0)] {
				if v != int64(i) {
					t.Fatalf("after %d items: %v", n, got)
				}
			}
			if len(got) > 0 && got[len(got)-1] != x.last {
				t.Fatalf("after %d items the last of %v is not %d", n, got, x.last)
			}
		}
		if want := SequenceBytes(n+1) + (n+1)*Footprint(number(0)); Footprint(a) != want {
			t.Errorf("%d items take %d bytes, want %d", n+1, Footprint(a), want)
		}
	}
}

// TestAppendAtOnce appends to one sequence from several goroutines.
func TestAppendAtOnce(t *testing.T) {
	s := (&Sequence{}).Append(number(-1))
	var all sync.WaitGroup
	for g := range int64(8) {
		all.Go(func() {
			x := s
			for i := range int64(50) {
				x = x.Append(number(g*100 + i))
			}
			for i, v := range numbersOf(x)[1:] {
				if v != g*100+int64(i) {
					t.Errorf("item %d of goroutine %d is %d", i, g, v)
				}
			}
		})
	}
	all.Wait()
}

// TestOwn copies borrowed tensors, wherever in a value they are, and nothing else.
func TestOwn(t *testing.T) {
	memory := make([]byte, 16)
	borrowed, err := Borrow(U8, Shape{16}, memory)
	if err != nil {
		t.Fatal(err)
	}
	view, err := borrowed.Reshape(Shape{4, 4})
	if err != nil {
		t.Fatal(err)
	}
	mine := New(U8, 3)
	kept := (&Sequence{}).Append(mine)
	for name, v := range map[string]Value{
		"tensor": borrowed, "view": view, "sequence": &Sequence{Items: []Value{mine, borrowed}},
		"appended": kept.Append(view), "optional": &Optional{Item: borrowed}, "map": &Map{Keys: mine, Values: borrowed},
	} {
		n := Borrowed(v)
		own := Own(v)
		if n == 0 || Borrowed(own) != 0 {
			t.Errorf("%s: %d bytes are borrowed, then %d", name, n, Borrowed(own))
		}
		memory[0]++
		Walk(own, func(x *Tensor) {
			if x != mine && x.Bytes()[0] == memory[0] {
				t.Errorf("%s still lies in borrowed memory", name)
			}
		})
	}
	for name, v := range map[string]Value{"tensor": mine, "sequence": kept, "optional": &Optional{}, "clone": borrowed.Clone()} {
		if Borrowed(v) != 0 || Own(v) != v {
			t.Errorf("%s is copied", name)
		}
	}
}
