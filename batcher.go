package nacre

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// BatcherOptions say how a Batcher joins runs. The zero value suits most services.
type BatcherOptions struct {
	// MaxRows bounds the rows of joined runs; 0 is 16. Runs of each number of rows have a plan, of which a
	// session keeps 32. A run that has more rows by itself is not joined.
	MaxRows int
	// MaxDelay is how long a run waits for others, to begin with MaxRows rows, while no run of the
	// batcher is under way. With 0 it begins at once.
	MaxDelay time.Duration
}

// defaultMaxRows is the MaxRows of zero BatcherOptions.
const defaultMaxRows = 16

// Batcher joins runs of many callers to runs of several rows, which take less time together than one
// after the other. A row is the part of an input or output for one item of a batch, such as a
// picture or a text.
//
// While a run of the batcher is under way, callers gather. When it ends, the next run has the rows of
// all that fit together: with equal types and shapes, but for the number of rows, and with equal
// inputs that have no rows. A caller that meets no other runs at once and alone.
//
// Only models with independent rows can be joined; NewBatcher proves it. The results of a caller are
// the rows that a run alone gives, but for the last digits of floats: kernels may sum in another
// order if there are more rows. Joining copies inputs and results.
//
// A caller that ends its context leaves, and the other callers of the run go on. If a joined run
// fails, each of its callers runs alone, so that the rows of one do not fail those of others.
//
// The methods of a Batcher may be called from many goroutines at once. A Batcher has nothing to
// close: it ends with its session. Session.Close has callers that gather run at once, without
// MaxDelay, and waits for them.
type Batcher struct {
	s       *Session
	rows    rowAxes
	options BatcherOptions
	calls   atomic.Int64 // of Run
	joined  atomic.Int64 // that ended with others
	runs    atomic.Int64 // of these

	mu    sync.Mutex
	busy  bool // a run is under way, or begins
	timer *time.Timer
	queue []*waiting
}

// BatcherStats is the work of a Batcher at a moment, and in all since it was made.
type BatcherStats struct {
	// Gathering counts callers that wait for a run to end.
	Gathering int
	// Calls counts calls of Run with inputs that fit the model. Joined counts the calls with rows that
	// ran together with others, and JoinedRuns the runs of these rows.
	Calls, Joined, JoinedRuns int
}

