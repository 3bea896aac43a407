package picture

import (
	"errors"
	"fmt"

	"github.com/nacre-ml/nacre/runtime/internal/picture/jpeg"
)

func openJPEG(data []byte) (*File, error) {
	d, err := jpeg.Open(data)
	if err != nil {
		return nil, jpegError(err)
	}
	return &File{Width: d.Width, Height: d.Height, Memory: d.Memory, decode: func() (*Picture, error) {
		pixels, err := d.Decode()
		if err != nil {
			return nil, jpegError(err)
		}
		return &Picture{Width: d.Width, Height: d.Height, Channels: d.Channels, Pixels: pixels}, nil
	}}, nil
}

func jpegError(err error) error {
	var what jpeg.UnsupportedError
	if errors.As(err, &what) {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return err
}

func openJPEG2000([]byte) (*File, error) { return nil, ErrUnsupported }
