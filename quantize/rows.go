package quantize

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// sums are the squared errors of elements and the squares of these.
type sums struct{ lost, power float64 }

// error returns the relative error.
func (s sums) error() float64 {
	if s.power == 0 {
		return 0
	}
	return math.Sqrt(s.lost / s.power)
}

// add adds the errors of a row.
func (s *sums) add(x, y, w []float32) {
	for i, v := range x {
		d, a := float64(v)-float64(y[i]), float64(v)
		if w != nil {
			s.lost += d * d * float64(w[i])
			s.power += a * a * float64(w[i])
		} else {
			s.lost += d * d
			s.power += a * a
		}
	}
}

// rows is a matrix whose rows are quantised one by one.
type rows struct {
	name   string
	source *tensor.Tensor
	n, k   int
	read   func(from, to int, x []float32)  // reads rows
	weigh  func(row int) []float32          // importance of the columns of a row; nil for none
	encode func(row int, x, w, y []float32) // stores the codes of x, and writes the numbers that they stand for to y
	// all quantises rows at once, in place of weigh and encode. It is nil if rows are apart.
	all func(from, to int, x []float32, s *sums)
}

// finite returns an error if an element is no number.
func (r *rows) finite(from int, x []float32) error {
	for i, v := range x {
		if v-v != 0 {
			return graph.Errorf(graph.ErrFormat, "weight %q: element %d of row %d is %v, and codes stand for numbers only; keep the weight by a rule",
				r.name, i%r.k, from+i/r.k, v)
		}
	}
	return nil
}

// chunk is the number of elements that a goroutine takes at a time.
const chunk = 1 << 16

// each quantises all rows, on the given number of goroutines, and releases the memory of the source
// that can be obtained again. Elements that are no numbers are an error.
func (r *rows) each(ctx context.Context, threads int, done func(elements int)) (sums, error) {
	step := max(chunk/max(r.k, 1), 16)
	var (
		next  atomic.Int64
		wait  sync.WaitGroup
		lock  sync.Mutex
		parts = make([]sums, (r.n+step-1)/step)
		first error
	)
	work := func() error {
		x, y := make([]float32, min(step, r.n)*r.k), make([]float32, r.k)
		for {
			part := int(next.Add(1)) - 1
			if part >= len(parts) {
				return nil
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			from, to := part*step, min(part*step+step, r.n)
			r.read(from, to, x[:(to-from)*r.k])
			if err := r.finite(from, x[:(to-from)*r.k]); err != nil {
				return err
			}
			if r.all != nil {
				r.all(from, to, x[:(to-from)*r.k], &parts[part])
			} else {
				for row := from; row < to; row++ {
					r.row(row, x[(row-from)*r.k:][:r.k], y, &parts[part])
				}
			}
			lock.Lock()
			done((to - from) * r.k)
			lock.Unlock()
		}
	}
	for range min(threads, len(parts)) {
		wait.Go(func() {
			if err := guard.Call(work); err != nil {
				next.Store(int64(len(parts))) // the others end
				lock.Lock()
				if first == nil {
					first = err
				}
				lock.Unlock()
			}
		})
	}
	wait.Wait()
	r.source.Forget()
	var s sums
	for _, p := range parts { // in their order, so that equal inputs have equal sums
		s.lost += p.lost
		s.power += p.power
	}
	return s, first
}

// row quantises a row with the elements x.
func (r *rows) row(row int, x, y []float32, s *sums) {
	var w []float32
	if r.weigh != nil {
		w = r.weigh(row)
	}
	r.encode(row, x, w, y)
	s.add(x, y, w)
}

// reader returns a function that reads the rows of k elements of a tensor.
func reader(t *tensor.Tensor, k int) (func(from, to int, x []float32), error) {
	t, err := numbers(t)
	return func(from, _ int, x []float32) { elements.Get(x, t, from*k) }, err
}

// columns returns a function that reads the columns of a matrix with n of them, as rows.
func columns(t *tensor.Tensor, n int) (func(from, to int, x []float32), error) {
	t, err := numbers(t)
	return func(from, to int, x []float32) {
		k := len(x) / (to - from)
		part := make([]float32, to-from)
		for i := range k {
			elements.Get(part, t, i*n+from)
			for c, v := range part {
				x[c*k+i] = v
			}
		}
	}, err
}

// numbers returns t with its elements aligned, or an error if they are no numbers.
func numbers(t *tensor.Tensor) (*tensor.Tensor, error) {
	t = t.Aligned()
	var one [1]float32
	if t.Len() > 0 && !elements.Get(one[:], t, 0) {
		return nil, fmt.Errorf("elements of %v are no numbers", t.DType())
	}
	return t, nil
}
