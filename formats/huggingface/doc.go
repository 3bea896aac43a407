// Package huggingface makes the networks of the Llama-style decoders in folders of
// Hugging Face: safetensors files beside a config.json, which says of what family the
// decoder is and with which settings. Each family is a row of a table.
//
// The networks compute what the package transformers computes in float32. Tensors stay as
// they are stored. A family, a setting or a tensor that is not understood is an error, and
// so is a tensor that is missing or has no part in the network.
package huggingface
