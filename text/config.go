package text

import (
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre"
)

// Files of settings.
const (
	configFile    = "config.json"
	tokensFile    = "tokenizer_config.json"
	sentenceFile  = "sentence_bert_config.json"
	tokenizerFile = "tokenizer.json"
)

// A config is the settings in config.json that concern results.
type config struct {
	ModelType   string            `json:"model_type"`
	Labels      map[string]string `json:"id2label"`
	LabelCount  *int              `json:"num_labels"`
	Problem     string            `json:"problem_type"`
	Positions   *float64          `json:"max_position_embeddings"`
	Pad         *int32            `json:"pad_token_id"`
	Activation  string            `json:"sbert_ce_default_activation_function"`
	Transformed struct {
		Activation string `json:"activation_fn"`
	} `json:"sentence_transformers"`
	names []string // labels by number
}

// maxLabels bounds the labels of a classifier.
const maxLabels = 1 << 20

// readConfig reads config.json.
func readConfig(f folder) (*config, error) {
	c := &config{}
	ok, err := f.json(configFile, c)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errorf(fs.ErrNotExist, "%s: the file is missing; it says what the network is", f.file(configFile))
	}
	if c.names, err = labelsOf(c.Labels); err != nil {
		return nil, errorf(nacre.ErrFormat, "%s: %w", f.file(configFile), err)
	}
	switch c.Problem {
	case "", regression, single, multi:
	default:
		return nil, errorf(nacre.ErrUnsupported, "%s: problem_type is %.60q; it takes %s, %s, %s", f.file(configFile),
			c.Problem, regression, single, multi)
	}
	return c, nil
}

// The values of problem_type.
const (
	regression = "regression"
	single     = "single_label_classification"
	multi      = "multi_label_classification"
)

// labelsOf returns the labels by number.
func labelsOf(table map[string]string) ([]string, error) {
	list := make([]string, len(table))
	for _, key := range slices.Sorted(maps.Keys(table)) {
		n, err := strconv.Atoi(key)
		if err != nil || n < 0 || n >= len(table) || strconv.Itoa(n) != key {
			return nil, fmt.Errorf("id2label has the number %.40q, and %d labels", key, len(table))
		}
		list[n] = table[key]
	}
	return list, nil
}

// labels returns the names of the columns of a network's results.
func (c *config) labels(f folder, columns int) ([]string, error) {
	switch {
	case columns < 1 || columns > maxLabels:
		return nil, errorf(nacre.ErrUnsupported, "%s: the network gives %d numbers for labels", f.path, columns)
	case len(c.names) > 0 && len(c.names) != columns:
		return nil, errorf(nacre.ErrFormat, "%s: id2label has %d labels, and the network gives %d numbers",
			f.file(configFile), len(c.names), columns)
	case len(c.names) > 0:
		return c.names, nil
	}
	list := make([]string, columns)
	for i := range list {
		list[i] = "LABEL_" + strconv.Itoa(i)
	}
	return list, nil
}

// A sentenceConfig is the settings of sentence-transformers for the tokenizer.
type sentenceConfig struct {
	Max   *float64 `json:"max_seq_length"`
	Lower bool     `json:"do_lower_case"`
}

// maxTokens returns the most tokens of a text: by the option, by sentence-transformers, by the
// tokenizer's truncation, or by the least of what tokenizer and network take. 0 is no bound. An option
// beyond the positions of the network is an error.
func (c *config) maxTokens(f folder, o Options, s sentenceConfig, truncation int) (int, error) {
	positions := math.Inf(1)
	if c.Positions != nil {
		positions = *c.Positions
		if offsetPositions[c.ModelType] {
			positions -= float64(c.pad()) + 1
		}
	}
	switch {
	case float64(o.MaxTokens) > positions && positions >= 1:
		return 0, errorf(nacre.ErrOption, "%s: option MaxTokens is %d; the network has positions for %v tokens (max_position_embeddings of %s)",
			f.path, o.MaxTokens, positions, configFile)
	case o.MaxTokens > 0:
		return o.MaxTokens, nil
	}
	var t struct {
		Max *float64 `json:"model_max_length"`
	}
	if _, err := f.json(tokensFile, &t); err != nil {
		return 0, err
	}
	most := math.Inf(1)
	for _, x := range []struct {
		file, field string
		value       *float64
	}{
		{configFile, "max_position_embeddings", c.Positions}, {tokensFile, "model_max_length", t.Max},
		{sentenceFile, "max_seq_length", s.Max},
	} {
		if x.value != nil && !(*x.value >= 1) {
			return 0, errorf(nacre.ErrFormat, "%s: %s is %v; it is at least 1", f.file(x.file), x.field, *x.value)
		}
	}
	switch {
	case s.Max != nil:
		most = *s.Max
	case truncation > 0:
		most = float64(truncation)
	case t.Max != nil:
		most = *t.Max
	}
	most = min(most, positions)
	if most > math.MaxInt32 {
		return 0, nil
	}
	return int(most), nil
}

// offsetPositions are the families that number positions from after the padding's id.
var offsetPositions = map[string]bool{
	"roberta": true, "xlm-roberta": true, "camembert": true, "mpnet": true, "xlm-roberta-xl": true,
	"roberta-prelayernorm": true,
}

// pad returns the id of padding.
func (c *config) pad() int32 {
	switch {
	case c.Pad != nil && *c.Pad >= 0:
		return *c.Pad
	case offsetPositions[c.ModelType]:
		return 1
	}
	return 0
}

// entailment returns the numbers of the labels of entailment and, as transformers takes it, of
// contradiction: the first label, or the last one if entailment is the first.
func entailment(f folder, names []string) (yes, no int, err error) {
	yes = slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(strings.ToLower(name), "entail") })
	switch {
	case yes < 0:
		return 0, 0, errorf(nacre.ErrUnsupported,
			"%s: id2label has no label that begins with entail (%.200q), so the network is none for this task", f.file(configFile), names)
	case len(names) < 2:
		return 0, 0, errorf(nacre.ErrFormat, "%s: id2label has one label", f.file(configFile))
	case yes == 0:
		no = len(names) - 1
	}
	return yes, no, nil
}
