package device

// Weights is the constants of which a device has a part in memory at a time.
type Weights interface {
	// Segment is the most bytes of constants that steps should read which run in one call.
	// A step that reads more runs by itself.
	Segment() int
	// Takes returns the bytes that a constant takes while it is held; 0 for one that stays
	// in memory.
	Takes(data []byte) int
	// Hold has constants in memory until Drop, each once. Others that nobody holds make
	// room.
	Hold(list [][]byte) error
	Drop(list [][]byte)
	// Forget gives back the memory of a constant in a mapped file, parts of which were
	// read without Hold.
	Forget(data []byte)
}
