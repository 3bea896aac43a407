package text

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// repeatCases excludes tokens that would repeat others.
func repeatCases(s *cases.Suite) {
	tokens, scores := cases.Seen(cases.Ints(1, 2, 0, 1, 2, 3, 3, 3, 3, 3), 2, 5), s.Any(tensor.F32, 2, 4)
	y := scores.Clone()
	cases.SetNumber(y, 0, math.Inf(-1))
	cases.SetNumber(y, 7, math.Inf(-1))
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "NGramRepeatBlock", Version: 1, Attrs: cases.Attrs("ngram_size", 3),
		In: cases.In(tokens, scores), Want: cases.Want(y)})
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "NGramRepeatBlock", Version: 1, Note: "no size",
		In: cases.In(tokens, scores), Fails: graph.ErrFormat})
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "NGramRepeatBlock", Version: 1, Note: "outside", Attrs: cases.Attrs("ngram_size", 1),
		In: cases.In(cases.Seen(cases.Ints(0, 4), 2, 1), scores), Fails: graph.ErrShape})
}
