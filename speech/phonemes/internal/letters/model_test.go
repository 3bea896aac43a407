package letters

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func show(sounds []Sound) string {
	var list []string
	for _, s := range sounds {
		list = append(list, s.Phone.String())
	}
	return strings.Join(list, " ")
}

func TestSounds(t *testing.T) {
	m := English()
	for _, c := range []struct{ word, want string }{
		{"", ""},
		{"é", ""},
		{"cat", "K AE1 T"},
		{"though", "DH OW1"},
		{"colonel", "K ER1 N AH0 L"},
		{"colonels", "K ER1 N AH0 L Z"},
		{"nation", "N EY1 SH AH0 N"},
		{"boxes", "B AA1 K S AH0 Z"},
		{"blickets", "B L IH1 K AH0 T S"},
	} {
		if got := show(m.Sounds(c.word)); strings.ReplaceAll(got, "IH0", "AH0") != c.want {
			t.Errorf("%s: %s", c.word, got)
		}
	}
}

func TestPhones(t *testing.T) {
	for p := range Phone(Phones) {
		if got, ok := Parse(p.String()); !ok || got != p {
			t.Errorf("%d is %s is %d", p, p, got)
		}
	}
	if p := Must("AH0")[0]; p.With(Primary).String() != "AH1" || !p.Vowel() || p.Stress() != Unstressed {
		t.Error(p)
	}
}

func TestFile(t *testing.T) {
	m := English()
	again, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	if copied, err := Decode(again); err != nil || !reflect.DeepEqual(copied, m) {
		t.Error("the model is not written as it is read", err)
	}
	if n := len(file); n > 300_000 {
		t.Errorf("%d bytes", n)
	}
	for _, n := range []int{0, 1, 100, len(file) / 2, len(file) - 1} {
		if _, err := Decode(file[:n]); err == nil {
			t.Errorf("%d bytes are a model", n)
		}
	}
}

func FuzzDecode(f *testing.F) {
	none := Words{Starts: []uint32{0}, Firsts: []uint32{0}}
	small := &Model{Classes: [][]Phone{nil, Must("K"), Must("AE1")}, Words: none}
	for range Alphabet - 1 {
		small.Nodes = append(small.Nodes, Node{Feature: Leaf, Value: 1})
	}
	data, err := Encode(small)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Decode(data)
		if err != nil {
			return
		}
		for _, word := range []string{"cat", "a", "don't"} {
			_ = fmt.Sprint(m.Sounds(word))
		}
	})
}
