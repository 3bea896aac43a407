package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// stops takes the signals of a chat: SIGINT stops the answer that is being given. All others, and
// SIGINT between answers, end the process.
type stops struct {
	signals chan os.Signal

	mu     sync.Mutex
	answer context.CancelCauseFunc // nil between answers, and after SIGINT
	undo   func()                  // unless nil, for the terminal before the process ends
}

func newStops() *stops {
	s := &stops{signals: make(chan os.Signal, 1)}
	notify(s.signals, os.Interrupt, syscall.SIGTERM, hangup, syscall.SIGQUIT) // takes them from endOnSignals
	go func() {
		for got := range s.signals {
			s.take(got)
		}
	}()
	return s
}

// take does what a signal asks for.
func (s *stops) take(got os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if got == os.Interrupt && s.answer != nil {
		s.answer(signalError{got})
		s.answer = nil
		return
	}
	if s.undo != nil {
		s.undo()
	}
	end(got)
}

// during returns a context for an answer, which SIGINT ends with a signalError as its cause. The
// returned function ends the answer.
func (s *stops) during(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = cancel
	return ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.answer = nil
		cancel(nil)
	}
}

// before has undo called before a signal ends the process; nil calls nothing.
func (s *stops) before(undo func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.undo = undo
}

// close gives up the signals.
func (s *stops) close() {
	if hasSignals {
		signal.Stop(s.signals)
	}
	close(s.signals)
}
