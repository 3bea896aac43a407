package hnw

import (
	"bytes"
	"crypto/sha256"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// FuzzRead reads hostile archives, as they are and with correct digests of manifest and payload.
func FuzzRead(f *testing.F) {
	f.Add(rewritten(f, small(f)), false)
	f.Add(rewritten(f, small(f)), true)
	f.Add(sealed(text(4, tensorText("a", 0, 4, "1", []byte{1, 2, 3, 4})), []byte{1, 2, 3, 4}), true)
	f.Add(sealed(text(0), nil), true)
	f.Fuzz(func(t *testing.T, data []byte, seal bool) {
		if seal && len(data) > headerSize {
			data = resealed(data)
		}
		var m *graph.Model
		var err error
		var problems []error
		if used := fixtures.Allocated(func() { m, err = Read(nil, "x", data); problems = Verify(nil, "x", data) }); used > 200*uint64(len(data))+4<<20 {
			t.Errorf("%d bytes take %d of memory", len(data), used)
		}
		if (err == nil) != (len(problems) == 0) {
			t.Errorf("reading says %v, verifying %v", err, problems)
		}
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := Write(&b, m, container.Options{}); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Bytes(), data) {
			t.Error("written again, it is other bytes")
		}
	})
}

// resealed returns an archive with correct digests of its manifest and payload, if these can be
// found.
func resealed(data []byte) []byte {
	r := &reader{data: data}
	headerLen, manifestLen, ok := r.header()
	if !ok {
		return data
	}
	start := (headerLen + manifestLen + align - 1) / align * align
	payload := data[min(start, len(data)):]
	sum := sumOf(payload)
	text := data[headerLen : headerLen+manifestLen]
	data = bytes.Clone(data)
	if at := bytes.Index(text, []byte(`"payload":{"byte_len":`)); at >= 0 {
		if k := bytes.Index(text[at:], []byte(`"sha256":"`)); k >= 0 {
			copy(data[headerLen+at+k+len(`"sha256":"`):headerLen+manifestLen], sum)
		}
	}
	manifestSum, payloadSum := sha256.Sum256(data[headerLen:headerLen+manifestLen]), sha256.Sum256(payload)
	copy(data[16:], manifestSum[:])
	copy(data[48:], payloadSum[:])
	return data
}
