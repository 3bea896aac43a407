package speech

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre"
)

// chatterboxSet is the graphs of one precision.
type chatterboxSet struct{ precision, ending string }

// chatterboxSets lists the precisions, the fastest first.
var chatterboxSets = []chatterboxSet{
	{"q4", "_q4"}, {"q4f16", "_q4f16"}, {"quantized", "_quantized"}, {"fp16", "_fp16"}, {"fp32", ""},
}

// The graphs of a voice of Chatterbox.
const (
	speechEncoder      = "speech_encoder"
	embedTokens        = "embed_tokens"
	languageModel      = "language_model"
	conditionalDecoder = "conditional_decoder"
)

var chatterboxGraphs = []string{speechEncoder, embedTokens, languageModel, conditionalDecoder}

// chatterboxTokenizer is the file with the tokenizer.
const chatterboxTokenizer = "tokenizer.json"

// maxTokenizer is the most bytes of the tokenizer.
const maxTokenizer = 64 << 20

// chatterboxFolder returns the folder with graphs that no other voice has, of any precision: onnx,
// or the voice's own. Without such a graph it is "".
func chatterboxFolder(f files) string {
	for _, folder := range []string{"onnx", "."} {
		for _, s := range chatterboxSets {
			for _, graph := range []string{languageModel, conditionalDecoder, speechEncoder} {
				if f.has(s.file(folder, graph)) {
					return folder
				}
			}
		}
	}
	return ""
}

// chatterboxFound reports whether files are a voice of Chatterbox.
func chatterboxFound(f files) bool { return f.name == "" && chatterboxFolder(f) != "" }

// file returns the name of a graph's file.
func (s chatterboxSet) file(folder, graph string) string {
	return path.Join(folder, graph+s.ending+".onnx")
}

// missing returns the files of a set that are not there. The weights of a graph may be in the file
// of the graph; they are missing if the graph names a file that is.
func (s chatterboxSet) missing(f files, folder string) []string {
	var list []string
	for _, graph := range chatterboxGraphs {
		name := s.file(folder, graph)
		if !f.has(name) {
			list = append(list, name, name+"_data")
		} else if data := name + "_data"; !f.has(data) && f.names(name, path.Base(data)) {
			list = append(list, data)
		}
	}
	if !f.has(chatterboxTokenizer) {
		list = append(list, chatterboxTokenizer)
	}
	return list
}

// names reports whether a file of weights is named in a graph.
func (f files) names(graph, weights string) bool {
	const most = 64 << 20
	data, err := f.read(graph, most)
	return err == nil && bytes.Contains(data, []byte(weights))
}

// chatterboxPrecision returns the set of a precision, or the fastest that is there. If no set is
// there, the error names the files that the most complete one lacks.
func chatterboxPrecision(f files, precision string) (chatterboxSet, error) {
	folder := chatterboxFolder(f)
	sets := chatterboxSets
	if precision != "" {
		i := slices.IndexFunc(sets, func(s chatterboxSet) bool { return s.precision == precision })
		if i < 0 {
			return chatterboxSet{}, errorf(nacre.ErrOption, "%s: option Precision is %q; a voice of Chatterbox has %s",
				f.shown, precision, precisions(sets))
		}
		sets = sets[i : i+1]
	}
	var best chatterboxSet
	var lacks []string
	for i, s := range sets {
		missing := s.missing(f, folder)
		if len(missing) == 0 {
			return s, nil
		}
		if i == 0 || len(missing) < len(lacks) {
			best, lacks = s, missing
		}
	}
	others := slices.DeleteFunc(slices.Clone(chatterboxSets), func(s chatterboxSet) bool {
		return s == best || len(s.missing(f, folder)) > 0
	})
	hint := ""
	if len(others) > 0 {
		hint = "; complete sets of files are there for " + precisions(others)
	}
	return chatterboxSet{}, &kindError{fs.ErrNotExist, errors.New(f.shown + ": the voice lacks files for precision " +
		best.precision + ": " + strings.Join(lacks, ", ") + hint)}
}

// precisions names sets in messages.
func precisions(sets []chatterboxSet) string {
	var names []string
	for _, s := range sets {
		names = append(names, s.precision)
	}
	return strings.Join(names, ", ")
}
