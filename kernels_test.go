package nacre_test

import _ "github.com/nacre-ml/nacre/bindings/wazero" // kernels without cgo
