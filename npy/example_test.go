package npy_test

import (
	"bytes"
	"fmt"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/npy"
)

// Inputs of a run come from Python as numpy.savez wrote them.
func Example() {
	x, err := nacre.NewTensor([]float32{1, 2, 3, 4}, 2, 2)
	if err != nil {
		panic(err)
	}
	var file bytes.Buffer
	if err := npy.WriteArchive(&file, map[string]*nacre.Tensor{"x": x}); err != nil {
		panic(err)
	}
	inputs, err := npy.ReadArchive(nil, bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		panic(err)
	}
	fmt.Println(inputs["x"], inputs["x"].Text(3))
	// Output: float32[2,2] 4
}
