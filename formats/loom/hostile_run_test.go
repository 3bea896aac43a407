package loom_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// cell returns a checkpoint of one layer with this many float32 weights, all zero.
func cell(weights int, fields string) string {
	return fmt.Sprintf(`{"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[{"softmax_type":"Standard","native":true,"weights":%q,%s}]}`,
		base64.StdEncoding.EncodeToString(make([]byte, 4*weights)), fields)
}

// TestHostileRuns runs networks with impossible configurations. Each fails with an error that names
// the reason, and takes little memory.
func TestHostileRuns(t *testing.T) {
	testenv.Need(t, bindings.Available())
	const limit = 64 << 20
	long := strings.Repeat("x", 1<<20)
	rules := strings.TrimSuffix(strings.Repeat(`{"Condition":1,"Command":101,"SelfOnly":true},`, 20000), ",")
	for name, c := range map[string]struct {
		text  string
		shape []int
		want  string
	}{
		"large output":           {cell(1, `"type":"CNN1","input_height":1,"output_height":268435456,"input_channels":1,"filters":1,"kernel_size":1,"stride":1`), []int{1, 1, 1}, "memory"},
		"larger output":          {cell(1, `"type":"CNN3","input_height":1,"input_width":1,"input_depth":1,"output_height":2000000,"output_width":2000000,"output_depth":2000000,"input_channels":1,"filters":1,"kernel_size":1,"stride":1`), []int{1, 1, 1, 1, 1}, ""},
		"output of no window":    {cell(1, `"type":"CNN2","input_height":1,"input_width":1,"output_height":100000,"output_width":100000,"input_channels":1,"filters":1,"stride":1`), []int{1, 1, 1, 1}, ""},
		"scattered":              {cell(1, `"type":"ConvTransposed2D","input_height":1,"input_width":1,"output_height":200000,"output_width":200000,"input_channels":1,"filters":1,"kernel_size":1,"stride":200000000`), []int{1, 1, 1, 1}, ""},
		"stride":                 {cell(1, `"type":"CNN1","input_height":1,"output_height":1,"input_channels":1,"filters":1,"kernel_size":1,"stride":9223372036854775807`), []int{1, 1, 1}, "cannot be"},
		"negative padding":       {cell(1, `"type":"CNN1","input_height":1,"output_height":1,"input_channels":1,"filters":1,"kernel_size":1,"stride":1,"padding":-1`), []int{1, 1, 1}, "cannot be"},
		"many steps":             {cell(3, `"type":"RNN","input_height":1,"output_height":1,"seq_length":9223372036854775807`), []int{1, 1}, ""},
		"steps":                  {cell(3, `"type":"RNN","input_height":1,"output_height":1,"seq_length":1000000000`), []int{1, 1}, ""},
		"grid of a softmax":      {cell(0, `"type":"Softmax","softmax_type":"Grid","softmax_rows":2147483647,"softmax_cols":2147483647`), []int{1, 4}, ""},
		"negative grid":          {cell(0, `"type":"Softmax","softmax_type":"Grid","softmax_rows":-2,"softmax_cols":2`), []int{1, 4}, "softmax_rows"},
		"heads of nothing":       {cell(12, `"type":"MHA","d_model":1,"num_heads":-1,"num_kv_heads":1,"head_dim":1`), []int{1, 1, 1}, ""},
		"heads that do not fit":  {cell(8, `"type":"MHA","d_model":1,"num_heads":4611686018427387904,"num_kv_heads":1,"head_dim":1`), []int{1, 1, 1}, ""},
		"a base of no rotation":  {cell(24, `"type":"MHA","d_model":2,"num_heads":1,"rope_freq_base":-10`), []int{1, 1, 2}, "rope_freq_base"},
		"rows of a norm":         {cell(4, `"type":"RMSNorm","input_height":4,"output_height":2147483648`), []int{1, 4}, "take as many"},
		"negative rows":          {cell(4, `"type":"LayerNorm","input_height":2,"output_height":-2`), []int{1, 2}, "output_height"},
		"large vocabulary":       {cell(1, `"type":"Embedding","vocab_size":9223372036854775807,"embedding_dim":1`), []int{1, 1}, "weights"},
		"word of a combination":  {cell(0, `"type":"`+long+`","input_height":-1`), []int{1, 1}, ""},
		"many rules":             {cell(0, `"type":"Metacognition","meta_rules":[`+rules+`],"meta_observed_layer":{"type":"Residual","softmax_type":"Standard"}`), []int{1, 1}, "more rules"},
		"a rule for no layer":    {cell(0, `"type":"Metacognition","meta_rules":[{"Condition":6,"Threshold":9,"Command":99,"Param":3e38,"SelfOnly":false},{"Condition":6,"Threshold":9,"Command":99,"Param":3e38,"SelfOnly":true}],"meta_observed_layer":{"type":"Residual","softmax_type":"Standard"}`), []int{1, 1}, "no dtype"},
		"grid of many cells":     {`{"depth":2147483647,"rows":1,"cols":1,"layers_per_cell":1,"layers":[{"type":"Residual","softmax_type":"Standard","z":2147483646}]}`, []int{1, 1}, "2147483647 layers"},
		"weights of a spec":      {`{"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[{"type":"dense","input_height":65536,"output_height":65536}]}`, []int{1, 1}, "weights"},
		"negative one of a spec": {`{"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[{"type":"dense","input_height":-4,"output_height":-4}]}`, []int{1, 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			took := fixtures.Allocated(func() {
				m, err := nacre.Decode("x.json", []byte(c.text))
				if err == nil {
					defer m.Close()
					in := must(nacre.NewTensor(make([]float32, tensorLen(c.shape)), c.shape...))
					_, err = ran(m, nacre.Options{Threads: 1, Lowering: formats.Lowering{Quirks: true}, MemoryLimit: limit}, map[string]*nacre.Tensor{"input": in})
				}
				if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 2000 {
					t.Errorf("%.2000v does not say %q", err, c.want)
				}
				if c.want == "" {
					t.Log(err)
				}
			})
			if took > limit+128*uint64(len(c.text)) {
				t.Errorf("%d bytes are taken", took)
			}
		})
	}
}

func tensorLen(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
