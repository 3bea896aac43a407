package wasm

import (
	"encoding/binary"
	"errors"
)

var errModule = errors.New("this is no module that can be placed in memory")

// Sizes returns the bytes of data and the entries of the function table that a position-independent
// module needs, from its section dylink.0.
func Sizes(module []byte) (data, table int, err error) {
	const header, custom, memoryInfo = 8, 0, 1
	if len(module) < header {
		return 0, 0, errModule
	}
	r := reader{rest: module[header:]}
	for len(r.rest) > 0 && !r.failed {
		kind := r.byte()
		section := reader{rest: r.bytes(r.number())}
		if kind != custom || string(section.bytes(section.number())) != "dylink.0" {
			continue
		}
		for len(section.rest) > 0 && !section.failed {
			kind := section.byte()
			part := reader{rest: section.bytes(section.number())}
			if kind != memoryInfo {
				continue
			}
			data, _ = part.number(), part.number()
			table = part.number()
			if r.failed || section.failed || part.failed {
				return 0, 0, errModule
			}
			return data, table, nil
		}
	}
	return 0, 0, errModule
}

// reader reads the numbers and bytes of a module. It fails where there are not enough.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) bytes(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.failed, n = true, len(r.rest)
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *reader) number() int {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > 1<<31-1 {
		r.failed = true
		return 0
	}
	r.rest = r.rest[size:]
	return int(n)
}
