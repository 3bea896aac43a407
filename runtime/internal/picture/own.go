package picture

import (
	"errors"
	"fmt"

	"github.com/nacre-ml/nacre/runtime/internal/picture/jpeg"
	"github.com/nacre-ml/nacre/runtime/internal/picture/jpeg2000"
)

func openJPEG(data []byte) (*File, error) {
	d, err := jpeg.Open(data)
	if err != nil {
		return nil, ownError(err)
	}
	return newFile(d.Width, d.Height, d.Channels, d.Memory, d.Decode), nil
}

func openJPEG2000(data []byte) (*File, error) {
	d, err := jpeg2000.Open(data)
	if err != nil {
		return nil, ownError(err)
	}
	return newFile(d.Width, d.Height, d.Channels, d.Memory, d.Decode), nil
}

func newFile(width, height, channels, memory int, decode func() ([]byte, error)) *File {
	return &File{Width: width, Height: height, Memory: memory, decode: func() (*Picture, error) {
		pixels, err := decode()
		if err != nil {
			return nil, ownError(err)
		}
		return &Picture{width, height, channels, pixels}, nil
	}}
}

// ownError marks errors for features that this folder's readers do not support.
func ownError(err error) error {
	var inJPEG jpeg.UnsupportedError
	var inJPEG2000 jpeg2000.UnsupportedError
	if errors.As(err, &inJPEG) || errors.As(err, &inJPEG2000) {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return err
}
