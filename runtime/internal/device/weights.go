package device

// Weights moves constants in and out of a device's memory.
type Weights interface {
	// Segment returns the most bytes of constants that the steps of one call should read. A step
	// that reads more runs alone.
	Segment() int
	// Takes returns the bytes that a constant takes while it is held, 0 if it always stays in
	// memory.
	Takes(data []byte) int
	// Hold loads constants and keeps them in memory until Drop, each listed once. It releases
	// others that are not held.
	Hold(list [][]byte) error
	Drop(list [][]byte)
	// Forget releases the memory of a constant in a mapped file after parts were read without Hold.
	Forget(data []byte)
}
