package exec

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
)

// Memory is a budget of bytes that executors share for their runs, the states of their streams, and
// memory kept for later runs. A nil Memory has no limit.
type Memory struct {
	bytes *device.Supply

	mu    sync.Mutex
	users map[*Executor]bool // that keep memory for later runs
}

// NewMemory returns a budget of the given number of bytes.
func NewMemory(bytes int) *Memory {
	return &Memory{bytes: device.NewSupply(bytes), users: map[*Executor]bool{}}
}

// Limit returns the bytes of the whole budget.
func (m *Memory) Limit() int { return m.bytes.Units() }

// Used returns the number of bytes that are taken.
func (m *Memory) Used() int { return m.Limit() - m.bytes.Left() }

// join makes reclaim include an executor.
func (m *Memory) join(e *Executor) {
	if m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.users[e] = true
	}
}

// part undoes join.
func (m *Memory) part(e *Executor) {
	if m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.users, e)
	}
}

// reclaim frees the memory that executors keep for later runs.
func (m *Memory) reclaim() {
	m.mu.Lock()
	list := make([]*Executor, 0, len(m.users))
	for e := range m.users {
		list = append(list, e)
	}
	m.mu.Unlock()
	for _, e := range list {
		e.idle.drop()
		e.memory.drop()
	}
}

// take takes n bytes for a run under way.
func (m *Memory) take(n int) error {
	if m == nil || m.bytes.Take(n) {
		return nil
	}
	if m.reclaim(); m.bytes.Take(n) {
		return nil
	}
	return m.short(n)
}

// short returns the error of n bytes that are not left.
func (m *Memory) short(n int) error {
	const text = "%w: it takes %d bytes, and %d bytes are left of the %d bytes that sessions share; the option MemoryBudget sets them"
	return fmt.Errorf(text, graph.ErrMemory, n, max(m.bytes.Left(), 0), m.Limit())
}

// wait takes n bytes for a run that has not begun. It waits until other runs have given them back.
func (m *Memory) wait(ctx context.Context, n int, l *device.Line) error {
	err := m.bytes.Wait(ctx, n, l, m.reclaim)
	if errors.Is(err, device.ErrNever) {
		return m.short(n)
	}
	return err
}

// spare takes n bytes for memory that is kept for later runs. It returns false if too few are left
// or a run waits for memory.
func (m *Memory) spare(n int) bool { return m == nil || m.bytes.Try(n) }

// give gives back n bytes.
func (m *Memory) give(n int) {
	if m != nil && n != 0 {
		m.bytes.Give(n)
	}
}

// keep takes n bytes for a stream or a Bound.
func (m *Memory) keep(n int) error {
	if m == nil {
		return nil
	}
	if err := m.take(n); err != nil {
		return err
	}
	m.bytes.Keep(n)
	return nil
}

// move counts n bytes that are in use already, as keep does. If n is negative it gives them back.
func (m *Memory) move(n int) {
	if m == nil {
		return
	}
	m.bytes.Keep(n)
	if n > 0 {
		m.bytes.Force(n)
	} else {
		m.bytes.Give(-n)
	}
}
