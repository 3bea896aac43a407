package nacre_test

import (
	"errors"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// dtypeNames has every constant.
var dtypeNames = map[nacre.DType]string{
	nacre.Float32: "float32", nacre.Float64: "float64", nacre.Float16: "float16", nacre.BFloat16: "bfloat16",
	nacre.Int8: "int8", nacre.Int16: "int16", nacre.Int32: "int32", nacre.Int64: "int64",
	nacre.Uint8: "uint8", nacre.Uint16: "uint16", nacre.Uint32: "uint32", nacre.Uint64: "uint64",
	nacre.Bool: "bool", nacre.String: "string", nacre.Complex64: "complex64", nacre.Complex128: "complex128",
	nacre.Float8E4M3FN: "float8e4m3fn", nacre.Float8E4M3FNUZ: "float8e4m3fnuz", nacre.Float8E5M2: "float8e5m2",
	nacre.Float8E5M2FNUZ: "float8e5m2fnuz", nacre.Float8E8M0: "float8e8m0", nacre.Float4E2M1: "float4e2m1",
	nacre.Int4: "int4", nacre.Uint4: "uint4", nacre.Int2: "int2", nacre.Uint2: "uint2",
	nacre.Int1: "int1", nacre.Uint1: "uint1", nacre.Ternary1: "t1", nacre.Ternary2: "t2",
	nacre.Q4_0: "q4_0", nacre.Q4_1: "q4_1", nacre.Q5_0: "q5_0", nacre.Q5_1: "q5_1", nacre.Q8_0: "q8_0",
	nacre.Q2_K: "q2_k", nacre.Q3_K: "q3_k", nacre.Q4_K: "q4_k", nacre.Q5_K: "q5_k", nacre.Q6_K: "q6_k",
	nacre.IQ2_XXS: "iq2_xxs", nacre.IQ2_XS: "iq2_xs", nacre.IQ3_XXS: "iq3_xxs", nacre.IQ1_S: "iq1_s", nacre.IQ4_NL: "iq4_nl",
	nacre.IQ3_S: "iq3_s", nacre.IQ2_S: "iq2_s", nacre.IQ4_XS: "iq4_xs", nacre.IQ1_M: "iq1_m", nacre.TQ1_0: "tq1_0",
	nacre.TQ2_0: "tq2_0", nacre.MXFP4: "mxfp4", nacre.NVFP4: "nvfp4", nacre.Q1_0: "q1_0", nacre.Q2_0: "q2_0",
}

// TestDTypes compares the constants with the table of element types.
func TestDTypes(t *testing.T) {
	if len(dtypeNames) != len(tensor.AllDTypes()) {
		t.Errorf("%d constants of %d element types", len(dtypeNames), len(tensor.AllDTypes()))
	}
	for d, name := range dtypeNames {
		row, err := tensor.ParseDType(name)
		if err != nil {
			t.Fatal(err)
		}
		if d.String() != name || d.Bits() != row.Bits() || !d.Valid() || d.IsFloat() != row.IsFloat() ||
			d.IsInteger() != row.IsInteger() {
			t.Errorf("%v is not %s", d, name)
		}
		if parsed, err := nacre.ParseDType(name); parsed != d || err != nil {
			t.Errorf("%s is parsed as %v (%v)", name, parsed, err)
		}
	}
	for _, d := range []nacre.DType{nacre.Invalid, nacre.DType(len(dtypeNames) + 1), 255} {
		if d.Valid() || d.Bits() != 0 || d.IsFloat() || d.IsInteger() || d.String() == "" {
			t.Errorf("%v is taken for a type", d)
		}
	}
	if _, err := nacre.ParseDType("float31"); !errors.Is(err, nacre.ErrUnsupported) {
		t.Errorf("float31: got %v", err)
	}
}
