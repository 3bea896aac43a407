package budget

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
)

func TestBytes(t *testing.T) {
	b := New(context.Background(), Limits{Bytes: 100})
	for _, c := range []struct {
		take, free int64
		want       error
	}{
		{take: 60}, {take: 41, want: ErrBytes}, {take: 40}, {take: 1, want: ErrBytes}, {take: 0},
		{take: math.MaxInt64, want: ErrBytes}, {take: -1, want: ErrBytes}, {free: 40, take: 40},
	} {
		b.Release(c.free)
		if err := b.Bytes(c.take); !errors.Is(err, c.want) {
			t.Errorf("Bytes(%d) after Release(%d): %v, want %v", c.take, c.free, err, c.want)
		}
	}
	if b.Held() != 100 {
		t.Errorf("%d bytes are held, want 100", b.Held())
	}
}

func TestBytesAtOnce(t *testing.T) {
	b := New(context.Background(), Limits{Bytes: 1000})
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 1000 {
				_ = b.Bytes(1)
			}
		})
	}
	wait.Wait()
	if b.Held() != 1000 {
		t.Errorf("%d bytes are held, want 1000", b.Held())
	}
}

func TestSteps(t *testing.T) {
	b := New(context.Background(), Limits{Steps: 10})
	for _, c := range []struct {
		take int64
		want error
	}{{7, nil}, {4, ErrSteps}, {3, nil}, {1, ErrSteps}, {math.MaxInt64, ErrSteps}, {-1, ErrSteps}} {
		if err := b.Steps(c.take); !errors.Is(err, c.want) {
			t.Errorf("Steps(%d): %v, want %v", c.take, err, c.want)
		}
	}
}

func TestStepsEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	b := New(ctx, Limits{})
	for range 3 * lookEvery {
		if err := b.Steps(1); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	taken := 0
	for ; b.Steps(1) == nil && taken < 2*lookEvery; taken++ {
	}
	if taken >= lookEvery {
		t.Errorf("%d steps were taken after the context ended, want fewer than %d", taken, lookEvery)
	}
}

// TestPart takes from a part, from another one and from the whole.
func TestPart(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	whole := New(ctx, Limits{Bytes: 10, Steps: 10})
	a, b := whole.Part(Limits{Bytes: 8, Steps: 8}), whole.Part(Limits{})
	for i, take := range []struct {
		from *Budget
		n    int64
		want error
		held int64 // of the whole, then
	}{{a, 9, ErrBytes, 0}, {a, 6, nil, 6}, {b, 5, ErrBytes, 6}, {b, 4, nil, 10}, {a, 1, ErrBytes, 10}} {
		if err := take.from.Bytes(take.n); !errors.Is(err, take.want) || whole.Held() != take.held {
			t.Errorf("%d: %v and %d bytes held, want %v and %d", i, err, whole.Held(), take.want, take.held)
		}
	}
	if a.Held() != 6 || b.Held() != 4 {
		t.Errorf("the parts hold %d and %d bytes, want 6 and 4", a.Held(), b.Held())
	}
	if a.Release(6); a.Held() != 0 || whole.Held() != 4 {
		t.Errorf("%d bytes of a part and %d of the whole are held, want 0 and 4", a.Held(), whole.Held())
	}
	if err := errors.Join(a.Steps(8), b.Steps(2)); err != nil {
		t.Error(err)
	}
	if !errors.Is(a.Steps(1), ErrSteps) || !errors.Is(b.Steps(1), ErrSteps) {
		t.Error("parts take more steps than there are")
	}
	if cancel(); !errors.Is(a.Err(), context.Canceled) {
		t.Errorf("the error of a part is %v", a.Err())
	}
	var none *Budget
	if p := none.Part(Limits{Bytes: 1}); p.Err() != nil || p.Bytes(1) != nil || !errors.Is(p.Bytes(1), ErrBytes) {
		t.Error("a part of no budget does not bound its bytes")
	}
}

func TestNone(t *testing.T) {
	var b *Budget
	b.Release(1)
	if b.Bytes(math.MaxInt64) != nil || b.Steps(math.MaxInt64) != nil || b.Err() != nil || b.Held() != 0 {
		t.Error("a nil budget bounds something")
	}
}

// TestStepsTogether takes steps from many goroutines: together they take no more than there are.
func TestStepsTogether(t *testing.T) {
	const limit = 1000
	b := New(context.Background(), Limits{Steps: limit})
	var taken atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range limit {
				if b.Steps(3) == nil {
					taken.Add(3)
				}
			}
		})
	}
	all.Wait()
	if n := taken.Load(); n != limit-1 {
		t.Errorf("%d steps were taken of %d", n, limit)
	}
}
