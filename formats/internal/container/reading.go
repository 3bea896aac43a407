package container

import (
	"errors"
	"fmt"
	"hash"
	"slices"

	"github.com/nacre-ml/nacre/internal/budget"
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

// Piece is the number of bytes between two looks at the context.
const Piece = 1 << 20

// Pieces calls work with one piece of data after another. If the context ends, Pieces returns its
// error.
func Pieces(b *budget.Budget, data []byte, work func(at int, piece []byte)) error {
	for at := 0; at < len(data); at += Piece {
		if err := b.Err(); err != nil {
			return err
		}
		work(at, data[at:min(at+Piece, len(data))])
	}
	return nil
}

// Index returns the index of the first byte for which wanted returns true. It is negative if there
// is none, or if the context ends.
func Index(b *budget.Budget, data []byte, wanted func(c byte) bool) int {
	found := -1
	for at := 0; at < len(data) && found < 0 && b.Err() == nil; at += Piece {
		if i := slices.IndexFunc(data[at:min(at+Piece, len(data))], wanted); i >= 0 {
			found = at + i
		}
	}
	return found
}

// Sum adds data to a hash. If the context ends, Sum returns its error.
func Sum(b *budget.Budget, h hash.Hash, data []byte) error {
	return Pieces(b, data, func(_ int, piece []byte) { h.Write(piece) })
}

// A Bound is a limit of a reader on one part of a file.
type Bound struct {
	What string
	Most int
}
