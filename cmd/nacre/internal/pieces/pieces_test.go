package pieces

import (
	"context"
	"errors"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
)

func TestEach(t *testing.T) {
	for _, n := range []int{0, 1, Length, Length + 1, 3*Length - 1} {
		for at := 0; ; at++ {
			ctx, met := testenv.EndingAfter(at), 0
			err := Each(ctx, n, func(from, to int) {
				if from != met || to <= from || to > from+Length {
					t.Errorf("%d elements: %d to %d after %d", n, from, to, met)
				}
				met = to
			})
			if !ctx.Over() {
				if err != nil || met != n {
					t.Errorf("%d of %d elements, %v", met, n, err)
				}
				break
			}
			if !errors.Is(err, context.DeadlineExceeded) || met != min(at*Length, n) {
				t.Errorf("%d elements, and the context ends after %d looks: %d, %v", n, at, met, err)
			}
		}
	}
}
