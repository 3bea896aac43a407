// Package stages measures the stages between a file and the plan of a run. A context carries the
// measurement to the code of a stage.
package stages

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Times holds the times of stages. The stages run on one goroutine at a time. A nil Times
// measures nothing.
type Times struct {
	mu   sync.Mutex
	list []Stage
	open []span
}

// Stage is the time of a stage without the stages that it began.
type Stage struct {
	Name  string
	Calls int // how often the stage ran
	Time  time.Duration
}

// span is a stage that has not ended.
type span struct {
	start time.Time
	inner time.Duration // of the stages that it began
}

type key struct{}

// With returns a context that carries s.
func With(ctx context.Context, s *Times) context.Context { return context.WithValue(ctx, key{}, s) }

// From returns the measurement that a context carries, or nil.
func From(ctx context.Context) *Times {
	s, _ := ctx.Value(key{}).(*Times)
	return s
}

// Begin begins a stage. The stage ends when the caller calls end.
func (s *Times) Begin(name string) (end func()) {
	if s == nil {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = append(s.open, span{start: time.Now()})
	return func() { s.end(name) }
}

// end ends the stage that began last.
func (s *Times) end(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.open) - 1
	took := time.Since(s.open[last].start)
	own := took - s.open[last].inner
	s.open = s.open[:last]
	if last > 0 {
		s.open[last-1].inner += took
	}
	i := slices.IndexFunc(s.list, func(x Stage) bool { return x.Name == name })
	if i < 0 {
		i = len(s.list)
		s.list = append(s.list, Stage{Name: name})
	}
	s.list[i].Calls++
	s.list[i].Time += own
}

// List returns the stages in the order in which they first ended.
func (s *Times) List() []Stage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}
