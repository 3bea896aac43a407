//go:build race

package exec

// raceDetector is whether the race detector watches. It cannot see that the last use of
// a block comes before its next one, so results are made anew.
const raceDetector = true
