package main

import (
	"sync/atomic"
	"time"
)

const (
	rampUp = iota
	warmUp
	measure
	drain
	phaseCount
)

var phaseNames = [phaseCount]string{"ramp_up", "warm_up", "measure", "drain"}

// clock counts nanoseconds since the load began, by the monotonic clock.
type clock struct {
	origin     time.Time
	originUnix int64
}

func (c *clock) now() int64 { return int64(time.Since(c.origin)) }

// quantum is the smallest step between two different readings.
func quantum() int64 {
	start := time.Now()
	smallest := int64(time.Second)
	for range 1000 {
		first := time.Since(start)
		second := time.Since(start)
		if step := int64(second - first); step > 0 {
			smallest = min(smallest, step)
		}
	}
	return smallest
}

// timeline is when each phase begins. The end of the measure phase may come closer.
type timeline struct {
	warmUpNs, measureNs int64
	measureEnd          atomic.Int64
	leastEnd            int64
}

func newTimeline(plan *Plan) *timeline {
	warmUpNs := fromS(plan.Phases.RampUpS)
	measureNs := warmUpNs + fromS(plan.Phases.WarmUpS)
	t := &timeline{warmUpNs: warmUpNs, measureNs: measureNs, leastEnd: measureNs + fromS(plan.Phases.MeasureS)}
	t.measureEnd.Store(measureNs + fromS(plan.longestMeasureS()))
	return t
}

// end ends the measure phase then, if it would not end before.
func (t *timeline) end(ns int64) {
	for {
		known := t.measureEnd.Load()
		if ns >= known || t.measureEnd.CompareAndSwap(known, ns) {
			return
		}
	}
}

// phaseOf is the phase of an operation that is intended then. A phase has no length where the load ended before it.
func (t *timeline) phaseOf(ns int64) int {
	switch {
	case ns >= t.measureEnd.Load():
		return drain
	case ns >= t.measureNs:
		return measure
	case ns >= t.warmUpNs:
		return warmUp
	}
	return rampUp
}

// start is when a phase begins.
func (t *timeline) start(phase int) int64 {
	end := t.measureEnd.Load()
	return [phaseCount]int64{0, min(t.warmUpNs, end), min(t.measureNs, end), end}[phase]
}

// finish is when a phase ends; the drain has no end before it comes.
func (t *timeline) finish(phase int) int64 {
	if phase == drain {
		return 1<<63 - 1
	}
	return t.start(phase + 1)
}
