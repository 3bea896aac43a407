package gptrs

import "bytes"

// Format is one of the two kinds of file.
type Format struct {
	Name  string
	magic string
	ids   bool // it has a configuration, and base ids, so that names are ASCII
}

// The formats of this package.
var (
	Checkpoint = &Format{Name: "gptrschk", magic: "GPTRSCHK", ids: true}
	Archive    = &Format{Name: "gptrsten", magic: "GPTRSTEN"}
)

// version is the one that is read and written.
const version = 2

// Probe reports whether data begins as files of the format do.
func (f *Format) Probe(data []byte) bool { return bytes.HasPrefix(data, []byte(f.magic)) }

// Magic is what files of the format begin with.
func (f *Format) Magic() string { return f.magic }

// entryBytes is what an entry of the index takes besides its name and extents.
func (f *Format) entryBytes() int {
	n := 4 + 4 + 4 + 1 + 8 + 8
	if f.ids {
		n += 16
	}
	return n
}
