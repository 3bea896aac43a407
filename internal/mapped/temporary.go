package mapped

import (
	"errors"
	"io"
	"os"
)

// Temporary maps an unnamed file of a folder with the first n bytes that write writes. If folder is
// empty, it is the system's for temporary files. The system keeps the bytes in memory or on disk, as
// for other mapped files. The memory must not be written. unmap unmaps it. If the system cannot
// release pages, the error is errors.ErrUnsupported.
func Temporary(folder string, n int, write func(w io.Writer) error) (data []byte, unmap func() error, err error) {
	if !CanForget {
		return nil, nil, errors.ErrUnsupported
	}
	f, err := os.CreateTemp(folder, "nacre-")
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if err := os.Remove(f.Name()); err != nil {
		return nil, nil, err
	}
	if err := write(f); err != nil {
		return nil, nil, err
	}
	if info, err := f.Stat(); err != nil || info.Size() < int64(n) {
		return nil, nil, errors.Join(err, io.ErrShortWrite)
	}
	return File(f, n)
}
