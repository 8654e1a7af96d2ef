package main

import (
	"math"
	"math/rand/v2"
)

// stretch is a stretch of time in which the rate changes linearly. Work is the rate integrated over time: arrival
// number k is intended when the work is k.
type stretch struct{ startS, lengthS, startRate, endRate, startWork float64 }

func (s *stretch) timeOf(work float64) float64 {
	rest := work - s.startWork
	if rest <= 0 {
		return s.startS
	}
	slope := 0.0
	if !math.IsInf(s.lengthS, 1) {
		slope = (s.endRate - s.startRate) / s.lengthS
	}
	root := math.Sqrt(max(0, s.startRate*s.startRate+2*slope*rest))
	return s.startS + 2*rest/(s.startRate+root)
}

// schedule gives the intended times of arrivals, one after the other.
type schedule struct {
	stretches []stretch
	poisson   bool
	work      float64
	begun     bool
}

func newSchedule(plan *Plan) *schedule {
	model, phases := plan.Model, plan.Phases
	steps := []stretch{{lengthS: phases.RampUpS, endRate: model.RatePerS}}
	if len(model.Schedule) > 0 {
		steps = append(steps, stretch{lengthS: phases.WarmUpS, startRate: model.RatePerS, endRate: model.RatePerS})
	} else {
		steps = append(steps, stretch{startRate: model.RatePerS, endRate: model.RatePerS})
	}
	for _, step := range model.Schedule {
		steps = append(steps, stretch{lengthS: step.DurationS, startRate: step.RatePerS, endRate: step.RatePerS})
	}
	steps[len(steps)-1].lengthS = math.Inf(1)
	s := &schedule{poisson: model.Arrivals == "poisson"}
	for _, step := range steps {
		if step.lengthS <= 0 {
			continue
		}
		if n := len(s.stretches); n > 0 {
			before := s.stretches[n-1]
			step.startS = before.startS + before.lengthS
			step.startWork = before.startWork + before.lengthS*(before.startRate+before.endRate)/2
		}
		s.stretches = append(s.stretches, step)
	}
	return s
}

// next is when the next arrival is intended, in nanoseconds since the load began.
func (s *schedule) next(random *rand.Rand) int64 {
	switch {
	case s.poisson:
		s.work += random.ExpFloat64()
	case s.begun:
		s.work++
	}
	s.begun = true
	for len(s.stretches) > 1 && s.stretches[1].startWork <= s.work {
		s.stretches = s.stretches[1:]
	}
	return fromS(s.stretches[0].timeOf(s.work))
}
