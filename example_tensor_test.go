package nacre_test

import (
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"math"
	"os"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/packed"
)

// Data returns the elements of a tensor. They share memory with the slice that the tensor was made
// from.
func ExampleNewTensor() {
	t, err := nacre.NewTensor([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	check(err)
	elements, err := nacre.Data[float32](t)
	check(err)
	fmt.Println(t, elements)
	// Output: float32[2,3] [1 2 3 4 5 6]
}

func ExampleZeros() {
	t, err := nacre.Zeros(nacre.Int64, 1, 4)
	check(err)
	tokens, err := nacre.Data[int64](t)
	check(err)
	tokens[0] = 101
	fmt.Println(t, tokens)
	// Output: int64[1,4] [101 0 0 0]
}

func ExampleScalar() {
	t := nacre.Scalar(int64(16000))
	fmt.Println(t, t.Text(0))
	// Output: int64[] 16000
}

func ExampleStrings() {
	t, err := nacre.Strings([]string{"mother", "of", "pearl"}, 3)
	check(err)
	fmt.Println(t, t.Strings())
	// Output: string[3] [mother of pearl]
}

// FromBytes takes elements of any type as they are in memory, for example float16 from another
// program.
func ExampleFromBytes() {
	t, err := nacre.FromBytes(nacre.Float16, []byte{0x00, 0x3c, 0x00, 0xc0}, 2)
	check(err)
	fmt.Println(t, t.Text(0), t.Text(1))
	// Output: float16[2] 1 -2
}

func ExampleFloat32s() {
	half, err := nacre.NewTensor([]packed.F16{packed.ToF16(0.5), packed.ToF16(-3)}, 2)
	check(err)
	numbers, err := nacre.Float32s(half)
	check(err)
	fmt.Println(half, numbers)
	// Output: float16[2] [0.5 -3]
}

// NumPy's integers become the type that a model takes.
func ExampleTensor_Convert() {
	narrow, err := nacre.NewTensor([]int32{101, 7592, 102}, 1, 3)
	check(err)
	ids, err := narrow.Convert(nacre.Int64)
	check(err)
	list, err := nacre.Data[int64](ids)
	check(err)
	fmt.Println(ids, list)
	// Output: int64[1,3] [101 7592 102]
}

// An image file is decoded and resized to the extents of a model's input.
func ExampleDecodeImage() {
	model, err := nacre.Open("cmd/nacre/demo/digits.onnx")
	check(err)
	defer model.Close()
	file, err := os.ReadFile("cmd/nacre/demo/pictures/3-a.png")
	check(err)
	t, err := nacre.DecodeImage(file, model.Inputs()[0], nacre.ImageOptions{Scale: 16.0 / 255})
	check(err)
	fmt.Println(t)
	// Output: float32[1,1,8,8]
}

// FromImage converts an image to the first input of a model; here to three normalised channels, one
// after another.
func ExampleFromImage() {
	picture := image.NewRGBA(image.Rect(0, 0, 4, 4))
	for i := range 16 {
		picture.Set(i%4, i/4, color.RGBA{R: 255, A: 255})
	}
	input := nacre.Info{Name: "image", Kind: nacre.TensorKind, DType: nacre.Float32, Shape: []nacre.Dim{
		{Size: -1, Symbol: "batch"}, {Size: 3}, {Size: 2}, {Size: 2},
	}}
	t, err := nacre.FromImage(picture, input, nacre.ImageOptions{Mean: []float64{0.5}, Std: []float64{0.5}})
	check(err)
	values, err := nacre.Data[float32](t)
	check(err)
	fmt.Println(t, values)
	// Output: float32[1,3,2,2] [1 1 1 1 -1 -1 -1 -1 -1 -1 -1 -1]
}

// ToImage makes a picture from a mask.
func ExampleToImage() {
	mask, err := nacre.NewTensor([]float32{0, 0.5, 1, 0}, 1, 1, 2, 2)
	check(err)
	picture, err := nacre.ToImage(mask, nacre.ImageOptions{})
	check(err)
	fmt.Println(picture.Bounds(), picture.(*image.Gray).Pix)
	// Output: (0,0)-(2,2) [0 128 255 0]
}

// Tensors are fields of JSON.
func ExampleTensor_MarshalJSON() {
	scores, err := nacre.NewTensor([]float32{0.25, float32(math.Inf(1))}, 1, 2)
	check(err)
	text, err := json.Marshal(map[string]*nacre.Tensor{"scores": scores})
	check(err)
	fmt.Println(string(text))
	var outputs map[string]*nacre.Tensor
	check(json.Unmarshal(text, &outputs))
	fmt.Println(outputs["scores"], outputs["scores"].Text(0))
	// Output:
	// {"scores":{"dtype":"float32","shape":[1,2],"data":[0.25,"Infinity"]}}
	// float32[1,2] 0.25
}
