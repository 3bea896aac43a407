package main

import (
	"bytes"
	"sync"
)

// watched is text that one goroutine writes and another reads.
type watched struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *watched) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(b)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}
