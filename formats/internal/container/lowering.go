package container

// Lowering says how the network of a file becomes nodes. The zero value computes what
// the format's users expect.
type Lowering struct {
	// Quirks computes what the format's own program computes, also where that is
	// surprising or wrong.
	Quirks bool
}
