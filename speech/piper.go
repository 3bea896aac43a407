package speech

import (
	"errors"
	"strings"
)

// piperFound reports whether files are a voice of Piper.
func piperFound(f files) bool { return strings.HasSuffix(f.name, ".onnx") }

// openPiper opens a voice of Piper.
func openPiper(f files, o *Options) (engine, error) { return nil, errors.ErrUnsupported }
