package graph

// Streaming bounds the constants in memory at a time.
type Streaming struct {
	Budget int      // bytes
	Stay   []string // initializers that stay after their first use
}
