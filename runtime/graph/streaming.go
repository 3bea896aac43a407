package graph

// Streaming bounds the constants that are in memory at a time.
type Streaming struct {
	Budget int      // bytes
	Stay   []string // initializers that stay once they were used
}
