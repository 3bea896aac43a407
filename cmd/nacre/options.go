package main

import (
	"cmp"
	"errors"
	"regexp"
	"strconv"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/printable"
)

// optionFlags lists the flags that set options of the packages below, by the option's name.
var optionFlags = map[string]string{
	"Threads": "threads", "ISA": "isa", "Device": "device", "Accuracy": "accuracy", "NoOptimize": "no-optimize",
	"DirectConv": "direct-conv", "MemoryLimit": "memory-limit", "WeightBudget": "weight-budget",
	"Lowering.Context": "context", "Lowering.Quirks": "quirks", "Lowering.Seed": "seed",
	"Layout": "image-layout", "Fit": "image-fit", "Shorter": "image-shorter", "Mean": "image-mean", "Std": "image-std",
	"Window": "window", "NoCache": "no-cache", "CacheType": "cache", "Tokenizer": "tokenizer",
	"Precision": "precision", "Reference": "reference", "Speed": "speed", "Noise": "noise", "NoiseW": "noise-w",
	"Phonemes": "phonemes", "Sampling": "temperature",
}

// optionName matches the name of an option in a message, or two names, and a verb before.
var optionName = regexp.MustCompile(`(?:\b(?:the )?options? |\bOptions\.|\b(takes ))([A-Z]\w*(?:\.[A-Z]\w*)?)(?: and ([A-Z]\w*))?`)

// byteCount matches a number of bytes in a message.
var byteCount = regexp.MustCompile(`\b(\d+) bytes\b`)

// inFlags returns the message of an error in the form of printable.Error, with flags of cmd in place of
// the options that they set. In errors of memory, numbers of bytes have a unit that suits them.
func inFlags(cmd *cobra.Command, err error) string {
	message := printable.Error(err)
	if errors.Is(err, nacre.ErrMemory) {
		message = byteCount.ReplaceAllStringFunc(message, func(text string) string {
			n, err := strconv.ParseUint(byteCount.FindStringSubmatch(text)[1], 10, 64)
			if err != nil {
				return text
			}
			return humanize.IBytes(n)
		})
	}
	return optionName.ReplaceAllStringFunc(message, func(text string) string {
		names := optionName.FindStringSubmatch(text)
		verb, first, second := names[1], flagOf(cmd, names[2]), flagOf(cmd, names[3])
		switch {
		case first == "":
			return text
		case names[3] == "":
			return verb + first
		}
		return verb + first + " and " + cmp.Or(second, names[3])
	})
}

// flagOf returns the flag of cmd that sets an option; "" for none.
func flagOf(cmd *cobra.Command, option string) string {
	name := optionFlags[option]
	if cmd.Flags().Lookup(name) == nil {
		return ""
	}
	return "--" + name
}
