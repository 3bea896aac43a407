package onnx

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// The fields of TensorProto that hold elements.
const (
	floatData  protowire.Number = 4
	int32Data  protowire.Number = 5
	stringData protowire.Number = 6
	int64Data  protowire.Number = 7
	rawData    protowire.Number = 9
	doubleData protowire.Number = 10
	uint64Data protowire.Number = 11
)

// dtypes has a row for each TensorProto.DataType: the element type, and the typed field that holds
// the elements of tensors without raw_data.
var dtypes = [...]struct {
	dtype tensor.DType
	field protowire.Number
}{
	1:  {tensor.F32, floatData},
	2:  {tensor.U8, int32Data},
	3:  {tensor.I8, int32Data},
	4:  {tensor.U16, int32Data},
	5:  {tensor.I16, int32Data},
	6:  {tensor.I32, int32Data},
	7:  {tensor.I64, int64Data},
	8:  {tensor.String, stringData},
	9:  {tensor.Bool, int32Data},
	10: {tensor.F16, int32Data},
	11: {tensor.F64, doubleData},
	12: {tensor.U32, uint64Data},
	13: {tensor.U64, uint64Data},
	14: {tensor.C64, floatData},
	15: {tensor.C128, doubleData},
	16: {tensor.BF16, int32Data},
	17: {tensor.F8E4M3FN, int32Data},
	18: {tensor.F8E4M3FNUZ, int32Data},
	19: {tensor.F8E5M2, int32Data},
	20: {tensor.F8E5M2FNUZ, int32Data},
	21: {tensor.U4, int32Data},
	22: {tensor.I4, int32Data},
	23: {tensor.F4E2M1, int32Data},
	24: {tensor.F8E8M0, int32Data},
	25: {tensor.U2, int32Data},
	26: {tensor.I2, int32Data},
}

var storageNames = map[protowire.Number]string{
	floatData: "float_data", int32Data: "int32_data", stringData: "string_data", int64Data: "int64_data",
	rawData: "raw_data", doubleData: "double_data", uint64Data: "uint64_data",
}

// dtypeOf returns the element type of a DataType. It returns Invalid for 0 and for unknown codes.
func dtypeOf(code int64) tensor.DType {
	if code < 0 || code >= int64(len(dtypes)) {
		return tensor.Invalid
	}
	return dtypes[code].dtype
}

// codeOf returns the DataType of an element type, or 0 for Invalid.
func codeOf(d tensor.DType) int {
	for code, row := range dtypes {
		if row.dtype == d {
			return code
		}
	}
	return 0
}
