package output

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestWithin writes data of several pieces in contexts that end between two of them.
func TestWithin(t *testing.T) {
	data := bytes.Repeat([]byte("abc"), Piece)
	for left := range 5 {
		var b bytes.Buffer
		n, err := Within(testenv.EndingAfter(left), &b).Write(data)
		want := min(left*Piece, len(data))
		if n != want || b.Len() != want || (err != nil) != (left < 3) || err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%d pieces: %d bytes, %v", left, n, err)
		}
	}
	if n, err := Within(context.Background(), io.Discard).Write(nil); n != 0 || err != nil {
		t.Errorf("no bytes: %d, %v", n, err)
	}
}
