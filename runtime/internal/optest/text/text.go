package text

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func textCases(s *cases.Suite) {
	concatTextCases(s)
	splitTextCases(s)
	regexCases(s)
	normalizerCases(s)
	tfIdfCases(s)
	tokenizerCases(s)
}

// words returns a vector of strings.
func words(list ...string) *tensor.Tensor {
	t := tensor.New(tensor.String, len(list))
	copy(t.Strings(), list)
	return t
}

func concatTextCases(s *cases.Suite) {
	for _, pair := range cases.ShapePairs {
		x, y := s.Any(tensor.String, pair[0]...), s.Any(tensor.String, pair[1]...)
		z := tensor.New(tensor.String, cases.BroadcastShape(pair[0], pair[1])...)
		cases.Each(z.Shape(), func(i int, at []int) {
			z.Strings()[i] = x.Strings()[cases.Flat(x.Shape(), cases.BroadcastIndex(x.Shape(), at)...)] + y.Strings()[cases.Flat(y.Shape(), cases.BroadcastIndex(y.Shape(), at)...)]
		})
		s.Add(cases.Case{Op: "StringConcat", Version: 20, In: cases.In(x, y), Want: cases.Want(z)})
	}
	s.Add(cases.Case{Op: "StringConcat", Version: 20, Note: "unicode", In: cases.In(words("ä", "\xff"), words("", "日本")),
		Want: cases.Want(words("ä", "\xff日本"))})
	s.Add(cases.Case{Op: "StringConcat", Version: 20, Note: "shapes",
		In: cases.In(words("a", "b"), words("a", "b", "c")), Fails: graph.ErrShape})
	s.Add(cases.Case{Op: "StringConcat", Version: 20, Note: "numbers", In: cases.In(words("a"), cases.Ints(1)),
		Fails: graph.ErrShape})
}

// table returns rows of strings, padded with empty strings, and the lengths of the rows.
func table(rows ...[]string) (parts, counts *tensor.Tensor) {
	longest := 0
	for _, r := range rows {
		longest = max(longest, len(r))
	}
	parts, counts = tensor.New(tensor.String, len(rows), longest), tensor.New(tensor.I64, len(rows))
	for i, r := range rows {
		copy(parts.Strings()[i*longest:], r)
		cases.SetNumber(counts, i, float64(len(r)))
	}
	return parts, counts
}

func splitTextCases(s *cases.Suite) {
	add := func(note string, a []*graph.Attr, x *tensor.Tensor, rows ...[]string) {
		parts, counts := table(rows...)
		s.Add(cases.Case{Op: "StringSplit", Version: 20, Note: note, Attrs: a, In: cases.In(x),
			Want: cases.Want(parts, counts)})
		s.Add(cases.Case{Op: "StringSplit", Version: 20, Note: note + ", parts only", Attrs: a, In: cases.In(x),
			Want: cases.Want(parts)})
		s.Add(cases.Case{Op: "StringSplit", Version: 20, Note: note + ", counts only", Attrs: a, In: cases.In(x),
			Want: cases.Want(nil, counts)})
	}
	x := words("a,b,,c", "x", "", ",,,")
	add("comma", cases.Attrs("delimiter", ","), x, []string{"a", "b", "", "c"}, []string{"x"}, []string{""},
		[]string{"", "", "", ""})
	add("two commas", cases.Attrs("delimiter", ",", "maxsplit", 2), x, []string{"a", "b", ",c"}, []string{"x"},
		[]string{""}, []string{"", "", ","})
	add("no commas", cases.Attrs("delimiter", ",", "maxsplit", 0), x, []string{"a,b,,c"}, []string{"x"}, []string{""},
		[]string{",,,"})
	add("any commas", cases.Attrs("delimiter", ",", "maxsplit", -3), x, []string{"a", "b", "", "c"}, []string{"x"},
		[]string{""}, []string{"", "", "", ""})
	add("overlapping", cases.Attrs("delimiter", "aa"), words("aaaa", "aaa", "baab"), []string{"", "", ""},
		[]string{"", "a"}, []string{"b", "b"})
	y := words("a b  c ", "\t x\n", "", " ", "q\u2003r\u00a0")
	add("space", nil, y, []string{"a", "b", "c"}, []string{"x"}, nil, nil, []string{"q", "r"})
	add("empty delimiter", cases.Attrs("delimiter", ""), y, []string{"a", "b", "c"}, []string{"x"}, nil, nil,
		[]string{"q", "r"})
	add("one space", cases.Attrs("maxsplit", 1), y, []string{"a", "b  c"}, []string{"x"}, nil, nil, []string{"q", "r"})
	add("no space", cases.Attrs("maxsplit", 0), y, []string{"a b  c"}, []string{"x"}, nil, nil, []string{"q\u2003r"})
	add("only space", nil, words("", " "), nil, nil)
	for _, shape := range [][]int{{}, {2, 0}, {0}, {2, 3, 4}} {
		lines := tensor.New(tensor.String, shape...)
		rows := make([][]string, lines.Len())
		for i := range rows {
			for range s.IntN(5) {
				rows[i] = append(rows[i], fmt.Sprint("w", s.IntN(9)))
			}
			lines.Strings()[i] = strings.Repeat(" ", s.IntN(3)) + strings.Join(rows[i], "  ")
		}
		parts, counts := table(rows...)
		parts = cases.Seen(parts, append(slices.Clone(shape), parts.Shape()[1])...)
		s.Add(cases.Case{Op: "StringSplit", Version: 20, In: cases.In(lines),
			Want: cases.Want(parts, cases.Seen(counts, shape...))})
	}
}

