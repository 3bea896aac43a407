package pieces

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
)

func TestEach(t *testing.T) {
	const size = 1 << 10
	for _, n := range []int{0, 1, size, size + 1, 3*size - 1} {
		for at := 0; ; at++ {
			ctx, met := testenv.EndingAfter(at), 0
			err := Each(ctx, n, size, func(from, to int) {
				if from != met || to <= from || to > from+size {
					t.Errorf("%d numbers: %d to %d after %d", n, from, to, met)
				}
				met = to
			})
			if !ctx.Over() {
				if err != nil || met != n {
					t.Errorf("%d of %d numbers, %v", met, n, err)
				}
				break
			}
			if !errors.Is(err, context.DeadlineExceeded) || met != min(at*size, n) {
				t.Errorf("%d numbers, and the context ends after %d looks: %d, %v", n, at, met, err)
			}
		}
	}
}

// TestStreams copies data of several pieces, by a writer and by a reader, in contexts that end
// between two of them.
func TestStreams(t *testing.T) {
	data := bytes.Repeat([]byte("abc"), Bytes)
	for left := range 6 {
		for name, copied := range map[string]func(ctx context.Context) ([]byte, error){
			"writer": func(ctx context.Context) ([]byte, error) {
				var b bytes.Buffer
				n, err := Writer(ctx, &b).Write(data)
				if n != b.Len() {
					t.Errorf("%d pieces: %d bytes of %d are counted", left, n, b.Len())
				}
				return b.Bytes(), err
			},
			"reader": func(ctx context.Context) ([]byte, error) {
				b := make([]byte, len(data))
				n, err := io.ReadFull(Reader(ctx, bytes.NewReader(data)), b)
				return b[:n], err
			},
		} {
			got, err := copied(testenv.EndingAfter(left))
			want := min(left*Bytes, len(data))
			if !bytes.Equal(got, data[:want]) || (err != nil) != (left < 3) ||
				err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s, %d pieces: %d bytes, %v", name, left, len(got), err)
			}
		}
	}
	if n, err := Writer(context.Background(), io.Discard).Write(nil); n != 0 || err != nil {
		t.Errorf("no bytes: %d, %v", n, err)
	}
}
