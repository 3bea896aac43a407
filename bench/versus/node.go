package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// nodePeers returns this program and ONNX Runtime Web, both as WebAssembly on one thread in Node,
// and their versions. The folder has this program for GOOS=js as versus.wasm, Go's wasm_exec_node.js
// and wasm_exec.js, and the package onnxruntime-web.
func nodePeers(folder string) (sides []peer, names []string, err error) {
	const program = "node"
	version, err := exec.Command(program, "--version").Output()
	if err != nil {
		return nil, nil, fmt.Errorf("program node: %w", err)
	}
	runtime := filepath.Join(folder, "package")
	script := filepath.Join("bench", "peers", "onnxruntime_web.mjs")
	web, err := exec.Command(program, script, runtime).Output()
	if err != nil {
		return nil, nil, fmt.Errorf("package onnxruntime-web: %w", err)
	}
	other := peer{
		name:  "ONNX Runtime Web",
		takes: func(*row) bool { return true },
		command: func(r *row, model string, _ int) *exec.Cmd {
			return exec.Command(program, append(append([]string{script, runtime, model}, r.sizes...), r.peerSizes...)...)
		},
		request: func(*row) string { return "run" },
	}
	nacre := nacrePeer(program, "--stack-size=8192", filepath.Join(folder, "wasm_exec_node.js"), filepath.Join(folder, "versus.wasm"))
	names = []string{"ONNX Runtime Web " + strings.TrimSpace(string(web)),
		"Node " + strings.TrimSpace(string(version)) + ", which runs both as WebAssembly"}
	return []peer{nacre, other}, names, nil
}

// nodeGoal returns the ratio to reach in Node. ONNX Runtime Web multiplies a row by weights of four bits
// without vectors.
func nodeGoal(r *row) float64 {
	if r.name == "llama_q4_token_after_512" {
		return 8
	}
	return 1
}
