package text

import (
	"io/fs"
	"math"
	"path"
	"strings"

	"github.com/nacre-ml/nacre"
)

// Files of sentence-transformers.
const (
	modulesFile = "modules.json"
	promptsFile = "config_sentence_transformers.json"
)

// A module computes a vector of a vector.
type module interface {
	apply(v []float32) ([]float32, error)
}

// A moduleInfo is an entry of modules.json.
type moduleInfo struct {
	Path string `json:"path"`
	Type string `json:"type"`
}

// A modulePlan is the modules of a folder before they are opened.
type modulePlan struct {
	root          folder
	transformer   string // path of the network's folder
	after         []moduleInfo
	withoutPrompt bool // pooling leaves out the tokens of a prompt
}

// maxModules bounds the modules of a folder.
const maxModules = 64

// readModules reads modules.json. Without the file, the mean is taken.
func readModules(root folder) (*modulePlan, error) {
	p := &modulePlan{root: root}
	var list []moduleInfo
	ok, err := root.json(modulesFile, &list)
	if err != nil || !ok {
		return p, err
	}
	if len(list) == 0 || len(list) > maxModules {
		return nil, errorf(nacre.ErrFormat, "%s: %d modules: 1 to %d are allowed", root.file(modulesFile), len(list),
			maxModules)
	}
	if kindOf(list[0].Type) != "Transformer" {
		return nil, errorf(nacre.ErrUnsupported, "%s: the first module is %.80q; a Transformer is computed",
			root.file(modulesFile), list[0].Type)
	}
	p.transformer, p.after = list[0].Path, list[1:]
	return p, nil
}

// kindOf returns the last name of a type of Python.
func kindOf(typ string) string { return typ[strings.LastIndex(typ, ".")+1:] }

// open makes the modules after the network.
func (p *modulePlan) open() ([]module, error) {
	if p.after == nil {
		return []module{&pooling{mean: true}}, nil
	}
	list := make([]module, 0, len(p.after))
	for i, m := range p.after {
		f, err := p.root.below(m.Path)
		if err != nil {
			return nil, errorf(nacre.ErrFormat, "%s: module %d: %w", p.root.file(modulesFile), i+1, err)
		}
		var made module
		switch kind := kindOf(m.Type); {
		case kind == "Pooling" && i == 0:
			var pool *pooling
			if pool, err = readPooling(f); err == nil {
				p.withoutPrompt = pool.withoutPrompt
			}
			made = pool
		case kind == "Dense" && i > 0:
			made, err = readDense(f)
		case kind == "Normalize" && i > 0:
			made = normalize{}
		default:
			err = errorf(nacre.ErrUnsupported,
				"%s: module %d is %.80q; after the network, a Pooling and any number of Dense and Normalize are computed",
				p.root.file(modulesFile), i+1, m.Type)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, made)
	}
	if len(list) == 0 {
		return nil, errorf(nacre.ErrUnsupported, "%s: a Pooling is missing", p.root.file(modulesFile))
	}
	return list, nil
}

// A pooling makes one vector of the vectors of tokens: several ways one after another.
type pooling struct {
	file                                      string
	width                                     int // columns of the network; 0 for any
	cls, most, mean, meanSqrt, weighted, last bool
	withoutPrompt                             bool
}

// readPooling reads the configuration of a Pooling.
func readPooling(f folder) (*pooling, error) {
	var c struct {
		Width    int   `json:"word_embedding_dimension"`
		CLS      bool  `json:"pooling_mode_cls_token"`
		Max      bool  `json:"pooling_mode_max_tokens"`
		Mean     *bool `json:"pooling_mode_mean_tokens"`
		Sqrt     bool  `json:"pooling_mode_mean_sqrt_len_tokens"`
		Weighted bool  `json:"pooling_mode_weightedmean_tokens"`
		Last     bool  `json:"pooling_mode_lasttoken"`
		Prompt   *bool `json:"include_prompt"`
	}
	ok, err := f.json(configFile, &c)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errorf(fs.ErrNotExist, "%s: the file is missing; it says how tokens become a vector",
			f.file(configFile))
	}
	p := &pooling{file: f.file(configFile), width: c.Width, cls: c.CLS, most: c.Max, mean: c.Mean == nil || *c.Mean,
		meanSqrt: c.Sqrt,
		weighted: c.Weighted, last: c.Last, withoutPrompt: c.Prompt != nil && !*c.Prompt}
	if c.Width < 0 {
		return nil, errorf(nacre.ErrFormat, "%s: word_embedding_dimension is %d", p.file, c.Width)
	}
	if !(p.cls || p.most || p.mean || p.meanSqrt || p.weighted || p.last) {
		return nil, errorf(nacre.ErrFormat, "%s: no way of pooling is set", p.file)
	}
	return p, nil
}