// Stats returns the statistics of the batcher. It reads one number after the other while runs go
// on. Session.Stats counts the runs, too.
func (b *Batcher) Stats() BatcherStats {
	if !b.made() {
		return BatcherStats{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return BatcherStats{len(b.queue), int(b.calls.Load()), int(b.joined.Load()), int(b.runs.Load())}
}

// waiting is a run that waits to be joined.
type waiting struct {
	in    []tensor.Value
	rows  int
	group *group    // that has taken it from the queue; nil before
	turn  chan turn // has room for one

	mu   sync.Mutex // held while inputs are copied
	gone bool       // the caller has left
}

// turn is what a waiting caller is told: the results of its rows, or that it runs alone.
type turn struct {
	out   []tensor.Value
	err   error
	alone bool
}

// group is the callers of one run, or of runs that each does alone after it.
type group struct {
	present atomic.Int64 // callers of a joined run that have not left
	alone   atomic.Int64 // callers that run alone
	cancel  func()       // ends the joined run
}

// NewBatcher returns a batcher that runs a session. Rows are along the first axis of the first
// required input with an open first axis, and along the axes of other inputs with the same symbol, or
// along an open first axis without a symbol.
//
// The error is ErrOption if an option is negative, if ctx is nil, if no input has rows, or if it is
// not proved that the rows are independent: then it names the node that mixes them. It is ErrClosed
// after Close of the session.
func NewBatcher(ctx context.Context, s *Session, o BatcherOptions) (_ *Batcher, err error) {
	defer s.enter().end(&err)
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	if o.MaxRows < 0 || o.MaxDelay < 0 {
		return nil, markf(ErrOption, "options MaxRows and MaxDelay are %d and %v; they must not be negative", o.MaxRows,
			o.MaxDelay)
	}
	if o.MaxRows == 0 {
		o.MaxRows = defaultMaxRows
	}
	rows, err := s.rowAxes(ctx)
	if err != nil {
		return nil, err
	}
	return &Batcher{s: s, rows: rows, options: o}, nil
}

// Run is Session.Run, joined with the runs of other callers. Inputs must not be written before it
// returns. The error is as for Session.Run. Options.MaxWaiting of the session bounds the callers
// that gather, too, and MaxWait how long they do.
func (b *Batcher) Run(ctx context.Context, inputs map[string]*Tensor) (_ map[string]*Tensor, err error) {
	defer b.enter().end(&err)
	s, in, err := accept(ctx, b.s, inputs, belowTensor)
	if err != nil {
		return nil, err
	}
	n := b.rows.count(in)
	if s != b.s || n == 0 || op.Within(ctx) {
		// Inputs that override constants, that do not fit, or of an operator of another run.
		out, err := s.engine.Run(ctx, in, nil)
		if err != nil {
			return nil, err
		}
		return s.tensors(out, "RunValues returns it")
	}
	if err := s.engine.Check(in); err != nil {
		return nil, err
	}
	s.joining.RLock()
	defer s.joining.RUnlock()
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	b.calls.Add(1)
	out, err := b.run(ctx, &waiting{in: in, rows: n, turn: make(chan turn, 1)})
	if err != nil {
		return nil, err
	}
	return s.tensors(out, "RunValues returns it")
}

// run runs w, alone or joined.
func (b *Batcher) run(ctx context.Context, w *waiting) ([]tensor.Value, error) {
	begins, err := b.enqueue(w)
	if err != nil {
		return nil, err
	}
	if begins {
		defer b.next()
		return b.s.engine.Run(ctx, w.in, nil)
	}
	ending := b.s.ending
	var late <-chan time.Time
	if most := b.s.options.MaxWait; most > 0 {
		timer := time.NewTimer(most)
		defer timer.Stop()
		late = timer.C
	}
	for {
		select {
		case t := <-w.turn:
			if !t.alone {
				return t.out, t.err
			}
			defer b.leave(w)
			return b.s.engine.Run(ctx, w.in, nil)
		case <-ctx.Done():
			if !b.withdraw(w) {
				b.abandon(w)
			}
			return nil, fmt.Errorf("%s: %w, while the run was gathered with others", b.s.model.source.File, ctx.Err())
		case <-ending:
			ending = nil
			b.delayed()
		case <-late:
			if b.withdraw(w) {
				return nil, markf(ErrBusy, "%s: a run gathered with others for %v; option MaxWait bounds the time",
					b.s.model.source.File, b.s.options.MaxWait)
			}
		}
	}
}

// enqueue adds w to the queue, or reports that it begins at once.
func (b *Batcher) enqueue(w *waiting) (begins bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.busy && len(b.queue) == 0 && b.options.MaxDelay == 0 {
		b.busy = true
		return true, nil
	}
	if most := b.s.options.MaxWaiting; most < 0 || most > 0 && len(b.queue) >= most {
		return false, markf(ErrBusy, "%s: %d runs gather already; option MaxWaiting bounds them", b.s.model.source.File,
			len(b.queue))
	}
	b.queue = append(b.queue, w)
	if b.busy {
		return false, nil
	}
	rows := 0
	for _, w := range b.queue {
		rows += w.rows
	}
	switch {
	case rows >= b.options.MaxRows:
		b.busy = true
		go b.next()
	case b.timer == nil:
		b.timer = time.AfterFunc(b.options.MaxDelay, b.delayed)
	}
	return false, nil
}

// delayed begins a run after MaxDelay, or when the session ends.
func (b *Batcher) delayed() {
	b.mu.Lock()
	b.timer = nil
	begins := !b.busy
	b.busy = true
	b.mu.Unlock()
	if begins {
		b.next()
	}
}

// next begins a run of callers in the queue, after the run before has ended.
func (b *Batcher) next() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		b.busy = false
		return
	}
	first := b.queue[0]
	list, rows := []*waiting{first}, first.rows
	b.queue = slices.DeleteFunc(b.queue, func(w *waiting) bool {
		if w == first {
			return true
		}
		if rows+w.rows > b.options.MaxRows || !b.rows.fit(first.in, w.in) {
			return false
		}
		list, rows = append(list, w), rows+w.rows
		return true
	})
	g := &group{}
	for _, w := range list {
		w.group = g
	}
	if len(list) == 1 {
		g.alone.Store(1)
		first.turn <- turn{alone: true}
		return
	}
	g.present.Store(int64(len(list)))
	ctx, cancel := context.WithCancel(context.Background())
	g.cancel = cancel
	go b.together(ctx, list, rows)
}

