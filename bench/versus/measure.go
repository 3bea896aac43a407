package main

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/nacre-ml/nacre/bench/report"
	"github.com/nacre-ml/nacre/bench/turns"
)

// Short runs are timed in blocks of about blockSeconds.
const (
	blockSeconds = 20e-3
	mostRuns     = 1000
)

// measure times the sides in turn and returns the times of each, in the order of sides.
func measure(sides []*started, b turns.Bounds) ([]report.Side, error) {
	requests, err := warm(sides)
	if err != nil {
		return nil, err
	}
	list := make([]report.Side, len(sides))
	for i, s := range sides {
		list[i] = report.Side{Name: s.name, Opened: s.Opened}
		if _, list[i].OpenPeak, err = s.Memory(); err != nil {
			return nil, err
		}
	}
	times, err := b.Time(len(sides), func(i int) (float64, error) { return sides[i].Seconds(requests[i]) })
	if err != nil {
		return nil, err
	}
	for i := range sides {
		list[i].Best, list[i].Median, list[i].Rounds = times[i][0], times[i][len(times[i])/2], len(times[i])
	}
	return list, nil
}

// warm runs every side twice and returns the requests for a block of runs of each. All blocks have
// the same number of runs.
func warm(sides []*started) ([]string, error) {
	least := math.Inf(1)
	for range 2 {
		for _, s := range sides {
			t, err := s.Seconds(s.request)
			if err != nil {
				return nil, err
			}
			least = min(least, t)
		}
	}
	n := int(min(mostRuns, max(1, math.Ceil(blockSeconds/least))))
	var list []string
	for _, s := range sides {
		list = append(list, fmt.Sprint(s.request, " ", n))
	}
	return list, nil
}

// memory measures the bytes that the sides of a network hold after and in runs.
func memory(sides []*started, list []report.Side) error {
	for i, s := range sides {
		if _, err := s.Ask("forget"); err != nil {
			return err
		}
		for range 3 {
			if _, err := s.Seconds(s.request); err != nil {
				return err
			}
		}
		var err error
		if list[i].Held, list[i].Peak, err = s.Memory(); err != nil {
			return err
		}
	}
	return nil
}

// costly returns the steps of Nacre that take longest.
func costly(s *started) (list []report.Steps, err error) {
	line, err := s.Ask("profile")
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal([]byte(line), &list)
	return list, err
}
