package mapped

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// TestTemporary maps bytes of unnamed files, and reads them again after a release.
func TestTemporary(t *testing.T) {
	want := bytes.Repeat([]byte("nacre "), 1<<15)
	data, unmap, err := Temporary(t.TempDir(), len(want), func(w io.Writer) error {
		_, err := w.Write(want)
		return err
	})
	if !CanForget {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Fatal(err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if !bytes.Equal(data, want) || !Contains(data) {
			t.Error("the bytes are others")
		}
		Release(data)
	}
	if err := unmap(); err != nil || Contains(data) {
		t.Error(err, Contains(data))
	}
	full := errors.New("full")
	for want, write := range map[error]func(w io.Writer) error{
		full:             func(io.Writer) error { return full },
		io.ErrShortWrite: func(w io.Writer) error { _, err := w.Write(make([]byte, 9)); return err },
	} {
		if _, _, err := Temporary("", 10, write); !errors.Is(err, want) {
			t.Errorf("%v, not %v", err, want)
		}
	}
}
