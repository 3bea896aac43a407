//go:build !race

package exec

// raceDetector is whether the race detector watches.
const raceDetector = false