func regexCases(s *cases.Suite) {
	x := words("abc", "ab", "abcabc", "", "a\nc", "ABC", "é", "a\n")
	for pattern, list := range map[string][]string{
		"abc": {"abc"}, "a|abc": {"abc"}, "a|ab|abca": {"ab"}, "a.c": {"abc"}, "(?s)a.c": {"abc", "a\nc"}, "(?i)abc": {"abc", "ABC"}, "": {""},
		"^ab$": {"ab"}, ".": {"é"}, "a$": nil, "(?m)a$\\n": {"a\n"}, `\pL`: {"é"}, "(?s).*": x.Strings(), "(?P<name>a)bc": {"abc"}, "a*?": {""},
		`\Qabc`: {"abc"}, `\Qab\E`: {"ab"}, "(?U)(abc)*": {"abc", "abcabc", ""}, `\z`: {""}, "[[:alpha:]]{2,3}": {"abc", "ab", "ABC"},
		"b": nil, "(?:ab?)c|ab": {"ab", "abc"}, "(a{0,900}){0,1}": {""},
	} {
		y := tensor.New(tensor.Bool, x.Len())
		for i, v := range x.Strings() {
			cases.SetNumber(y, i, cases.Truth(slices.Contains(list, v)))
		}
		s.Add(cases.Case{Op: "RegexFullMatch", Version: 20, Note: fmt.Sprintf("%q", pattern),
			Attrs: cases.Attrs("pattern", pattern), In: cases.In(x), Want: cases.Want(y)})
	}
	for pattern, kind := range map[string]error{
		"[": graph.ErrFormat, "(?:": graph.ErrFormat, "x{1001}": graph.ErrFormat, "(a{1000}){1000}": graph.ErrFormat, ")|(": graph.ErrFormat,
		`(a)\1`: graph.ErrFormat, "(?=a)": graph.ErrFormat, `\C`: graph.ErrUnsupported, strings.Repeat("a{1000}", 70): graph.ErrUnsupported,
		strings.Repeat("a", 1<<17): graph.ErrUnsupported,
	} {
		s.Add(cases.Case{Op: "RegexFullMatch", Version: 20, Note: fmt.Sprintf("bad %.20q", pattern),
			Attrs: cases.Attrs("pattern", pattern), In: cases.In(x), Fails: kind})
	}
	s.Add(cases.Case{Op: "RegexFullMatch", Version: 20, Note: "none", In: cases.In(x), Fails: graph.ErrFormat})
	for _, shape := range [][]int{{}, {2, 0}, {3, 5}} {
		v := s.Any(tensor.String, shape...)
		y := tensor.New(tensor.Bool, shape...)
		for i, w := range v.Strings() {
			cases.SetNumber(y, i, cases.Truth(len(w) == 3))
		}
		s.Add(cases.Case{Op: "RegexFullMatch", Version: 20, Attrs: cases.Attrs("pattern", "s[0-9]{2}"), In: cases.In(v),
			Want: cases.Want(y)})
	}
}

