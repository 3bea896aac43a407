//go:build cgo

package bindings

// families lists the kernel tables, one row per family of csrc.
func families() [][]Kernel {
	return [][]Kernel{
		convFamily(),
		attentionFamily(),
		matmulFamily(),
		eltwiseFamily(),
		halfFamily(),
		mlFamily(),
		copyFamily(),
		nbitsFamily(),
		normFamily(),
		poolFamily(),
		probeFamily(),
		quantFamily(),
		reduceFamily(),
		resizeFamily(),
		rnnFamily(),
	}
}
