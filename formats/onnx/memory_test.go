package onnx

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// crowd returns a model with n copies of a field in its graph.
func crowd(field []byte, n int) []byte {
	model := []byte{0x08, 0x08, 0x42, 0x02, 0x10, 0x15} // ir_version and an operator set
	model = protowire.AppendTag(model, 7, protowire.BytesType)
	return protowire.AppendBytes(model, bytes.Repeat(field, n))
}

// TestSmallFields reads models of many fields of few bytes. Each stays near the memory budget of
// its size.
func TestSmallFields(t *testing.T) {
	const many = 1 << 18
	for name, data := range map[string][]byte{
		"nodes":        crowd([]byte{0x0a, 0x00}, many),
		"nodes of one": crowd([]byte{0x0a, 0x04, 0x0a, 0x02, 'a', 'b'}, many),
		"values":       crowd([]byte{0x6a, 0x00}, many),
		"inputs":       crowd(append([]byte{0x0a, 0x80, 0x40}, bytes.Repeat([]byte{0x0a, 0x00}, 1<<12)...), 1<<8),
		"metadata":     crowd([]byte{0x82, 0x01, 0x00}, many),
	} {
		most := uint64(container.SpareBytes + container.MostBytes*len(data))
		var err error
		took := fixtures.Allocated(func() { _, err = Read(nil, "crowd.onnx", data) })
		if took > 3*most/2 {
			t.Errorf("%s: a file of %d bytes takes %d, and %d are allowed (%v)", name, len(data), took, most, err)
		}
		small := budget.New(context.Background(), budget.Limits{Bytes: 1 << 20})
		if _, err := Read(small, "crowd.onnx", data); !errors.Is(err, graph.ErrMemory) {
			t.Errorf("%s: with a budget of 1 MiB the error is %v", name, err)
		}
	}
}

// TestReadEnds reads a model in a context that has ended.
func TestReadEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	data := crowd([]byte{0x0a, 0x00}, 1<<14)
	if _, err := Read(budget.New(ctx, budget.Limits{}), "crowd.onnx", data); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}
