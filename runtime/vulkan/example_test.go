package vulkan_test

import (
	"context"
	"fmt"
	"log"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// A session with a GPU computes on it the nodes that the GPU supports.
func ExampleOpen() {
	gpu, err := vulkan.Open("", vulkan.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer gpu.Close()
	model, err := nacre.Open("model.onnx")
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	session, err := model.NewSession(nacre.Options{Device: gpu})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	x, err := nacre.NewTensor([]float32{1, 2, 3}, 3)
	if err != nil {
		log.Fatal(err)
	}
	outputs, err := session.Run(context.Background(), map[string]*nacre.Tensor{"x": x})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(outputs["y"])
}
