package text

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// charConv is convolutions over the embeddings of characters.
type charConv struct {
	weights, bias, table  []float32
	filters, window, size int
}

// word stores the largest result of each filter. A word that begins with padding has
// zeros. Windows begin at as many places as the word's own characters have.
func (v charConv) word(ids []int32, out []float32) {
	clear(out)
	if len(ids) == 0 || ids[0] == 0 {
		return
	}
	n := 0
	for _, id := range ids {
		n += op.Btoi(id > 0)
	}
	for f := range out {
		best := float32(math.Inf(-1))
		for at := range max(n-v.window, 0) + 1 {
			sum := v.bias[f]
			for k := range v.window {
				row := v.table[int(ids[at+k])*v.size:][:v.size]
				for j, w := range v.weights[(f*v.window+k)*v.size:][:v.size] {
					sum += w * row[j]
				}
			}
			best = max(best, sum)
		}
		out[f] = float32(math.Tanh(float64(best)))
	}
}

var suffixRows = []op.Row{
	{Domain: op.Microsoft, Name: "BifurcationDetector", Since: []int{1}, In: [2]int{3, 4}, Out: [2]int{2, 2}, Types: op.Types{tensor.I64}, New: newBifurcation},
	{Domain: op.Microsoft, Name: "WordConvEmbedding", Since: []int{1}, In: [2]int{4, 4}, Out: [2]int{1, 1}, New: newWordConv},
}
