package op

// Microsoft is the domain of the operators that ONNX Runtime adds to the standard ones.
const Microsoft = "com.microsoft"

// Internal is the domain of operators that passes insert and no file holds.
const Internal = "nacre"

// AtVersion returns a constructor that builds every node as the given version of the standard
// operator.
func AtVersion(version int, build func(*Node) (Op, error)) func(*Node) (Op, error) {
	return func(n *Node) (Op, error) {
		n.Since = version
		return build(n)
	}
}
