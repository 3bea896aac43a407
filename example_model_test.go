package nacre_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/nacre-ml/nacre"
)

// digitsModel returns the demo's model, as a program may embed one.
func digitsModel() []byte {
	data, err := os.ReadFile("cmd/nacre/demo/digits.onnx")
	check(err)
	return data
}

// A model in a file system, such as an embed.FS, is opened together with the files beside it.
func ExampleOpenFS() {
	model, err := nacre.OpenFS(os.DirFS("cmd/nacre/demo"), "digits.onnx")
	check(err)
	defer model.Close()
	fmt.Println(model.Inputs())
	// Output: [image float32[batch,1,8,8]]
}

// A model can be read from any io.ReaderAt.
func ExampleOpenReaderAt() {
	upload := bytes.NewReader(digitsModel())
	model, err := nacre.OpenReaderAt("upload", upload, upload.Size())
	check(err)
	defer model.Close()
	fmt.Println(model.Outputs())
	// Output: [probabilities float32[batch,10]]
}

// Files holds the files of a model in memory, under the names that the model uses.
func ExampleFiles() {
	file, weights := splitModel() // m.onnx and the file of its constants
	model, err := nacre.Decode("m.onnx", file, nacre.Files{shiftedData: weights})
	check(err)
	defer model.Close()
	w, err := model.Weight("w")
	check(err)
	fmt.Println(w, w.Text(0))
	// Output: float32[3] 1
}

// Use errors.Is to tell a broken file from a format that is not supported.
func ExampleDecode() {
	_, err := nacre.Decode("digits.onnx", digitsModel()[:1000])
	fmt.Println(errors.Is(err, nacre.ErrFormat), errors.Is(err, nacre.ErrUnsupported))
	_, err = nacre.Decode("notes.txt", []byte("no model"))
	fmt.Println(errors.Is(err, nacre.ErrFormat), errors.Is(err, nacre.ErrUnsupported))
	// Output:
	// true false
	// false true
}

func ExampleModel_Metadata() {
	model, err := nacre.Open("cmd/nacre/demo/digits.onnx")
	check(err)
	defer model.Close()
	meta := model.Metadata()
	_, found := meta.Lookup("license")
	fmt.Println(meta.Format, meta.Producer, meta.Opsets, found)
	// Output: onnx nacre demo [{ai.onnx 17}] false
}

func ExampleModel_Weight() {
	model, err := nacre.Open("cmd/nacre/demo/digits.onnx")
	check(err)
	defer model.Close()
	for _, w := range model.Weights()[:2] {
		t, err := model.Weight(w.Name)
		check(err)
		fmt.Printf("%v, the first element is %s\n", w, t.Text(0))
	}
	// Output:
	// conv1.weight float32[16,1,3,3], the first element is 0.005708277
	// conv1.bias float32[16], the first element is 0.17021598
}

// Options.Outputs chooses the values to compute: here an inner value of the model, the features
// from which it recognises digits.
func ExampleOptions() {
	model, err := nacre.Open("cmd/nacre/demo/digits.onnx")
	check(err)
	defer model.Close()
	session, err := model.NewSession(nacre.Options{Threads: 1, MemoryLimit: 1 << 20, Outputs: []string{"relu3"}})
	check(err)
	defer session.Close()
	fmt.Println(session.Outputs())
	// Output: [relu3 float32[batch,64]]
}

// Extents that a model leaves open are given by name.
func ExampleSession_ZeroInputs() {
	model, err := nacre.Open("cmd/nacre/demo/digits.onnx")
	check(err)
	defer model.Close()
	session, err := model.NewSession(nacre.Options{})
	check(err)
	defer session.Close()
	inputs, err := session.ZeroInputs(map[string]int{"batch": 3})
	check(err)
	outputs, err := session.Run(context.Background(), inputs)
	check(err)
	fmt.Println(inputs["image"], outputs["probabilities"])
	// Output: float32[3,1,8,8] float32[3,10]
}

// A service makes plans for the sizes of its requests before the first one arrives. It gives memory
// back when no requests come for a while.
func ExampleSession_Warm() {
	model, err := nacre.Open("cmd/nacre/demo/digits.onnx")
	check(err)
	defer model.Close()
	session, err := model.NewSession(nacre.Options{})
	check(err)
	defer session.Close()
	err = session.Warm(context.Background(), map[string]int{"batch": 1}, map[string]int{"batch": 8})
	check(err)
	inputs, err := session.ZeroInputs(map[string]int{"batch": 8})
	check(err)
	outputs, err := session.Run(context.Background(), inputs)
	check(err)
	fmt.Println(outputs["probabilities"])
	check(session.Trim())
	// Output: float32[8,10]
}

// A plan shows the steps of a run and its memory, without running.
func ExampleSession_Plan() {
	model, err := nacre.Open("cmd/nacre/demo/digits.onnx")
	check(err)
	defer model.Close()
	session, err := model.NewSession(nacre.Options{})
	check(err)
	defer session.Close()
	inputs, err := session.ZeroInputs(map[string]int{"batch": 1})
	check(err)
	plan, err := session.Plan(context.Background(), inputs)
	check(err)
	last := plan.Steps()[len(plan.Steps())-1]
	fmt.Println(last.Op, last.Outputs, plan.OutputBytes(), "bytes")
	// Output: Softmax-17 [probabilities float32[1,10]] 40 bytes
}

// Run returns an error if an input is missing or has the wrong shape.
func ExampleSession_Run() {
	model, err := nacre.Open("cmd/nacre/demo/digits.onnx")
	check(err)
	defer model.Close()
	session, err := model.NewSession(nacre.Options{})
	check(err)
	defer session.Close()
	_, err = session.Run(context.Background(), nil)
	fmt.Println(errors.Is(err, nacre.ErrMissingInput))
	wide, err := nacre.Zeros(nacre.Float32, 1, 1, 8, 9)
	check(err)
	_, err = session.Run(context.Background(), map[string]*nacre.Tensor{"image": wide})
	fmt.Println(errors.Is(err, nacre.ErrShape), err)
	// Output:
	// true
	// true cmd/nacre/demo/digits.onnx: run: input "image" is float32[1,1,8,9] and the model takes float32[batch,1,8,8]: axis 3 has extent 9, not 8
}
