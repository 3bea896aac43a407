package quantize

import (
	"errors"
	"fmt"
	"io"

	"github.com/nacre-ml/nacre/internal/mapped"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// leastScratch is the size in bytes from which results are kept in files.
const leastScratch = 1 << 16

// stored moves the elements of a result to a file of Options.Scratch. Results that stay in memory are
// unchanged.
func (j *job) stored(x *graph.Initializer) error {
	if j.Scratch == "" || x == nil || x.Tensor.Size() < leastScratch {
		return nil
	}
	t := x.Tensor
	data, unmap, err := mapped.Temporary(j.Scratch, t.Size(), func(w io.Writer) error {
		_, err := w.Write(t.Bytes())
		return err
	})
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("store weight %q until the result is written: %w", x.Name, err)
	}
	j.unmaps = append(j.unmaps, unmap)
	x.Tensor, err = tensor.FromBytes(t.DType(), t.Shape(), data)
	return err
}

// close unmaps the results.
func (j *job) close() (err error) {
	for _, unmap := range j.unmaps {
		err = errors.Join(err, unmap())
	}
	return err
}

// scratch closes a result and the model that it shares parts with.
type scratch struct {
	unmaps []func() error
	source io.Closer // may be nil
}

// Close unmaps the results. It may be called again.
func (s *scratch) Close() (err error) {
	for _, unmap := range s.unmaps {
		err = errors.Join(err, unmap())
	}
	s.unmaps = nil
	if s.source != nil {
		err = errors.Join(err, s.source.Close())
	}
	return err
}
