package nacre_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// tensorOf returns a tensor, or ends the test.
func tensorOf[T nacre.Element](t testing.TB, data []T, shape ...int) *nacre.Tensor {
	t.Helper()
	x, err := nacre.NewTensor(data, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestTensorJSON(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	text, err := nacre.Strings([]string{"a\"b", "", "ä∂\u2028"}, 3)
	if err != nil {
		t.Fatal(err)
	}
	zeros := func(d nacre.DType, shape ...int) *nacre.Tensor {
		x, err := nacre.Zeros(d, shape...)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for _, c := range []struct {
		of   *nacre.Tensor
		want string
	}{
		{tensorOf(t, []float32{1, 2.5, nan, -inf, inf, 1e-7, -0.1, float32(math.Copysign(0, -1))}, 2, 4),
			`{"dtype":"float32","shape":[2,4],"data":[1,2.5,"NaN","-Infinity","Infinity",1e-07,-0.1,-0]}`},
		{tensorOf(t, []float64{1.0 / 3}, 1), `{"dtype":"float64","shape":[1],"data":[0.3333333333333333]}`},
		{tensorOf(t, []packed.F16{packed.ToF16(0.1)}, 1), `{"dtype":"float16","shape":[1],"data":[0.099975586]}`},
		{nacre.Scalar(int64(math.MinInt64)), `{"dtype":"int64","shape":[],"data":[-9223372036854775808]}`},
		{nacre.Scalar(uint64(math.MaxUint64)), `{"dtype":"uint64","shape":[],"data":[18446744073709551615]}`},
		{tensorOf(t, []bool{true, false}, 2), `{"dtype":"bool","shape":[2],"data":[true,false]}`},
		{tensorOf(t, []complex64{complex(1, nan)}, 1), `{"dtype":"complex64","shape":[1],"data":[[1,"NaN"]]}`},
		{text, `{"dtype":"string","shape":[3],"data":["a\"b","","ä∂\u2028"]}`},
		{zeros(nacre.String, 0), `{"dtype":"string","shape":[0],"data":[]}`},
		{zeros(nacre.Float32, 0, 3), `{"dtype":"float32","shape":[0,3],"data":[]}`},
		{zeros(nacre.Int4, 3), `{"dtype":"int4","shape":[3],"data":"AAA="}`},
		{nil, "null"},
	} {
		got, err := json.Marshal(c.of)
		if err != nil || string(got) != c.want {
			t.Errorf("got %s, %v, want %s", got, err, c.want)
		}
	}
	if b, err := new(nacre.Tensor).MarshalJSON(); string(b) != "null" || err != nil {
		t.Errorf("the zero Tensor is %s, %v", b, err)
	}
	broken, _ := nacre.Strings([]string{"\xff"}, 1)
	if _, err := json.Marshal(broken); !errors.Is(err, nacre.ErrUnsupported) {
		t.Errorf("text that is no UTF-8: %v", err)
	}
}

// TestTensorJSONRoundTrip sends random elements of every type through JSON.
func TestTensorJSONRoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, below := range tensor.AllDTypes() {
		d := nacre.DType(below)
		for _, shape := range [][]int{{}, {0, 256}, {3, 256}} {
			if below.Check(shape) != nil {
				continue // a scalar of blocks
			}
			t.Run(fmt.Sprint(d, shape), func(t *testing.T) {
				in, err := nacre.Zeros(d, shape...)
				if err != nil {
					t.Fatal(err)
				}
				for i := range in.Bytes() {
					if in.Bytes()[i] = byte(random.Uint32()); d == nacre.Bool {
						in.Bytes()[i] &= 1
					}
				}
				for i := range in.Strings() {
					in.Strings()[i] = strings.Repeat("]\",\\ ∂", i%5)
				}
				text, err := json.Marshal(map[string]*nacre.Tensor{"x": in})
				if err != nil {
					t.Fatal(err)
				}
				var all map[string]*nacre.Tensor
				if err := json.Unmarshal(text, &all); err != nil {
					t.Fatal(err)
				}
				out := all["x"]
				if out.String() != in.String() || fmt.Sprint(out.Strings()) != fmt.Sprint(in.Strings()) {
					t.Fatalf("got %v, want %v", out, in)
				}
				sameButNaNs(t, out, in)
			})
		}
	}
}

// sameButNaNs compares elements; one NaN is as good as another.
func sameButNaNs(t *testing.T, got, want *nacre.Tensor) {
	t.Helper()
	if d := want.DType(); bytes.Equal(got.Bytes(), want.Bytes()) {
		return
	} else if d != nacre.Complex64 && d != nacre.Complex128 && !d.IsFloat() {
		t.Fatalf("the elements of %v differ", want)
	}
	for i := range want.Len() {
		if got.Text(i) != want.Text(i) {
			t.Fatalf("element %d of %v is %s, want %s", i, want, got.Text(i), want.Text(i))
		}
	}
}

func TestTensorJSONErrors(t *testing.T) {
	for _, c := range []struct {
		text string
		want error
	}{
		{`{"dtype":"float32","shape":[2],"data":[1]}`, nacre.ErrShape},
		{`{"dtype":"float32","shape":[2],"data":[1,2,3]}`, nacre.ErrShape},
		{`{"dtype":"float32","shape":[-1],"data":[]}`, nacre.ErrShape},
		{`{"dtype":"float32","shape":[9999999999,9999999999],"data":[]}`, nacre.ErrShape},
		{`{"dtype":"float32","shape":[99999999],"data":[1]}`, nacre.ErrShape},
		{`{"dtype":"q8_0","shape":[3],"data":""}`, nacre.ErrShape},
		{`{"dtype":"int4","shape":[3],"data":"AA=="}`, nacre.ErrShape},
		{`{"dtype":"string","shape":[2],"data":["a"]}`, nacre.ErrShape},
		{`{"dtype":"float31","shape":[1],"data":[1]}`, nacre.ErrUnsupported},
		{`{"shape":[1],"data":[1]}`, nacre.ErrFormat},
		{`{"dtype":"float32","data":[1]}`, nacre.ErrFormat},
		{`{"dtype":"float32","shape":[1]}`, nacre.ErrFormat},
		{`{"dtype":"float32","shape":[1],"data":null}`, nacre.ErrFormat},
		{`{"dtype":"float32","shape":[1],"data":{"a":1}}`, nacre.ErrFormat},
		{`{"dtype":"float32","shape":[1],"data":"AAAAAA=="}`, nacre.ErrFormat},
		{`{"dtype":"float32","shape":[1],"data":[1e99]}`, nacre.ErrFormat},
		{`{"dtype":"float16","shape":[1],"data":[70000]}`, nacre.ErrFormat},
		{`{"dtype":"float32","shape":[1],"data":["Inf"]}`, nacre.ErrFormat},
		{`{"dtype":"float32","shape":[1],"data":[null]}`, nacre.ErrFormat},
		{`{"dtype":"float32","shape":[2],"data":[[1,2]]}`, nacre.ErrFormat},
		{`{"dtype":"int8","shape":[1],"data":[128]}`, nacre.ErrFormat},
		{`{"dtype":"uint8","shape":[1],"data":[-1]}`, nacre.ErrFormat},
		{`{"dtype":"int32","shape":[1],"data":[1.5]}`, nacre.ErrFormat},
		{`{"dtype":"int32","shape":[1],"data":["1"]}`, nacre.ErrFormat},
		{`{"dtype":"bool","shape":[1],"data":[1]}`, nacre.ErrFormat},
		{`{"dtype":"complex64","shape":[1],"data":[1]}`, nacre.ErrFormat},
		{`{"dtype":"complex64","shape":[1],"data":[[1]]}`, nacre.ErrFormat},
		{`{"dtype":"complex64","shape":[1],"data":[[1,2,3]]}`, nacre.ErrFormat},
		{`{"dtype":"complex64","shape":[1],"data":[[[1],2]]}`, nacre.ErrFormat},
		{`{"dtype":"string","shape":[1],"data":[null]}`, nacre.ErrFormat},
		{`{"dtype":"string","shape":[1],"data":"AA=="}`, nacre.ErrFormat},
		{`{"dtype":"int4","shape":[2],"data":[1,2]}`, nacre.ErrFormat},
		{`{"dtype":"int4","shape":[2],"data":"?"}`, nacre.ErrFormat},
		{`[1,2]`, nacre.ErrFormat},
	} {
		x := nacre.Scalar[float32](7)
		err := json.Unmarshal([]byte(c.text), x)
		if !errors.Is(err, c.want) || errors.Is(err, nacre.ErrInternal) {
			t.Errorf("%s: %v, want %v", c.text, err, c.want)
		}
		field := "data"
		switch {
		case errors.Is(err, nacre.ErrUnsupported), strings.HasPrefix(c.text, `{"shape"`), strings.HasPrefix(c.text, "["):
			field = "dtype"
		case strings.Contains(c.text, "-1],") || strings.Contains(c.text, "9999999999") || strings.Contains(c.text, "q8_0") || !strings.Contains(c.text, "shape"):
			field = "shape"
		}
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v does not name %s", c.text, err, field)
		}
		if x.String() != "float32[]" {
			t.Errorf("%s: an error leaves %v", c.text, x)
		}
	}
	x := nacre.Scalar[float32](7)
	if err := x.UnmarshalJSON([]byte(" null ")); err != nil || x.Text(0) != "7" {
		t.Errorf("null: %v, %v", x, err)
	}
}

func FuzzTensorJSON(f *testing.F) {
	f.Add([]byte(`{"dtype":"float32","shape":[2,2],"data":[1,2.5,"NaN","-Infinity"]}`))
	f.Add([]byte(`{"dtype":"complex64","shape":[1],"data":[[1,"NaN"]]}`))
	f.Add([]byte(`{"dtype":"int4","shape":[3],"data":"AAA="}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var x nacre.Tensor
		if err := x.UnmarshalJSON(text); err != nil {
			if errors.Is(err, nacre.ErrInternal) {
				t.Fatal(err)
			}
			return
		}
		again, err := x.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var y nacre.Tensor
		if err := y.UnmarshalJSON(again); err != nil || x.String() != y.String() && x.String() != "none" {
			t.Fatalf("%s came back as %v, %v", again, &y, err)
		}
	})
}