// pool returns the vectors of a text's tokens from first on as one.
func (p *pooling) pool(r result, first int) []float32 {
	n, tokens := r.columns, len(r.rows)/r.columns
	sum, weighted := make([]float64, n), make([]float64, n)
	most := make([]float32, n)
	for c := range most {
		most[c] = float32(math.Inf(-1))
	}
	weights := 0.0
	for i := first; i < tokens; i++ {
		w := float64(i + 1)
		weights += w
		for c, x := range r.row(i) {
			sum[c] += float64(x)
			weighted[c] += w * float64(x)
			most[c] = max(most[c], x)
		}
	}
	var out []float32
	scaled := func(list []float64, by float64) {
		for _, x := range list {
			out = append(out, float32(x/by))
		}
	}
	count := float64(tokens - first)
	if p.cls {
		out = append(out, r.row(0)...)
	}
	if p.most {
		out = append(out, most...)
	}
	if p.mean {
		scaled(sum, count)
	}
	if p.meanSqrt {
		scaled(sum, math.Sqrt(count))
	}
	if p.weighted {
		scaled(weighted, weights)
	}
	if p.last {
		out = append(out, r.row(tokens-1)...)
	}
	return out
}

func (p *pooling) apply([]float32) ([]float32, error) {
	return nil, errorf(nacre.ErrUnsupported, "%s: a Pooling after another", p.file)
}

// normalize divides a vector by its length.
type normalize struct{}

func (normalize) apply(v []float32) ([]float32, error) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	by := max(math.Sqrt(sum), 1e-12)
	for i := range v {
		v[i] = float32(float64(v[i]) / by)
	}
	return v, nil
}

// A dense is a linear map with a function of its results.
type dense struct {
	file    string
	in, out int
	weight  []float32 // [out,in]
	bias    []float32 // nil for none
	act     func(float64) float64
}

// activations are the functions of a dense, by the last name of their type.
var activations = map[string]func(float64) float64{
	"Identity": func(x float64) float64 { return x },
	"Tanh":     math.Tanh,
	"ReLU":     func(x float64) float64 { return max(x, 0) },
	"Sigmoid":  sigmoid,
	"GELU":     func(x float64) float64 { return x / 2 * (1 + math.Erf(x/math.Sqrt2)) },
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// readDense reads a Dense with its weights.
func readDense(f folder) (_ module, err error) {
	c := struct {
		In   int    `json:"in_features"`
		Out  int    `json:"out_features"`
		Bias *bool  `json:"bias"`
		Act  string `json:"activation_function"`
	}{Act: "torch.nn.modules.activation.Tanh"}
	ok, err := f.json(configFile, &c)
	if err != nil {
		return nil, err
	}
	d := &dense{file: f.file(configFile), in: c.In, out: c.Out}
	if !ok || c.In < 1 || c.Out < 1 {
		return nil, errorf(nacre.ErrFormat, "%s: in_features %d and out_features %d are needed", d.file, c.In, c.Out)
	}
	if d.act = activations[kindOf(c.Act)]; d.act == nil {
		return nil, errorf(nacre.ErrUnsupported,
			"%s: activation_function is %.80q; it takes Identity, Tanh, ReLU, Sigmoid and GELU", d.file, c.Act)
	}
	const weights = "model.safetensors"
	if !f.has(weights) {
		return nil, errorf(fs.ErrNotExist, "%s: the file is missing; save the model with safetensors", f.file(weights))
	}
	m, err := nacre.OpenFS(f.fsys, weights)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	read := func(name string, want int) (list []float32) {
		if err != nil {
			return nil
		}
		var t *nacre.Tensor
		if t, err = m.Weight(name); err == nil {
			list, err = nacre.Float32s(t)
		}
		if err == nil && len(list) != want {
			err = errorf(nacre.ErrFormat, "%s: %s is %v, and %s says %d numbers", f.file(weights), name, t,
				path.Base(d.file), want)
		}
		return list
	}
	if c.Out > math.MaxInt32/c.In {
		return nil, errorf(nacre.ErrFormat, "%s: in_features %d and out_features %d are too many", d.file, c.In, c.Out)
	}
	d.weight = read("linear.weight", c.In*c.Out)
	if c.Bias == nil || *c.Bias {
		d.bias = read("linear.bias", c.Out)
	}
	return d, err
}

func (d *dense) apply(v []float32) ([]float32, error) {
	if len(v) != d.in {
		return nil, errorf(nacre.ErrFormat, "%s: in_features is %d, and the vector before has %d numbers", d.file,
			d.in, len(v))
	}
	out := make([]float32, d.out)
	for i := range out {
		sum := 0.0
		for k, w := range d.weight[i*d.in : (i+1)*d.in] {
			sum += float64(w) * float64(v[k])
		}
		if d.bias != nil {
			sum += float64(d.bias[i])
		}
		out[i] = float32(d.act(sum))
	}
	return out, nil
}

// readPrompt returns the text of a prompt, or of the default one.
func readPrompt(root folder, name string) (string, error) {
	var c struct {
		Prompts map[string]string `json:"prompts"`
		Default *string           `json:"default_prompt_name"`
	}
	if _, err := root.json(promptsFile, &c); err != nil {
		return "", err
	}
	kind := nacre.ErrOption
	if name == "" {
		if c.Default == nil {
			return "", nil
		}
		name, kind = *c.Default, nacre.ErrFormat
	}
	text, ok := c.Prompts[name]
	if !ok {
		return "", errorf(kind, "%s: there is no prompt of the name %.60q", root.file(promptsFile), name)
	}
	return text, nil
}
