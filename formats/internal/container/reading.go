package container

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// The most bytes that a reader may allocate for a file in memory: SpareBytes, and MostBytes for
// each byte of the file.
const (
	SpareBytes = 64 << 20
	MostBytes  = 64
)

// Reading returns the part of a budget for the reader of a file of size bytes.
func Reading(b *budget.Budget, size int) *budget.Budget {
	return b.Part(budget.Limits{Bytes: SpareBytes + MostBytes*int64(size)})
}

// Take counts bytes before they are allocated, and looks at the context now and then.
func Take(b *budget.Budget, bytes int) error {
	if err := b.Steps(1 + int64(bytes)/64); err != nil {
		return err
	}
	if err := b.Bytes(int64(bytes)); err != nil {
		return fmt.Errorf("the file is small for the memory it asks for: %w", err)
	}
	return nil
}

// KindOf returns the kind of an error of a budget. It is nil for an error of the context.
func KindOf(err error) error {
	if errors.Is(err, budget.ErrBytes) {
		return graph.ErrMemory
	}
	return nil
}

// Index returns the index of the first byte for which wanted returns true. It is negative if there
// is none, or if the context ends.
func Index(b *budget.Budget, data []byte, wanted func(c byte) bool) int {
	found := -1
	for at := 0; at < len(data) && found < 0 && b.Err() == nil; at += pieces.Bytes {
		if i := slices.IndexFunc(data[at:min(at+pieces.Bytes, len(data))], wanted); i >= 0 {
			found = at + i
		}
	}
	return found
}

// A Bound is a limit of a reader on one part of a file.
type Bound struct {
	What string
	Most int
}