// leave ends the turn of a caller that ran alone. The last one of its group begins the next run.
func (b *Batcher) leave(w *waiting) {
	if w.group.alone.Add(-1) == 0 {
		b.next()
	}
}

// withdraw takes w out of the queue. It returns false if a run has taken it.
func (b *Batcher) withdraw(w *waiting) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w.group != nil {
		return false
	}
	b.queue = slices.DeleteFunc(b.queue, func(other *waiting) bool { return other == w })
	return true
}

// abandon takes a caller out of its run.
func (b *Batcher) abandon(w *waiting) {
	w.mu.Lock()
	w.gone = true
	var told turn
	select {
	case told = <-w.turn:
	default:
	}
	w.mu.Unlock()
	if told.alone {
		b.leave(w)
	} else if w.group.present.Add(-1) == 0 {
		w.group.cancel()
	}
}

// tell tells a caller its turn. It reports whether the caller is still there.
func (w *waiting) tell(t turn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.gone {
		w.turn <- t
	}
	return !w.gone
}

// together runs the rows of several callers as one run.
func (b *Batcher) together(ctx context.Context, list []*waiting, rows int) {
	defer list[0].group.cancel()
	begin := time.Now()
	results, err := b.runJoined(ctx, list, rows)
	if log := b.s.options.Logger; log != nil && log.Enabled(ctx, slog.LevelDebug) {
		log.LogAttrs(ctx, slog.LevelDebug, "runs joined", slog.Int("callers", len(list)), slog.Int("rows", rows),
			slog.Duration("took", time.Since(begin)), slog.Any("error", err))
	}
	if err != nil && !errors.Is(err, ErrClosed) && !errors.Is(err, ErrBusy) && ctx.Err() == nil {
		b.apart(list)
		return
	}
	if err == nil {
		b.runs.Add(1)
		b.joined.Add(int64(len(list)))
	}
	for i, w := range list {
		t := turn{err: err}
		if err == nil {
			t.out = results[i]
		}
		w.tell(t)
	}
	b.next()
}

// apart has each of the callers run alone. The last one begins the next run.
func (b *Batcher) apart(list []*waiting) {
	g := list[0].group
	g.alone.Store(1) // until all are told
	for _, w := range list {
		g.alone.Add(1)
		if !w.tell(turn{alone: true}) {
			g.alone.Add(-1)
		}
	}
	b.leave(list[0])
}

// runJoined runs the session on the inputs of all callers, and returns the results of each. Rows of callers
// that have left are zero.
func (b *Batcher) runJoined(ctx context.Context, list []*waiting, rows int) (_ [][]tensor.Value, err error) {
	defer b.enter().end(&err)
	in := b.rows.room(list[0].in, rows)
	from, there := 0, false
	for _, w := range list {
		w.mu.Lock()
		if !w.gone {
			b.rows.copy(in, w.in, from, rows)
			there = true
		}
		w.mu.Unlock()
		from += w.rows
	}
	if !there {
		return nil, context.Canceled
	}
	out, err := b.s.engine.Run(ctx, in, nil)
	if err != nil {
		return nil, err
	}
	results := make([][]tensor.Value, len(list))
	from = 0
	for i, w := range list {
		results[i] = b.rows.results(out, from, w.rows, rows)
		from += w.rows
	}
	for _, v := range out {
		v.(*tensor.Tensor).Release()
	}
	return results, nil
}
