// Package openinfer reads programs of OpenInfer and makes graphs of them.
package openinfer
