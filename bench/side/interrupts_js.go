package side

// IgnoreInterrupts does nothing: no interrupt reaches a program in Node.
func IgnoreInterrupts() {}
