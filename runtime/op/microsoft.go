package op

// Microsoft is the domain of operators that ONNX Runtime adds to the standard's.
const Microsoft = "com.microsoft"

// Internal is the domain of operators that no file holds and passes put in.
const Internal = "nacre"

// AtVersion is the constructor of an operator that does what that version of the
// standard's does.
func AtVersion(version int, build func(*Node) (Op, error)) func(*Node) (Op, error) {
	return func(n *Node) (Op, error) {
		n.Since = version
		return build(n)
	}
}
