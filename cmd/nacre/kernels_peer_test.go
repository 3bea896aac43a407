package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/op/standard"
)

// internal lists kernels that ONNX Runtime itself puts into graphs, by domain or by domain and
// operator, with their purpose. Only files that it saves for itself hold them (op.Registry.Find).
var internal = map[string]string{
	"com.microsoft.nchwc":    "blocked layouts",
	"ai.onnx MemcpyFromHost": "copies between devices",
	"ai.onnx MemcpyToHost":   "copies between devices",
}

// ownFiles is the end of lines about internal kernels.
const ownFiles = ", of files that ONNX Runtime saves for itself; the error says how to get a portable file"

// absent lists the kernels that files may hold and Nacre lacks, with the reason.
var absent = map[string]string{}

// peerKernels returns "domain operator" for every kernel of ONNX Runtime's CPU, and the version of
// ONNX Runtime.
func peerKernels(t *testing.T) (list []string, version string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(string(read(t, filepath.Join("testdata", "kernels.txt")))), "\n")
	version, _, _ = strings.Cut(strings.TrimPrefix(lines[0], "# Kernels of the CPU of "), ",")
	return lines[1:], version
}

// TestPeerKernels compares Nacre's operators with the kernels of ONNX Runtime's CPU.
func TestPeerKernels(t *testing.T) {
	have := map[string]bool{}
	for _, row := range standard.Registry().Rows() {
		have[domainName(row.Domain)+" "+row.Name] = true
	}
	list, _ := peerKernels(t)
	for _, name := range list {
		domain, _, _ := strings.Cut(name, " ")
		_, inside := internal[domain]
		_, alone := internal[name]
		_, excused := absent[name]
		switch {
		case have[name] && excused:
			t.Errorf("%s is here, and is listed as absent", name)
		case !have[name] && !excused && !inside && !alone:
			t.Errorf("%s is not here, and nothing says why", name)
		}
	}
	for name := range absent {
		if !slices.Contains(list, name) {
			t.Errorf("%s is listed as absent, and ONNX Runtime does not have it", name)
		}
	}
}

// peerBlock returns the comparison for OPERATORS.md.
func peerBlock(t *testing.T) string {
	list, version := peerKernels(t)
	have := map[string]bool{}
	for _, row := range standard.Registry().Rows() {
		have[domainName(row.Domain)+" "+row.Name] = true
	}
	type count struct{ all, here int }
	domains, counts := []string{}, map[string]*count{}
	for _, name := range list {
		domain, _, _ := strings.Cut(name, " ")
		if counts[domain] == nil {
			domains, counts[domain] = append(domains, domain), &count{}
		}
		counts[domain].all++
		if have[name] {
			counts[domain].here++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n| domain | kernels of %s | of these here | not here |\n|---|---|---|---|\n", version)
	for _, domain := range domains {
		var missing []string
		if why, ok := internal[domain]; ok {
			missing = append(missing, "all: "+why+ownFiles)
		}
		for _, name := range list {
			of, op, _ := strings.Cut(name, " ")
			if of != domain || have[name] || len(missing) > 0 && internal[domain] != "" {
				continue
			}
			why := absent[name]
			if w, ok := internal[name]; ok {
				why = w + ownFiles
			}
			missing = append(missing, op+": "+why)
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %s |\n", domain, counts[domain].all, counts[domain].here,
			strings.Join(missing, "; "))
	}
	return b.String() + "\n"
}
