package hnw

import (
	"crypto/sha256"
	"encoding/binary"
	"io"
	"math"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// Write writes a model's initializers as an archive. It reads each of them twice. An archive that
// was read and not changed is written with the same bytes. Element types, names, metadata and
// graphs that the format cannot hold are errors; Write returns them joined, before it writes
// anything. The options convert or leave out such parts instead. Options.Rename escapes texts that
// are not UTF-8. If one name of a tensor is not, it escapes the names of all tensors, as
// container.Escape does.
func Write(w io.Writer, m *graph.Model, o container.Options) (err error) {
	defer guard.At(m.File).End(&err)
	a, err := newArchive(m, o)
	if err != nil {
		return err
	}
	payload := sha256.New()
	if err := a.stream(payload, true); err != nil {
		return err
	}
	payload.Sum(a.man.payloadSum[:0])
	text := appendValue(nil, a.man.fields())
	headerLen := headerSize + a.extension
	if uint64(len(text)) > math.MaxUint32 || uint64(headerLen) > math.MaxUint32 {
		return graph.Errorf(graph.ErrUnsupported, "the manifest of %d tensors takes %d bytes, more than the format can say", len(a.man.tensors), len(text))
	}
	sum := sha256.Sum256(text)
	head := append([]byte(magic), major)
	head = binary.LittleEndian.AppendUint32(head, uint32(headerLen))
	head = binary.LittleEndian.AppendUint32(head, uint32(len(text)))
	head = append(append(head, sum[:]...), a.man.payloadSum[:]...)
	out := binio.NewWriter(w)
	out.Write(head)
	out.Zeros(int64(a.extension))
	out.Write(text)
	out.Align(align)
	if out.Err() != nil {
		return out.Err()
	}
	return a.stream(out, false)
}

// archive is the contents of an archive before it is written.
type archive struct {
	man       manifest
	payloads  []container.Payload // in the order of the manifest
	order     []int               // indices of tensors in the order of the payload
	extension int                 // bytes
}

// stream writes the payload. With sums, it stores the digests of tensors in the manifest.
func (a *archive) stream(w io.Writer, sums bool) error {
	out := binio.NewWriter(w)
	for _, i := range a.order {
		e := &a.man.tensors[i]
		out.Zeros(e.offset - out.Offset())
		h := sha256.New()
		dst := io.Writer(out)
		if sums {
			dst = io.MultiWriter(out, h)
		}
		if _, err := a.payloads[i].WriteTo(dst); err != nil {
			return err
		}
		if sums {
			h.Sum(e.sum[:0])
		}
	}
	out.Zeros(a.man.payloadLen - out.Offset())
	return out.Err()
}
