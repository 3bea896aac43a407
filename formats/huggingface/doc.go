// Package huggingface makes networks of decoders and encoders in folders of Hugging Face:
// safetensors files beside a config.json with the family and the settings. Each family is a row
// of a table.
//
// The networks compute the results of the package transformers in float32. Tensors stay as they are
// stored. An unknown family, setting or tensor is an error, and so is a missing tensor.
package huggingface
