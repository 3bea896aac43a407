package gptrs

import "github.com/nacre-ml/nacre/formats/internal/container"

// Bounds lists the limits that the reader of checkpoints enforces on every file.
var Bounds = []container.Bound{{What: "bytes of the configuration", Most: maxConfig}}
