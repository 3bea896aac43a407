//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package mapped

import (
	"io"
	"os"
)

func mapFile(f *os.File, size int) ([]byte, func() error, error) {
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, nil, err
	}
	return data, nil, nil
}
