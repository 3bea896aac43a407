package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/dustin/go-humanize"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// readFile reads a regular file of at most the given number of bytes, until ctx ends. It refuses
// devices and pipes, because they may have no end.
func readFile(ctx context.Context, path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	if info.Size() > most {
		return nil, fmt.Errorf("%s has %s; %s are the most", path, humanize.IBytes(uint64(info.Size())), humanize.IBytes(uint64(most)))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(pieces.Reader(ctx, f), data); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, nil
}

// anySize returns the most bytes of a file with a value of any size: the memory of a run.
func anySize() int64 {
	if n := runtime.DefaultMemoryLimit(); n > 0 {
		return int64(n)
	}
	return math.MaxInt64
}

const (
	mostOfPicture  = 256 << 20
	mostOfSettings = 1 << 20
	// mostOfHeader bounds the bytes of a .npy or .pb file beside its elements, and mostOfElement
	// the bytes of an element: a negative integer in a TensorProto takes the most.
	mostOfHeader, mostOfElement = 64 << 10, 16
)

// mostOf returns the most bytes of a file with a value of type v.
func mostOf(v nacre.Info) int64 {
	if v.Kind != nacre.TensorKind || v.DType.Bits() == 0 || v.Shape == nil {
		return anySize()
	}
	shape := make(tensor.Shape, len(v.Shape))
	for i, d := range v.Shape {
		if d.Open() {
			return anySize()
		}
		shape[i] = d.Size
	}
	if shape.Check() != nil || int64(shape.Len()) > (math.MaxInt64-mostOfHeader)/mostOfElement {
		return anySize()
	}
	return mostOfHeader + mostOfElement*int64(shape.Len())
}
