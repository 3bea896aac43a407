package text

import _ "github.com/nacre-ml/nacre/bindings/wazero" // kernels without cgo
