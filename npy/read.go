package npy

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/internal/pieces"
)

// Read reads one array from r, and no bytes after it. The tensor has memory of its own, which b
// counts; a nil b sets no bound. Reading ends when the context of b is done. Arrays with the most
// significant byte first, and arrays in Fortran order, become little-endian and row-major.
func Read(b *formats.Budget, r io.Reader) (_ *nacre.Tensor, err error) {
	defer guard.At("").End(&err)
	return read(b, r)
}

func read(b *formats.Budget, r io.Reader) (*nacre.Tensor, error) {
	if err := b.Err(); err != nil {
		return nil, err
	}
	a, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	if err := take(b, a.bytes); err != nil {
		return nil, err
	}
	body, err := readBody(b, r, a.bytes)
	if err != nil {
		return nil, err
	}
	return a.tensor(b, body, true)
}

// readBody reads n bytes. It allocates at most twice the bytes that r has.
func readBody(b *formats.Budget, r io.Reader, n int) ([]byte, error) {
	const first = 1 << 20
	body := make([]byte, 0, min(n, first))
	for len(body) < n {
		if len(body) == cap(body) {
			body = slices.Grow(body, min(len(body), n-len(body)))
		}
		part := body[len(body):min(cap(body), n)]
		got, err := io.ReadFull(r, part)
		body = body[:len(body)+got]
		if err == nil {
			err = b.Err()
		}
		if err != nil {
			return nil, short(err, "in the elements")
		}
	}
	return body, nil
}

// Decode is Read for an array in memory. Bytes after the array are ignored. The tensor shares the
// memory of data if the elements are aligned and need no change.
func Decode(b *formats.Budget, data []byte) (_ *nacre.Tensor, err error) {
	defer guard.At("").End(&err)
	if err := b.Err(); err != nil {
		return nil, err
	}
	r := bytes.NewReader(data)
	a, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	body := data[len(data)-r.Len():]
	if len(body) < a.bytes {
		return nil, errorf(nacre.ErrFormat, "the elements of shape %v take %d bytes; the file has %d", a.shape, a.bytes,
			len(body))
	}
	return a.tensor(b, body[:a.bytes], false)
}

// tensor returns the tensor of the stored elements. It may change them if they are its own.
func (a *array) tensor(b *formats.Budget, body []byte, own bool) (*nacre.Tensor, error) {
	if a.text {
		return a.strings(b, body)
	}
	size := a.dtype.Bits() / 8
	number := size // the bytes that are reversed
	if a.dtype == nacre.Complex64 || a.dtype == nacre.Complex128 {
		number /= 2
	}
	if a.big && number > 1 {
		if !own {
			if err := take(b, len(body)); err != nil {
				return nil, err
			}
			body = slices.Clone(body)
		}
		err := pieces.Each(b, len(body)/number, pieces.Elements, func(i, end int) {
			for ; i < end; i++ {
				slices.Reverse(body[i*number:][:number])
			}
		})
		if err != nil {
			return nil, err
		}
	}
	if a.fortran {
		if err := take(b, len(body)); err != nil {
			return nil, err
		}
		rows := make([]byte, len(body))
		if err := a.rowMajor(b, func(to, from int) { copy(rows[to*size:][:size], body[from*size:]) }); err != nil {
			return nil, err
		}
		body = rows
	}
	t, err := nacre.FromBytes(a.dtype, body, a.shape...)
	if err != nil {
		return nil, errorf(nacre.ErrFormat, "%w", err)
	}
	return t, nil
}

// rowMajor calls move with the place of every element in row-major order, and its place in Fortran
// order.
func (a *array) rowMajor(b *formats.Budget, move func(to, from int)) error {
	at, steps := make([]int, len(a.shape)), make([]int, len(a.shape))
	step := 1
	for k, n := range a.shape {
		steps[k], step = step, step*n
	}
	from := 0
	return pieces.Each(b, a.count, pieces.Elements, func(i, end int) {
		for ; i < end; i++ {
			move(i, from)
			for k := len(at) - 1; k >= 0; k-- {
				at[k]++
				from += steps[k]
				if at[k] < a.shape[k] {
					break
				}
				from -= at[k] * steps[k]
				at[k] = 0
			}
		}
	})
}

// strings returns a tensor of strings of width UTF-32 characters each, padded with zeros.
func (a *array) strings(b *formats.Budget, body []byte) (*nacre.Tensor, error) {
	const header = 16 // bytes of a string beside its characters
	if a.width == 0 && a.count > maxHeader {
		return nil, errorf(nacre.ErrFormat, "%d empty strings are too many", a.count)
	}
	if err := take(b, header*a.count+len(body)); err != nil {
		return nil, err
	}
	var order binary.ByteOrder = binary.LittleEndian
	if a.big {
		order = binary.BigEndian
	}
	list := make([]string, a.count)
	err := pieces.Each(b, a.count, max(pieces.Elements/(a.width+1), 1), func(i, end int) {
		for ; i < end; i++ {
			list[i] = textOf(order, body[4*i*a.width:][:4*a.width])
		}
	})
	if err != nil {
		return nil, err
	}
	if a.fortran {
		rows := make([]string, a.count)
		if err := a.rowMajor(b, func(to, from int) { rows[to] = list[from] }); err != nil {
			return nil, err
		}
		list = rows
	}
	return nacre.Strings(list, a.shape...)
}

// textOf returns the UTF-32 characters of a string up to the first zero.
func textOf(order binary.ByteOrder, chars []byte) string {
	var text []byte
	for ; len(chars) > 0; chars = chars[4:] {
		r := rune(order.Uint32(chars))
		if r == 0 {
			break
		}
		text = utf8.AppendRune(text, r)
	}
	return string(text)
}