func normalizerCases(s *cases.Suite) {
	add := func(note string, x, y *tensor.Tensor, list ...any) {
		s.Add(cases.Case{Op: "StringNormalizer", Version: 10, Note: note, Attrs: cases.Attrs(list...), In: cases.In(x),
			Want: cases.Want(y)})
	}
	x := words("monday", "Tuesday", "", "straße", "İx", "ΣΑΣ", "ı", "i", "é", "É", "a\xff")
	upper := words("MONDAY", "TUESDAY", "", "STRASSE", "İX", "ΣΑΣ", "I", "I", "É", "É", "A\xff")
	lower := words("monday", "tuesday", "", "straße", "i̇x", "σας", "ı", "i", "é", "é", "a\xff")
	add("as it is", x, x)
	add("none", x, x, "case_change_action", "NONE")
	add("upper", x, upper, "case_change_action", "UPPER")
	add("lower", x, lower, "case_change_action", "LOWER")
	add("matrix", cases.Seen(x, 1, x.Len()), cases.Seen(upper, 1, x.Len()), "case_change_action", "UPPER", "locale",
		"en_US")
	turkish := words("MONDAY", "TUESDAY", "", "STRASSE", "İX", "ΣΑΣ", "I", "İ", "É", "É", "A\xff")
	add("turkish", x, turkish, "case_change_action", "UPPER", "locale", "tr_TR.UTF-8")
	add("azeri", x, turkish, "case_change_action", "UPPER", "locale", "az@latin")
	plain := words("MONDAY", "TUESDAY", "", "STRAßE", "İX", "ΣΑΣ", "ı", "I", "é", "É", "A\xff")
	for _, name := range []string{"C", "POSIX"} {
		add("locale "+name, x, plain, "case_change_action", "UPPER", "locale", name)
	}
	add("locale C.UTF-8", x, upper, "case_change_action", "UPPER", "locale", "C.UTF-8")
	stop := []string{"MONDAY", "tuesday", "é", "ſ"}
	add("exact", x, words("monday", "Tuesday", "", "straße", "İx", "ΣΑΣ", "ı", "i", "É", "a\xff"), "stopwords", stop,
		"is_case_sensitive", 1)
	add("exact, then lower", x, words("monday", "tuesday", "", "straße", "i̇x", "σας", "ı", "i", "é", "a\xff"),
		"stopwords", stop, "is_case_sensitive", 1, "case_change_action", "LOWER")
	add("any case", x, words("", "straße", "İx", "ΣΑΣ", "ı", "i", "a\xff"), "stopwords", stop)
	add("any case, then upper", x, words("", "STRASSE", "İX", "ΣΑΣ", "I", "I", "A\xff"), "stopwords", stop,
		"case_change_action", "UPPER")
	add("empty stop word", x, words("monday", "Tuesday", "straße", "İx", "ΣΑΣ", "ı", "i", "é", "É", "a\xff"),
		"stopwords", []string{""})
	add("nothing left", words("a", "A"), words(""), "stopwords", []string{"a"})
	add("no row left", cases.Seen(words("a", "A"), 1, 2), cases.Seen(words(""), 1, 1), "stopwords", []string{"a"})
	add("nothing there", words(), words(""), "case_change_action", "UPPER")
	add("no row there", cases.Seen(words(), 1, 0), cases.Seen(words(""), 1, 1))
	s.Add(cases.Case{Op: "StringNormalizer", Version: 10, Note: "action",
		Attrs: cases.Attrs("case_change_action", "lower"), In: cases.In(x), Fails: graph.ErrFormat})
	for note, locale := range map[string]string{"locale": "x!", "language": "xx_YY"} {
		s.Add(cases.Case{Op: "StringNormalizer", Version: 10, Note: note, Attrs: cases.Attrs("locale", locale),
			In: cases.In(x), Fails: graph.ErrUnsupported})
	}
	for _, shape := range [][]int{{}, {2, 2}, {1, 1, 3}, {0, 1}} {
		s.Add(cases.Case{Op: "StringNormalizer", Version: 10, Note: "shape", In: cases.In(s.Any(tensor.String, shape...)),
			Fails: graph.ErrShape})
	}
}

// tfIdfPool is a pool of n-grams of integers, grouped by length, with their coordinates and
// weights.
type tfIdfPool struct {
	grams   [][]int
	indexes []int
	weights []float64
}

