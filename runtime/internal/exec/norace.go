//go:build !race

package exec

// raceDetector is true in builds with the race detector.
const raceDetector = false
