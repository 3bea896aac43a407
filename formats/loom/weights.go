package loom

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"

	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/mapped"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// Sizes of long texts in characters. Pages of a mapped file are released every chunk characters.
// Weights of leastFile characters or more go to a temporary file.
const (
	chunk     = 1 << 20
	leastFile = 1 << 20
)

// unmaps unmaps the files that hold the weights of a model.
type unmaps []func() error

// Close calls all of them.
func (u unmaps) Close() error {
	var all []error
	for _, f := range u {
		all = append(all, f())
	}
	return errors.Join(all...)
}

// stores decodes the base64 weights of a checkpoint's layers.
func (r *reader) stores() {
	r.net.walk(func(path func() string, l *Layer) {
		b := l.Weights
		if b == nil {
			return
		}
		if !r.Goes() {
			return
		}
		text := b.Data
		err := b.unpack(r)
		if err == nil {
			err = b.decode(r, l)
		}
		mapped.Release(text)
		if err != nil {
			r.Add(int(b.offset), graph.ErrFormat, "weights of %s: %w", path(), err)
			l.Weights = nil
		}
		b.offset = -1
	})
}

// unpack turns the base64 of a store into bytes. The bytes of a large store in a mapped file go to
// a temporary mapped file, so that weights packed for kernels need not stay in memory twice. If the
// system cannot make such a file, they go to the heap.
func (b *Blob) unpack(r *reader) error {
	text := b.Data
	if len(text) >= leastFile && mapped.Contains(text) {
		var bad error
		data, unmap, err := mapped.Temporary("", decodedLen(text), func(w io.Writer) error {
			bad = decodeText(r.Budget, w, text)
			return bad
		})
		if bad == nil && err == nil {
			r.unmaps = append(r.unmaps, unmap)
			b.Data = data
			return nil
		}
		var wrong base64.CorruptInputError
		if errors.As(bad, &wrong) || errors.Is(bad, errBreaks) || !r.Goes() {
			return bad
		}
	}
	if !r.Take(int(b.offset), decodedLen(text)) {
		return r.First()
	}
	var data bytes.Buffer
	data.Grow(decodedLen(text))
	err := decodeText(r.Budget, &data, text)
	b.Data = data.Bytes()
	return err
}

var errBreaks = errors.New("base64 has no line breaks here")

// decodedLen returns the number of bytes that base64 decodes to. It ignores an incomplete last
// group.
func decodedLen(text []byte) int {
	text = text[:len(text)/4*4]
	n := base64.StdEncoding.DecodedLen(len(text))
	for i := len(text); i > 0 && len(text)-i < 2 && text[i-1] == '='; i-- {
		n--
	}
	return n
}

// decodeText decodes base64 to w, a chunk at a time, until the context is done.
func decodeText(b *budget.Budget, w io.Writer, text []byte) error {
	buffer := make([]byte, 0, base64.StdEncoding.DecodedLen(min(chunk, len(text))))
	for at := 0; at < len(text); at += chunk {
		if err := b.Err(); err != nil {
			return err
		}
		part := text[at:min(at+chunk, len(text))]
		if bytes.IndexByte(part, '\r') >= 0 || bytes.IndexByte(part, '\n') >= 0 {
			return errBreaks
		}
		data, err := base64.StdEncoding.Strict().AppendDecode(buffer[:0], part)
		var wrong base64.CorruptInputError
		switch {
		case errors.As(err, &wrong):
			return wrong + base64.CorruptInputError(at)
		case at+chunk < len(text) && len(data) < chunk/4*3: // padding before the end
			return base64.CorruptInputError(at + chunk)
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
		mapped.Release(part)
	}
	return nil
}