// tfIdfCase counts, for every n-gram and every distance, the positions where it begins.
func tfIdfCase(
	s *cases.Suite, p tfIdfPool, d tensor.DType, mode string, fewest, most, skips int, x [][]int, rank int,
) cases.Case {
	pool, starts, width := []int{}, make([]int, most), slices.Max(p.indexes)+1
	for size := 1; size <= most; size++ {
		starts[size-1] = len(pool)
		for _, g := range p.grams {
			if len(g) == size {
				pool = append(pool, g...)
			}
		}
	}
	out := make([]float64, len(x)*width)
	for row, items := range x {
		for k, g := range p.grams {
			n := 0
			for distance := 1; distance <= min(skips, len(items))+1; distance++ {
				for start := 0; start+(len(g)-1)*distance < len(items); start++ {
					same := len(g) >= fewest && len(g) <= most && (len(g) > 1 || distance == 1)
					for i, v := range g {
						same = same && items[start+i*distance] == v
					}
					n += int(cases.Truth(same))
				}
			}
			v := float64(n)
			if mode == "IDF" {
				v = cases.Truth(n > 0)
			}
			if mode != "TF" && p.weights != nil {
				v *= p.weights[k]
			}
			out[row*width+p.indexes[k]] += v
		}
	}
	list := []any{"mode", mode, "ngram_counts", starts, "ngram_indexes", p.indexes, "max_skip_count", skips,
		"min_gram_length", fewest, "max_gram_length", most}
	if p.weights != nil {
		list = append(list, "weights", p.weights)
	}
	input := tensor.New(d, len(x), len(x[0]))
	name := func(v int) string { return fmt.Sprint("item ", v) }
	for i := range input.Len() {
		if v := x[i/len(x[0])][i%len(x[0])]; d == tensor.String {
			input.Strings()[i] = name(v)
		} else {
			cases.SetNumber(input, i, float64(v))
		}
	}
	if d == tensor.String {
		items := make([]string, len(pool))
		for i, v := range pool {
			items[i] = name(v)
		}
		list = append(list, "pool_strings", items)
	} else {
		list = append(list, "pool_int64s", pool)
	}
	y := cases.FromNumbers(tensor.F32, out, len(x), width)
	if rank == 1 {
		input, y = cases.Seen(input, len(x[0])), cases.Seen(y, width)
	}
	return cases.Case{Op: "TfIdfVectorizer", Version: 9, Note: fmt.Sprintf("%s of %d to %d, skips %d", mode, fewest,
		most, skips), Attrs: cases.Attrs(list...), In: cases.In(input), Want: cases.Want(y), Ulps: 4}
}

func tfIdfCases(s *cases.Suite) {
	pool := tfIdfPool{
		grams:   [][]int{{2}, {0}, {7}, {0, 1}, {1, 1}, {2, 0}, {0, 1, 2}, {1, 1, 1}, {2, 1, 0}},
		indexes: []int{8, 1, 0, 10, 4, 5, 6, 2, 7},
		weights: []float64{0.5, 0.25, 3, -1, 2, 0.1, 7, 1, 0},
	}
	for _, d := range []tensor.DType{tensor.String, tensor.I32, tensor.I64} {
		for _, mode := range []string{"TF", "IDF", "TFIDF"} {
			for _, weights := range [][]float64{nil, pool.weights} {
				for _, l := range [][3]int{{1, 1, 0}, {1, 3, 0}, {2, 3, 2}, {3, 3, 1}, {1, 3, 50}, {1, 1, 9}} {
					x := make([][]int, 1+s.IntN(3))
					for i := range x {
						x[i] = make([]int, 20)
						for j := range x[i] {
							x[i][j] = s.IntN(4)
						}
					}
					p := tfIdfPool{indexes: pool.indexes, weights: weights}
					for _, g := range pool.grams {
						if len(g) <= l[1] {
							p.grams = append(p.grams, g)
						}
					}
					s.Add(tfIdfCase(s, p, d, mode, l[0], l[1], l[2], x, 2))
					s.Add(tfIdfCase(s, p, d, mode, l[0], l[1], l[2], x[:1], 1))
				}
			}
		}
		s.Add(tfIdfCase(s, pool, d, "TF", 1, 3, 1, [][]int{{}}, 1))
		s.Add(tfIdfCase(s, pool, d, "TF", 1, 3, 1, [][]int{{}, {}}, 2))
		s.Add(tfIdfCase(s, pool, d, "TF", 2, 3, cases.Huge, [][]int{{0, 1, 2}}, 1))
	}
	shared := tfIdfPool{grams: [][]int{{0}, {1}, {0, 1}}, indexes: []int{0, 0, 1}, weights: []float64{1, 2, 4}}
	s.Add(tfIdfCase(s, shared, tensor.I64, "IDF", 1, 2, 0, [][]int{{0, 1, 1}}, 1))
	tfIdfFailures(s)
}

