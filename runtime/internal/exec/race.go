//go:build race

package exec

// raceDetector is true in builds with the race detector. The detector does not see that the last
// use of a block comes before its next one, so every result is allocated anew.
const raceDetector = true
