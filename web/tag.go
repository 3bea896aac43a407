package web

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
)

// mostHashed is the most bytes of a file without a time of change that are summed up for a tag.
const mostHashed = 64 << 20

// tag returns text that is another for other contents: of the time of change and the size, or, for
// a file within the program, of the contents.
func (f *file) tag() (string, error) {
	if t := f.info.ModTime(); !t.IsZero() {
		return fmt.Sprintf("%x-%x", t.UnixNano(), f.info.Size()), nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, mostHashed)); err != nil {
		return "", err
	}
	if _, err := f.File.(io.Seeker).Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)[:12]), nil
}
