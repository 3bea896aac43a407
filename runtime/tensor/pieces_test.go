package tensor

import (
	"bytes"
	"testing"
)

// TestCloner copies tensors of many sizes, and checks that no two copies share elements.
func TestCloner(t *testing.T) {
	large := 0
	clone := Cloner(func(x *Tensor) *Tensor { large++; return x.Clone() })
	var given, copies []*Tensor
	for n := range 300 {
		x := New(U8, n)
		for i := range x.data {
			x.data[i] = byte(n + i)
		}
		given, copies = append(given, x), append(copies, clone(x))
	}
	if large != 300-smallBytes-1 {
		t.Errorf("%d tensors were large", large)
	}
	for n, c := range copies {
		room := n > 0 && n <= smallBytes && cap(c.data) > n
		if room || !c.Shape().Equal(Shape{n}) || !bytes.Equal(c.Bytes(), given[n].Bytes()) {
			t.Errorf("the copy of %v is %v", given[n], c)
		}
		clear(c.data)
		c.shape[0] = 0
	}
	text, _ := FromStrings([]string{"a"}, 1)
	if c := clone(text); c.Strings()[0] != "a" {
		t.Errorf("the copy of a string is %q", c.Strings())
	}
	if c := clone(New(F32)); len(c.Shape()) != 0 || len(c.Bytes()) != 4 {
		t.Errorf("the copy of a number is %v", c)
	}
}
