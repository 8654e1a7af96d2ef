package main

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
)

// keySpace draws the numbers of keys. What it counts is shared by all users.
type keySpace struct {
	keys  Keys
	zipf  zipf
	taken atomic.Uint64
}

func newKeySpace(keys Keys) *keySpace {
	space := &keySpace{keys: keys}
	if keys.Distribution == "zipf" {
		space.zipf = newZipf(keys.Count, keys.ZipfExponent)
	}
	return space
}

// next is the next key; false when `exactly_once` has used up the key space.
func (s *keySpace) next(random *rand.Rand) (uint64, bool) {
	count := s.keys.Count
	switch s.keys.Distribution {
	case "sequential":
		return (s.taken.Add(1) - 1) % count, true
	case "exactly_once":
		if s.taken.Load() >= count {
			return 0, false
		}
		key := s.taken.Add(1) - 1
		return key, key < count
	case "zipf":
		return s.zipf.draw(random) - 1, true
	case "gaussian":
		for {
			place := 0.5 + s.keys.GaussianSd*random.NormFloat64()
			if s.keys.GaussianSd >= 0.3 { // a wide bell is flat here: uniform proposals are rejected less often
				place = random.Float64()
				z := (place - 0.5) / s.keys.GaussianSd
				if random.Float64() > math.Exp(-0.5*z*z) {
					continue
				}
			}
			if place >= 0 && place < 1 {
				return min(uint64(place*float64(count)), count-1), true
			}
		}
	}
	return random.Uint64N(count), true
}

// others are so many other keys of one operation: each drawn as the first is, and different from all before it. Of keys
// that are taken in order they are those that follow.
func (s *keySpace) others(random *rand.Rand, key uint64, number int) []uint64 {
	found := make([]uint64, 0, number)
	taken := map[uint64]bool{key: true}
	for len(found) < number {
		other := (key + uint64(len(found)) + 1) % s.keys.Count
		if s.keys.Distribution != "sequential" {
			for range 16 { // then the next free one is taken
				if other, _ = s.next(random); !taken[other] {
					break
				}
			}
		}
		for taken[other] {
			other = (other + 1) % s.keys.Count
		}
		taken[other] = true
		found = append(found, other)
	}
	return found
}

// zipf draws from 1..n with P(k) ~ k^-s for any s, by rejection-inversion: W. Hörmann & G. Derflinger,
// 'Rejection-inversion to generate variates from monotone discrete distributions', ACM TOMACS 6 (1996) 169-184.
// (math/rand's needs an exponent above 1.) H is the integral of h(x) = x^-s.
type zipf struct{ n, exponent, first, last, squeeze float64 }

func newZipf(n uint64, exponent float64) zipf {
	z := zipf{n: float64(n), exponent: exponent}
	z.first = z.integral(1.5) - 1
	z.last = z.integral(z.n + 0.5)
	z.squeeze = 2 - z.inverse(z.integral(2.5)-z.h(2))
	return z
}

func (z *zipf) draw(random *rand.Rand) uint64 {
	for {
		u := z.last + random.Float64()*(z.first-z.last)
		x := z.inverse(u)
		k := min(max(math.Floor(x+0.5), 1), z.n)
		if k-x <= z.squeeze || u >= z.integral(k+0.5)-z.h(k) {
			return uint64(k)
		}
	}
}

func (z *zipf) h(x float64) float64 { return math.Exp(-z.exponent * math.Log(x)) }

func (z *zipf) integral(x float64) float64 {
	log := math.Log(x)
	t := (1 - z.exponent) * log
	if math.Abs(t) > 1e-8 {
		return math.Expm1(t) / t * log
	}
	return (1 + t/2) * log
}

func (z *zipf) inverse(x float64) float64 {
	t := max(x*(1-z.exponent), -1)
	if math.Abs(t) > 1e-8 {
		return math.Exp(math.Log1p(t) / t * x)
	}
	return math.Exp((1 - t/2) * x)
}

// versions follows what was begun of each key: in 64 bits the newest version, the writes in flight, and whether a
// document is stored for certain.
type versions struct {
	states  []atomic.Uint64
	atStart uint64
}

const (
	inFlightOne = 1 << 32
	storedFlag  = 1 << 63
)

func newVersions(plan *Plan) *versions {
	v := &versions{}
	if plan.Keys.Loaded {
		v.atStart = storedFlag | 1
	}
	if plan.writes() {
		v.states = make([]atomic.Uint64, plan.Keys.Count)
		if v.atStart != 0 {
			for i := range v.states {
				v.states[i].Store(v.atStart)
			}
		}
	}
	return v
}

// keyState is a key at one moment.
type keyState uint64

func (s keyState) version() uint32 { return uint32(s) }
func (s keyState) stored() bool    { return s&storedFlag != 0 }
func (s keyState) alone() bool     { return s&^storedFlag>>32 == 0 }

func (v *versions) now(key uint64) keyState {
	if v.states == nil {
		return keyState(v.atStart)
	}
	return keyState(v.states[key].Load())
}

// begin begins a write of the next version; the key as it was before.
func (v *versions) begin(key uint64) keyState {
	return keyState(v.states[key].Add(inFlightOne+1) - inFlightOne - 1)
}

// end ends a write whose reply came; `stores`: a document is there from now on.
func (v *versions) end(key uint64, stores bool) {
	v.states[key].Add(^uint64(inFlightOne - 1))
	if stores {
		v.states[key].Or(storedFlag)
	}
}
