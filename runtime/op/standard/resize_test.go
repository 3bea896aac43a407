package standard_test

import (
	"math"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func TestResize(t *testing.T) {
	x := counted(1, 1, 2, 2)
	scales := func(v ...float32) *tensor.Tensor { return from(v, len(v)) }
	sizes := func(v ...int64) *tensor.Tensor { return from(v, len(v)) }
	doubled := []float64{0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3}
	row := counted(4)
	runEvalCases(t, []evalCase{
		{"first upsample", "Upsample", 1, []*graph.Attr{floatAttr("height_scale", 2), floatAttr("width_scale", 2)}, in(x), tensor.Shape{1, 1, 4, 4}, doubled},
		{"upsample", "Upsample", 7, []*graph.Attr{floatsAttr("scales", 1, 1, 2, 2)}, in(x), tensor.Shape{1, 1, 4, 4}, doubled},
		{"upsample linearly", "Upsample", 9, attrs("mode", "linear"), in(from([]float32{0, 2}, 2), scales(2)), tensor.Shape{4}, []float64{0, 1, 2, 2}},
		{"first resize", "Resize", 10, nil, in(row, scales(0.5)), tensor.Shape{2}, []float64{0, 2}},
		{"half pixel", "Resize", 13, attrs("mode", "linear"), in(from([]float32{0, 2}, 2), nil, scales(2)), tensor.Shape{4}, []float64{0, 0.5, 1.5, 2}},
		{"half pixel float64", "Resize", 13, attrs("mode", "linear"), in(from([]float64{0, 2}, 2), nil, scales(2)), tensor.Shape{4}, []float64{0, 0.5, 1.5, 2}},
		{"half pixel uint8", "Resize", 13, attrs("mode", "linear"), in(from([]uint8{0, 3}, 2), nil, scales(2)), tensor.Shape{4}, []float64{0, 1, 2, 3}},
		{"cubic overshoots int8", "Resize", 13, attrs("mode", "cubic"), in(from([]int8{-128, -128, 127, 127}, 4), nil, scales(2)), tensor.Shape{8},
			[]float64{-128, -128, -128, -70, 69, 127, 127, 127}},
		{"nearest for models of another framework", "Resize", 11, attrs("coordinate_transformation_mode", "tf_half_pixel_for_nn", "nearest_mode", "floor"),
			in(row, scales(), scales(), sizes(2)), tensor.Shape{2}, []float64{1, 3}},
		{"one output", "Resize", 13, attrs("mode", "linear", "coordinate_transformation_mode", "pytorch_half_pixel"), in(row, nil, nil, sizes(1)), tensor.Shape{1}, []float64{0}},
		{"corners", "Resize", 13, attrs("mode", "linear", "coordinate_transformation_mode", "align_corners"), in(row, nil, nil, sizes(7)), tensor.Shape{7},
			[]float64{0, 0.5, 1, 1.5, 2, 2.5, 3}},
		{"axes", "Resize", 18, attrs("axes", []int64{-1}), in(counted(2, 2), nil, nil, sizes(4)), tensor.Shape{2, 4}, []float64{0, 0, 1, 1, 2, 2, 3, 3}},
		{"not larger", "Resize", 18, attrs("keep_aspect_ratio_policy", "not_larger"), in(counted(2, 4), nil, nil, sizes(2, 2)), tensor.Shape{1, 2}, []float64{0, 2}},
		{"scale that was a quotient", "Resize", 13, attrs("coordinate_transformation_mode", "asymmetric", "nearest_mode", "floor"),
			in(tensor.New(tensor.F32, 100), nil, scales(0.29)), tensor.Shape{29}, make([]float64, 29)},
		{"crop", "Resize", 13, append(attrs("coordinate_transformation_mode", "tf_crop_and_resize", "mode", "linear"), floatAttr("extrapolation_value", 7)),
			in(row, from([]float32{0.5, 1.5}, 2), nil, sizes(3)), tensor.Shape{3}, []float64{1.5, 3, 7}},
		{"crop of bool", "Resize", 13, append(attrs("coordinate_transformation_mode", "tf_crop_and_resize"), floatAttr("extrapolation_value", 1)),
			in(from([]bool{false, false}, 2), from([]float32{0, 2}, 2), nil, sizes(2)), tensor.Shape{2}, []float64{0, 1}},
		{"antialias", "Resize", 18, attrs("mode", "linear", "antialias", 1), in(row, nil, scales(0.5)), tensor.Shape{2}, []float64{0.625, 2.375}},
		{"same", "Resize", 13, attrs("mode", "cubic"), in(row, nil, scales(1)), tensor.Shape{4}, []float64{0, 1, 2, 3}},
		{"to nothing", "Resize", 13, nil, in(row, nil, nil, sizes(0)), tensor.Shape{0}, []float64{}},
	})
	refused(t, []evalCase{
		{name: "zero scale", op: "Resize", version: 13, in: in(row, nil, scales(0))},
		{name: "negative scale", op: "Resize", version: 13, in: in(row, nil, scales(-1))},
		{name: "NaN scale", op: "Resize", version: 13, in: in(row, nil, scales(float32(nan)))},
		{name: "infinite scale", op: "Resize", version: 13, in: in(row, nil, scales(float32(inf)))},
		{name: "huge scale", op: "Resize", version: 13, in: in(row, nil, scales(1e30))},
		{name: "huge product", op: "Resize", version: 13, in: in(counted(1, 1, 1), nil, scales(2e9, 2e9, 2e9))},
		{name: "negative size", op: "Resize", version: 13, in: in(row, nil, nil, sizes(-1))},
		{name: "huge size", op: "Resize", version: 13, in: in(row, nil, nil, sizes(math.MaxInt64))},
		{name: "size of nothing", op: "Resize", version: 13, in: in(tensor.New(tensor.F32, 0), nil, nil, sizes(2))},
		{name: "both", op: "Resize", version: 13, in: in(row, nil, scales(1), sizes(4))},
		{name: "neither", op: "Resize", version: 13, in: in(row)},
		{name: "count", op: "Resize", version: 13, in: in(row, nil, scales(1, 1))},
		{name: "no roi", op: "Resize", version: 13, attrs: attrs("coordinate_transformation_mode", "tf_crop_and_resize"), in: in(row, nil, nil, sizes(2))},
		{name: "NaN roi", op: "Resize", version: 13, attrs: attrs("coordinate_transformation_mode", "tf_crop_and_resize"),
			in: in(row, from([]float32{0, float32(nan)}, 2), nil, sizes(2))},
		{name: "mode", op: "Resize", version: 13, attrs: attrs("mode", "area"), in: in(row, nil, scales(1))},
		{name: "linear strings", op: "Resize", version: 13, attrs: attrs("mode", "linear"), in: in(tensor.New(tensor.String, 2), nil, scales(2))},
		{name: "axes", op: "Resize", version: 18, attrs: attrs("axes", []int64{1}), in: in(row, nil, scales(1))},
		{name: "antialias of nearest", op: "Resize", version: 18, attrs: attrs("antialias", 1), in: in(row, nil, scales(1))},
		{name: "policy of nothing", op: "Resize", version: 18, attrs: attrs("keep_aspect_ratio_policy", "not_larger"), in: in(tensor.New(tensor.F32, 0), nil, nil, sizes(0))},
		{name: "first upsample of a vector", op: "Upsample", version: 1, attrs: []*graph.Attr{floatAttr("height_scale", 2), floatAttr("width_scale", 2)}, in: in(row)},
		{name: "too many taps", op: "Resize", version: 18, attrs: attrs("mode", "cubic", "antialias", 1, "coordinate_transformation_mode", "tf_crop_and_resize"),
			in: in(row, from([]float32{0, 1e9}, 2), scales(1e-9))},
	})
}
