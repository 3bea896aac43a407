package onnx

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// Limits for a genai_config.json, in bytes and layers.
const (
	genaiBytes  = 1 << 20
	genaiLayers = 1 << 12
)

// genaiConfig is the part of genai_config.json that names a decoder's caches, with %d for the
// layer. onnxruntime-genai puts the file beside the model.
type genaiConfig struct {
	Model struct {
		Decoder struct {
			Filename string            `json:"filename"`
			Layers   int               `json:"num_hidden_layers"`
			Inputs   map[string]string `json:"inputs"`
			Outputs  map[string]string `json:"outputs"`
		} `json:"decoder"`
	} `json:"model"`
}

// genaiCaches pairs the key for the name of a past with the key for the name of its present.
var genaiCaches = [][2]string{
	{"past_key_names", "present_key_names"}, {"past_value_names", "present_value_names"}, {"past_names", "present_names"},
}

// genaiFile is the name of the file beside models of onnxruntime-genai.
const genaiFile = "genai_config.json"

// genaiStates returns the states named by a genai_config.json beside the model. If there is no such
// file, or it may not be read, is invalid or is for another model, genaiStates returns nil. A file
// beyond the limits is an error.
func genaiStates(m *graph.Model, find func(parts []string) (*binio.File, error)) ([]graph.State, error) {
	f, err := find([]string{genaiFile})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	if err != nil {
		return nil, &graph.Error{Stage: "load", File: m.File, Offset: -1, Err: fmt.Errorf("%s beside it: %w", genaiFile, err)}
	}
	defer f.Close()
	beyond := func(n int, what string, most int) error {
		return &graph.Error{Stage: "load", File: m.File, Offset: -1, Kind: graph.ErrFormat, Err: fmt.Errorf(
			"%s beside it has %d %s; at most %d are read", genaiFile, n, what, most)}
	}
	if len(f.Data) > genaiBytes {
		return nil, beyond(len(f.Data), "bytes", genaiBytes)
	}
	var c genaiConfig
	if json.Unmarshal(f.Data, &c) != nil {
		return nil, nil
	}
	d := &c.Model.Decoder
	switch {
	case d.Filename != filepath.Base(filepath.ToSlash(m.File)) || d.Layers < 1:
		return nil, nil
	case d.Layers > genaiLayers:
		return nil, beyond(d.Layers, "layers", genaiLayers)
	}
	var pairs [][2]string
	for layer := range d.Layers {
		for _, keys := range genaiCaches {
			past, present := d.Inputs[keys[0]], d.Outputs[keys[1]]
			if past != "" && present != "" {
				n := strconv.Itoa(layer)
				pairs = append(pairs, [2]string{strings.Replace(past, "%d", n, 1), strings.Replace(present, "%d", n, 1)})
			}
		}
	}
	return graph.PairStates(m.Graph, pairs), nil
}
