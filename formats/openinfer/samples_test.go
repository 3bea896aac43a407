package openinfer

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/formats/oinf"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// samples lists the calls of the smaller samples: file, operator, inputs, output. Two calls are
// left out. One casts a negative number to u8, which wraps there and becomes 0 in the language. The
// other sums f16 in f32, which the language cannot do.
const samples = `
ops_accumulate_inplace add inplace_a inplace_b inplace_out
ops_basic add add_a add_b add_out
ops_basic sub sub_a sub_b sub_out
ops_basic mul mul_a mul_b mul_out
ops_basic div div_a div_b div_out
ops_basic relu relu_x relu_out
ops_basic abs abs_x abs_out
ops_basic neg neg_x neg_out
ops_basic min min_a min_b min_out
ops_basic max max_a max_b max_out
ops_basic clamp clamp_x clamp_out
ops_basic sum_axis sum_axis_x sum_axis_out
ops_basic mean_axis mean_axis_x mean_axis_out
ops_bitwise and bit_a bit_b and_out
ops_bitwise or bit_a bit_b or_out
ops_bitwise xor bit_a bit_b xor_out
ops_bitwise not bit_a not_out
ops_bitwise shl bit_a shl_out
ops_bitwise shr bit_a shr_out
ops_bitwise popcount bit_a popcount_out
ops_broadcast add bcast_a bcast_b bcast_add_out
ops_broadcast mul bcast_a bcast_b bcast_mul_out
ops_cast cast cast_f32 cast_f32_to_i32
ops_cast cast cast_i32 cast_i32_to_f32
ops_compare eq cmp_a cmp_b eq_out
ops_compare ne cmp_a cmp_b ne_out
ops_compare lt cmp_a cmp_b lt_out
ops_compare le cmp_a cmp_b le_out
ops_compare gt cmp_a cmp_b gt_out
ops_compare ge cmp_a cmp_b ge_out
ops_float_special add f16_a f16_b f16_add_out
ops_float_special relu f16_relu_x f16_relu_out
ops_float_special add bf16_a bf16_b bf16_add_out
ops_float_special relu bf16_relu_x bf16_relu_out
ops_float_special add f8_a f8_b f8_add_out
ops_float_special relu f8_relu_x f8_relu_out
ops_matmul matmul matmul_a matmul_b matmul_out
ops_misc fma fma_a fma_b fma_c fma_out
ops_misc floor_div floor_div_a floor_div_b floor_div_out
ops_misc rem rem_a rem_b rem_out
ops_misc is_nan is_nan_x is_nan_out
ops_misc is_inf is_inf_x is_inf_out
ops_misc is_neg is_neg_x is_neg_out
ops_misc is_finite is_finite_x is_finite_out
ops_packed argmax_axis packed_i4_x packed_i4_argmax_out
ops_packed argmin_axis packed_u2_x packed_u2_argmin_out
ops_reduce sum_axis reduce_x sum_axis_out
ops_reduce mean_axis reduce_x mean_axis_out
ops_reduce prod_axis reduce_x prod_axis_out
ops_reduce min_axis reduce_x min_axis_out
ops_reduce max_axis reduce_x max_axis_out
ops_reduce argmax_axis reduce_x argmax_axis_out
ops_reduce argmin_axis reduce_x argmin_axis_out
ops_rounding floor round_x floor_out
ops_rounding ceil round_x ceil_out
ops_rounding round round_x round_out
ops_rounding trunc round_x trunc_out
ops_rounding sign round_x sign_out
ops_rounding recip round_x recip_out`

// attrsOf returns the attributes of a sample's call.
func attrsOf(op string, out dtype) []attr {
	keep := attr{"keepdims", true}
	switch {
	case op == "clamp":
		return []attr{{"min", 0.0}, {"max", 3.0}}
	case op == "shl" || op == "shr":
		return []attr{{"bits", int64(1)}}
	case op == "cast":
		return []attr{{"to", out}}
	case strings.HasPrefix(op, "arg"):
		return []attr{{"axis", int64(1)}, keep}
	case strings.HasSuffix(op, "_axis"):
		return []attr{{"axes", []int64{1}}, keep}
	}
	return nil
}

// typeOf returns the language's type of a tensor.
func typeOf(t *tensor.Tensor) dtype {
	d := noType + 1
	for dtypes[d].tensor != t.DType() {
		d++
	}
	return d
}

// TestSamples runs the calls of those smaller samples that are present.
func TestSamples(t *testing.T) {
	dir := filepath.Join(fixtures.Dir(t, oinf.Name), "upstream", "v1", "op_baselines")
	for _, file := range testenv.Files(t, dir, "ops_*.oinf") {
		name := strings.TrimSuffix(filepath.Base(file), ".oinf")
		t.Run(name, func(t *testing.T) { runSamples(t, file, name) })
	}
}

func runSamples(t *testing.T, file, name string) {
	tensors := readTensors(t, file)
	var trials []trial
	var wants []*tensor.Tensor
	for _, line := range strings.Split(strings.TrimSpace(samples), "\n") {
		words := strings.Fields(line)
		last := len(words) - 1
		want := tensors[words[last]]
		if words[0] != name || want == nil {
			continue
		}
		tr := trial{name: line, word: words[1], out: typeOf(want), dims: want.Shape()}
		for _, in := range words[2:last] {
			tr.inputs = append(tr.inputs, tensors[in])
			tr.in = typeOf(tensors[in])
		}
		tr.attrs = attrsOf(tr.word, tr.out)
		trials, wants = append(trials, tr), append(wants, want)
	}
	for i, got := range run(t, trials) {
		if where := differs(trials[i].out, got, wants[i], tolerances[trials[i].out]); where != "" {
			t.Errorf("%s: %s", trials[i].name, where)
		}
	}
}
