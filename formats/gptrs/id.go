package gptrs

import (
	"encoding/binary"
	"encoding/hex"
	"slices"

	"lukechampine.com/blake3"
)

// ID is a 128-bit number in the byte order of files, little-endian.
type ID [16]byte

// String returns the number in hexadecimal, most significant digit first.
func (id ID) String() string {
	b := id
	slices.Reverse(b[:])
	return hex.EncodeToString(b[:])
}

// NamespaceID returns the ID of the number with these halves. The n-th model that a process of
// gpt.rs loads has the namespace n, and compiled programs have 0.
func NamespaceID(high, low uint64) ID {
	var id ID
	binary.LittleEndian.PutUint64(id[:8], low)
	binary.LittleEndian.PutUint64(id[8:], high)
	return id
}

// BaseParamID identifies a parameter by its name: the first half of the name's BLAKE3 hash.
func BaseParamID(name string) ID {
	sum := blake3.Sum256([]byte(name))
	return ID(sum[:16])
}

// ParamKey identifies a parameter of one model among all models: the first half of the BLAKE3 hash
// of "gpt-rs:param-key:v1", the namespace and the base id.
func ParamKey(namespace, base ID) ID {
	sum := blake3.Sum256(slices.Concat([]byte("gpt-rs:param-key:v1"), namespace[:], base[:]))
	return ID(sum[:16])
}
