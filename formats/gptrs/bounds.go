package gptrs

import "github.com/nacre-ml/nacre/formats/internal/container"

// Bounds lists how much the reader of checkpoints takes of a file.
var Bounds = []container.Bound{{What: "bytes of the configuration", Most: maxConfig}}
