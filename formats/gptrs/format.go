package gptrs

import "bytes"

// Format is one of the two kinds of file.
type Format struct {
	Name  string
	magic string
	ids   bool // has a configuration, base ids, and ASCII names
}

// The formats of this package.
var (
	Checkpoint = &Format{Name: "gptrschk", magic: "GPTRSCHK", ids: true}
	Archive    = &Format{Name: "gptrsten", magic: "GPTRSTEN"}
)

// version is the only version that is read and written.
const version = 2

// Probe reports whether data begins with the magic of the format.
func (f *Format) Probe(data []byte) bool { return bytes.HasPrefix(data, []byte(f.magic)) }

// Magic returns the first bytes of files of the format.
func (f *Format) Magic() string { return f.magic }

// entryBytes returns the size of an entry of the index without its name and extents.
func (f *Format) entryBytes() int {
	n := 4 + 4 + 4 + 1 + 8 + 8
	if f.ids {
		n += 16
	}
	return n
}
