package main

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/speech/phonemes/internal/letters"
)

// TestModel makes the committed model again. The arithmetic of other processors may tell equal
// questions apart.
func TestModel(t *testing.T) {
	if runtime.GOARCH != "amd64" || testing.Short() {
		t.Skip("the model is compared on amd64, and not in a short run")
	}
	root := testenv.Root(t)
	dictionary := filepath.Join(root, ".cache", "cmudict", "cmudict.dict")
	if _, err := os.Stat(dictionary); err != nil {
		testenv.Skip(t, "no dictionary (scripts/fetch-cmudict.sh fetches it): ", err)
	}
	file, err := train(dictionary, 0, price, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := letters.Decode(file); err != nil || !reflect.DeepEqual(got, letters.English()) {
		t.Error("the model differs from the committed one, which go generate ./speech/... makes again")
	}
}

// TestAlignment aligns a few words after learning from them.
func TestAlignment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dict")
	text := "cat K AE1 T\nact AE1 K T\ntack T AE1 K\nback B AE1 K\ncab K AE1 B\nbat B AE1 T\ntab T AE1 B\n"
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	all, err := read(path)
	if err != nil || len(all) != 7 {
		t.Fatal(len(all), err)
	}
	a := newAligner()
	for range 8 {
		for _, e := range all {
			a.observe(codes(e.word), e.phones)
		}
		a.update()
	}
	for _, c := range []struct {
		word int
		want []int
	}{{0, []int{1, 1, 1}}, {5, []int{1, 1, 1}}} {
		got := a.best(codes(all[c.word].word), all[c.word].phones)
		for i := range c.want {
			if got[i] != c.want[i] {
				t.Errorf("%s: %v", all[c.word].word, got)
			}
		}
	}
	if err := os.WriteFile(path, []byte("cat K XX1 T\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := read(path); err == nil {
		t.Error("a phone that does not exist is read")
	}
}