func tfIdfFailures(s *cases.Suite) {
	good := map[string]any{"mode": "TF", "ngram_counts": []int{0, 3}, "ngram_indexes": []int{0, 1, 2, 3, 4}, "max_skip_count": 0, "min_gram_length": 1, "max_gram_length": 2,
		"pool_int64s": []int{1, 2, 3, 1, 2, 2, 3}}
	with := func(name string, v any) []*graph.Attr {
		var list []any
		for k, w := range good {
			if k != name {
				list = append(list, k, w)
			}
		}
		if v != nil {
			list = append(list, name, v)
		}
		return cases.Attrs(list...)
	}
	x := cases.Ints(1, 2, 3)
	s.Add(cases.Case{Op: "TfIdfVectorizer", Version: 9, Note: "good", Attrs: with("", nil), In: cases.In(x),
		Want: cases.Want(cases.Vector(tensor.F32, 1, 1, 1, 1, 1))})
	for name := range good {
		s.Add(cases.Case{Op: "TfIdfVectorizer", Version: 9, Note: "no " + name, Attrs: with(name, nil), In: cases.In(x),
			Fails: graph.ErrFormat})
	}
	for _, f := range []struct {
		name string
		v    any
	}{
		{"mode", "tf"}, {"weights", []float64{1}}, {"pool_strings", []string{"a"}}, {"max_skip_count", -1}, {"min_gram_length", 0}, {"min_gram_length", 3},
		{"max_gram_length", 3}, {"max_gram_length", cases.Huge}, {"ngram_counts", []int{}}, {"ngram_counts", []int{3, 0}}, {"ngram_counts", []int{0, 2}}, {"ngram_counts", []int{0, 9}},
		{"ngram_counts", []int{-1, 3}}, {"ngram_counts", []int{0, 3, cases.Huge}}, {"ngram_indexes", []int{}}, {"ngram_indexes", []int{0, 1, 2}}, {"ngram_indexes", []int{0, 1, 2, 3, -1}},
		{"ngram_indexes", []int{0, 1, 2, 3, math.MaxInt}}, {"pool_int64s", []int{1, 1, 3, 1, 2, 2, 3}},
	} {
		s.Add(cases.Case{Op: "TfIdfVectorizer", Version: 9, Note: fmt.Sprintf("%s %v", f.name, f.v),
			Attrs: with(f.name, f.v), In: cases.In(x), Fails: graph.ErrFormat})
	}
	for _, t := range []*tensor.Tensor{words("a"), tensor.New(tensor.I64), tensor.New(tensor.I64, 1, 1, 2)} {
		s.Add(cases.Case{Op: "TfIdfVectorizer", Version: 9, Note: "input", Attrs: with("", nil), In: cases.In(t),
			Fails: graph.ErrShape})
	}
	s.Add(cases.Case{Op: "TfIdfVectorizer", Version: 9, Note: "input", Attrs: with("", nil),
		In: cases.In(tensor.New(tensor.F32, 2)), Fails: graph.ErrUnsupported})
}

func tokenizerCases(s *cases.Suite) {
	add := func(c cases.Case, x *tensor.Tensor, more ...any) {
		c.Domain, c.Op, c.Version, c.In = cases.Microsoft, "Tokenizer", 1, cases.In(x)
		c.Attrs = cases.Attrs(append([]any{"mark", 0, "pad_value", "#"}, more...)...)
		s.Add(c)
	}
	fails := func(kind error, note string, x *tensor.Tensor, more ...any) {
		add(cases.Case{Note: note, Fails: kind}, x, more...)
	}
	y := tensor.New(tensor.String, 2, 2)
	copy(y.Strings(), []string{"a", "b", "c", "#"})
	x := words("a b", " c")
	add(cases.Case{Note: "words", Want: cases.Want(y)}, x, "mincharnum", 1, "tokenexp", "[a-z]")
	fails(graph.ErrFormat, "empty", x, "mincharnum", 1, "tokenexp", "")
	fails(graph.ErrFormat, "pattern", x, "mincharnum", 1, "tokenexp", "(")
	fails(graph.ErrFormat, "neither", x, "mincharnum", 1)
	fails(graph.ErrFormat, "no characters", x, "mincharnum", 0, "tokenexp", "a")
	fails(graph.ErrFormat, "no mincharnum", x, "tokenexp", "a")
	fails(graph.ErrFormat, "long characters", x, "mincharnum", 2, "separators", []string{""})
	for _, separator := range []string{"", "a*", "a|b?", "(c|$)", "a{0,3}", `\b`} {
		fails(graph.ErrUnsupported, "separator "+separator, x, "mincharnum", 1, "separators", []string{separator, " "})
	}
	fails(graph.ErrUnsupported, "separators", x, "mincharnum", 1, "separators",
		[]string{"[ab]{900}", "a{900}", strings.Repeat("(a{900})", 80)})
	fails(graph.ErrFormat, "not UTF-8", words("\xff"), "mincharnum", 1, "tokenexp", "a")
	fails(graph.ErrShape, "scalar", tensor.New(tensor.String), "mincharnum", 1, "tokenexp", "a")
	fails(graph.ErrShape, "cube", tensor.New(tensor.String, 1, 1, 1), "mincharnum", 1, "tokenexp", "a")
}
