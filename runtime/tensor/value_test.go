package tensor

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// add appends v with Insert.
func (s *Sequence) add(v Value) *Sequence { return s.Insert(len(s.Items), v) }

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

// TestInsert appends to every prefix of a sequence twice. No prefix may change.
func TestInsert(t *testing.T) {
	prefixes := []*Sequence{{}}
	for i := range 20 {
		prefixes = append(prefixes, prefixes[i].add(number(int64(i))))
	}
	for n, s := range prefixes {
		a, b := s.add(number(100)), s.add(number(200))
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

// TestInsertAtOnce appends to one sequence from several goroutines.
func TestInsertAtOnce(t *testing.T) {
	s := (&Sequence{}).add(number(-1))
	var all sync.WaitGroup
	for g := range int64(8) {
		all.Go(func() {
			x := s
			for i := range int64(50) {
				x = x.add(number(g*100 + i))
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

// TestOwn checks that borrowed tensors are copied, anywhere in a value, and nothing else.
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
	kept := (&Sequence{}).add(mine)
	for name, v := range map[string]Value{
		"tensor": borrowed, "view": view, "sequence": &Sequence{Items: []Value{mine, borrowed}},
		"appended": kept.add(view), "optional": &Optional{Item: borrowed}, "map": &Map{Keys: mine, Values: borrowed},
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
	for name, v := range map[string]Value{
		"tensor": mine, "sequence": kept, "optional": &Optional{}, "clone": borrowed.Clone(),
	} {
		if Borrowed(v) != 0 || Own(v) != v {
			t.Errorf("%s is copied", name)
		}
	}
}

// TestMarkBorrowed checks that tensors over parts of borrowed memory are marked, anywhere in a
// value, and no others.
func TestMarkBorrowed(t *testing.T) {
	memory := make([]byte, 16)
	over := func(b []byte) *Tensor {
		x, err := FromBytes(U8, Shape{len(b)}, b)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	borrowed, err := Borrow(U8, Shape{8}, memory[4:12])
	if err != nil {
		t.Fatal(err)
	}
	mine := New(U8, 3)
	kept := (&Sequence{}).add(mine).add(mine)
	if Borrowed(kept) != 0 {
		t.Fatal("the sequence is borrowed")
	}
	from := []*Tensor{nil, mine, borrowed}
	for name, v := range map[string]Value{
		"tensor": over(memory[4:12]), "part": over(memory[11:12]), "optional": &Optional{Item: over(memory[5:16])},
		"sequence": &Sequence{Items: []Value{mine, over(memory[4:6])}}, "map": &Map{Keys: mine, Values: over(memory[6:9])},
		"appended": kept.add(over(memory[4:5])), "inserted": kept.Insert(0, over(memory[4:5])),
		"among others": kept.Insert(0, over(memory[4:5])).Erase(1).add(mine),
	} {
		if n := Borrowed(MarkBorrowed(v, from)); n == 0 {
			t.Errorf("%s: nothing is borrowed", name)
		}
	}
	for name, v := range map[string]Value{
		"mine": mine, "before": over(memory[:4]), "behind": over(memory[12:]), "empty": over(memory[6:6]), "sequence": kept,
		"optional": &Optional{}, "clone": borrowed.Clone(),
	} {
		if MarkBorrowed(v, from) != v || Borrowed(v) != 0 {
			t.Errorf("%s is borrowed", name)
		}
	}
	if v := over(memory[4:8]); MarkBorrowed(v, from[:2]) != v {
		t.Error("a tensor is borrowed of none")
	}
}

// TestInsertAndErase compares sequences derived from each other to slices.
func TestInsertAndErase(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	made, want := []*Sequence{{}}, [][]int64{nil}
	for i := range int64(400) {
		k := random.IntN(len(made))
		s, list := made[k], want[k]
		if n := len(list); n > 0 && random.IntN(3) == 0 {
			at := []int{0, n - 1, random.IntN(n)}[random.IntN(3)]
			s, list = s.Erase(at), slices.Delete(slices.Clone(list), at, at+1)
		} else {
			at := []int{0, n, n, random.IntN(n + 1)}[random.IntN(4)]
			s, list = s.Insert(at, number(i)), slices.Insert(slices.Clone(list), at, i)
		}
		made, want = append(made, s), append(want, list)
	}
	for i, s := range made {
		if got := numbersOf(s); !slices.Equal(got, want[i]) {
			t.Fatalf("sequence %d is %v, want %v", i, got, want[i])
		}
		if got := (&Sequence{Items: s.Items}); Footprint(got) != Footprint(s) {
			t.Errorf("sequence %d takes %d bytes, want %d", i, Footprint(s), Footprint(got))
		}
	}
}

// TestSequenceString checks that a short sequence is listed and a long one abbreviated.
func TestSequenceString(t *testing.T) {
	s := &Sequence{}
	for range 1000 {
		s = s.add(number(1))
	}
	for n, want := range map[int]string{
		0: "sequence()", 2: "sequence(int64[], int64[])",
		1000: "sequence(int64[], int64[], int64[], int64[], int64[], int64[], int64[], int64[], 992 more)",
	} {
		if got := (&Sequence{Items: s.Items[:n]}).String(); got != want {
			t.Errorf("%d items are %s, want %s", n, got, want)
		}
	}
}
