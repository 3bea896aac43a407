package hnw

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// extents returns the shape. The extents must have been checked.
func (e *entry) extents() tensor.Shape {
	s := make(tensor.Shape, len(e.shape))
	for i, n := range e.shape {
		s[i] = int(n)
	}
	return s
}

// bytes returns the bytes of a tensor in the payload.
func (r *reader) bytes(e *entry) []byte {
	return r.payload[e.offset : e.offset+e.byteLen : e.offset+e.byteLen]
}

// entries checks the entries of tensors. It returns the entries with valid bytes that no other
// tensor shares, in the order of the payload.
func (r *reader) entries() []*entry {
	ids, names := map[string]bool{}, map[string]bool{}
	var list []*entry
	for i := range r.man.tensors {
		e := &r.man.tensors[i]
		if e.broken {
			continue
		}
		bad := func(kind error, format string, args ...any) { r.add(e.at, kind, e.onnxName, format, args...) }
		switch {
		case e.id == "":
			bad(ErrMalformed, "a tensor has no id")
		case ids[e.id]:
			bad(ErrMalformed, "id %.100q is there twice", e.id)
		case e.onnxName == "":
			bad(ErrMalformed, "id %.100q has no onnx_name", e.id)
		case names[e.onnxName]:
			bad(ErrMalformed, "id %.100q is the second entry of that onnx_name", e.id)
		}
		ids[e.id], names[e.onnxName] = true, true
		if e.layout != layoutWord {
			bad(ErrMalformed, "layout %.80q is not %s", e.layout, layoutWord)
		}
		if e.encoding != encodingWord {
			bad(ErrMalformed, "encoding %.80q is not %s", e.encoding, encodingWord)
		}
		typed, placed := r.typed(e), r.placed(e)
		if typed && placed {
			list = append(list, e)
		}
		if r.enough() {
			return nil
		}
	}
	slices.SortStableFunc(list, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.byteLen, b.byteLen))
	})
	return r.apart(list)
}

// typed checks the element type, and that the length is the one that type and shape need.
func (r *reader) typed(e *entry) bool {
	d, ok := dtypeOf(e.dtype)
	if !ok {
		r.add(e.at, ErrMalformed, e.onnxName, "dtype %.80q is none of %s", e.dtype, words())
		return false
	}
	dims := make([]uint64, len(e.shape))
	for i, n := range e.shape {
		if n < 0 {
			r.add(e.at, ErrMalformed, e.onnxName, "axis %d is %d long", i, n)
			return false
		}
		dims[i] = uint64(n)
	}
	_, want, ok := container.Size(d, dims)
	if !ok {
		r.add(e.at, ErrTensorMetadata, e.onnxName, "%s of shape %v is more than memory can have", e.dtype, e.shape)
	} else if int64(want) != e.byteLen {
		r.add(e.at, ErrTensorMetadata, e.onnxName, "byte_len is %d, and %s of shape %v takes %d", e.byteLen, e.dtype, e.shape, want)
		ok = false
	}
	return ok
}

// placed checks the offset and length of a tensor. It reports whether the file has its bytes.
func (r *reader) placed(e *entry) bool {
	switch {
	case e.offset < 0 || e.byteLen < 0:
		r.add(e.at, ErrMalformed, e.onnxName, "offset %d and byte_len %d must not be negative", e.offset, e.byteLen)
		return false
	case e.byteLen > r.man.payloadLen || e.offset > r.man.payloadLen-e.byteLen:
		r.add(e.at, ErrMalformed, e.onnxName, "%d bytes at offset %d reach past the payload of %d", e.byteLen, e.offset, r.man.payloadLen)
		return false
	case e.offset%align != 0:
		r.add(e.at, ErrMalformed, e.onnxName, "offset %d is no multiple of %d", e.offset, align)
	}
	return e.offset+e.byteLen <= int64(len(r.payload)) && e.byteLen <= math.MaxInt
}

// apart drops tensors that begin within others. If the list has all tensors, the bytes between them
// must be zeros.
func (r *reader) apart(list []*entry) []*entry {
	all := len(list) == len(r.man.tensors)
	var kept []*entry
	var end int64 // of the tensors before
	last := ""
	for _, e := range list {
		if e.byteLen > 0 {
			if e.offset < end {
				r.add(e.at, ErrMalformed, e.onnxName, "byte %d of the payload belongs to initialiser %.100q already", e.offset, last)
				continue
			}
			if !r.problems.Goes() {
				return nil
			}
			if all {
				r.zeros(r.start+int(end), r.start+int(e.offset), "the bytes between tensors")
			}
			end, last = e.offset+e.byteLen, e.onnxName
		}
		kept = append(kept, e)
	}
	if all {
		r.zeros(r.start+int(end), r.start+len(r.payload), "the bytes after the last tensor")
	}
	return kept
}

// sums compares the digests of the payload and of the tensors. No two tensors in the list share
// bytes. It also checks the bytes of bools.
func (r *reader) sums(list []*entry) {
	if r.enough() {
		return
	}
	var got digest
	var lost error // of the goroutine; the caller's guard does not cover its faults
	var whole sync.WaitGroup
	defer whole.Wait()
	whole.Go(func() {
		lost = guard.Call(func() error { got = r.sum(r.payload); return nil })
	})
	sums := make([]digest, len(list))
	for i, e := range list {
		if !r.problems.Goes() {
			return
		}
		sums[i] = r.sum(r.bytes(e))
	}
	if whole.Wait(); lost != nil {
		r.bad(-1, ErrArchiveChecksum, "%w", lost)
		return
	}
	if !r.problems.Goes() {
		return
	}
	if want := digest(r.data[48:80]); want != r.man.payloadSum {
		r.bad(48, ErrArchiveChecksum, "the header says that the payload has SHA-256 %v, the manifest %v", want, r.man.payloadSum)
	}
	if int64(len(r.payload)) == r.man.payloadLen && got != r.man.payloadSum {
		r.bad(r.start, ErrArchiveChecksum, "the payload has SHA-256 %v, the manifest says %v", got, r.man.payloadSum)
	}
	for i, e := range list {
		at := r.start + int(e.offset)
		if sums[i] != e.sum {
			r.add(at, ErrTensorChecksum, e.onnxName, "the tensor has SHA-256 %v, the manifest says %v", sums[i], e.sum)
		}
		if e.dtype == "bool" {
			if !r.problems.Goes() {
				return
			}
			if k := notBool(r.problems.Budget, r.bytes(e)); k >= 0 {
				r.add(at+k, ErrMalformed, e.onnxName, "element %d is %d, and bool is 0 or 1", k, r.bytes(e)[k])
			}
		}
	}
}

// notBool returns the index of the first byte other than 0 and 1. It is negative if there is none,
// or if the context of b ends.
func notBool(b *budget.Budget, data []byte) int {
	return container.Index(b, data, func(c byte) bool { return c > 1 })
}
