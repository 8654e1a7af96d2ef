package main

import (
	"math"
	"math/rand/v2"
	"testing"
)

// chiSquareRatio is Pearson's statistic over its degrees of freedom: about 1 when the weights are the true ones.
func chiSquareRatio(drawn []uint64, weights []float64) float64 {
	var sum, statistic float64
	counts := make([]float64, len(weights))
	for _, key := range drawn {
		counts[key]++
	}
	for _, weight := range weights {
		sum += weight
	}
	for i, weight := range weights {
		due := weight / sum * float64(len(drawn))
		statistic += (counts[i] - due) * (counts[i] - due) / due
	}
	return statistic / float64(len(weights)-1)
}

func drawn(t *testing.T, keys Keys, n int) []uint64 {
	t.Helper()
	space, random := newKeySpace(keys), rand.New(newXoshiro(11, 0))
	var found []uint64
	for range n {
		key, ok := space.next(random)
		if !ok {
			break
		}
		found = append(found, key)
	}
	return found
}

func TestDistributionsFollowTheirLaws(t *testing.T) {
	flat := make([]float64, 50)
	for i := range flat {
		flat[i] = 1
	}
	if ratio := chiSquareRatio(drawn(t, Keys{Count: 50, Distribution: "uniform"}, 100_000), flat); ratio > 1.8 {
		t.Errorf("uniform: %g", ratio)
	}
	for _, exponent := range []float64{0.3, 0.99, 1, 1.01, 2.5} {
		weights := make([]float64, 50)
		for i := range weights {
			weights[i] = math.Pow(float64(i+1), -exponent)
		}
		keys := Keys{Count: 50, Distribution: "zipf", ZipfExponent: exponent}
		if ratio := chiSquareRatio(drawn(t, keys, 200_000), weights); ratio > 1.8 {
			t.Errorf("zipf %g: %g", exponent, ratio)
		}
	}
	for _, sd := range []float64{0.15, 0.5} {
		weights := make([]float64, 20)
		for i := range weights {
			for slice := range 100 {
				z := ((float64(i)+(float64(slice)+0.5)/100)/20 - 0.5) / sd
				weights[i] += math.Exp(-0.5 * z * z)
			}
		}
		keys := Keys{Count: 20, Distribution: "gaussian", GaussianSd: sd}
		if ratio := chiSquareRatio(drawn(t, keys, 100_000), weights); ratio > 2.2 {
			t.Errorf("gaussian %g: %g", sd, ratio)
		}
	}
}

func TestSequentialGoesAroundAndExactlyOnceEnds(t *testing.T) {
	if found := drawn(t, Keys{Count: 3, Distribution: "sequential"}, 5); found[3] != 0 || found[4] != 1 {
		t.Errorf("sequential: %v", found)
	}
	if found := drawn(t, Keys{Count: 3, Distribution: "exactly_once"}, 5); len(found) != 3 {
		t.Errorf("exactly_once: %v", found)
	}
}

func TestVersionsCountUpAndKnowWhatIsStored(t *testing.T) {
	plan := &Plan{Keys: Keys{Count: 2}, Operations: []Operation{{Writes: "document"}}}
	v := newVersions(plan)
	first, second := v.begin(1), v.begin(1)
	if first.version() != 0 || !first.alone() || second.version() != 1 || second.alone() || second.stored() {
		t.Errorf("%x %x", first, second)
	}
	v.end(1, true)
	v.end(1, false)
	if now := v.now(1); now.version() != 2 || !now.alone() || !now.stored() {
		t.Errorf("%x", now)
	}
	plan.Keys.Loaded = true
	if now := newVersions(plan).now(0); now.version() != 1 || !now.stored() {
		t.Errorf("%x", now)
	}
}

func TestArrivalsFollowTheRate(t *testing.T) {
	plan := &Plan{Model: Model{RatePerS: 1000, Arrivals: "constant"}}
	s := newSchedule(plan)
	for k := range 2000 {
		if at := s.next(nil); at != int64(k)*1_000_000 {
			t.Fatalf("arrival %d at %d", k, at)
		}
	}
	plan.Phases.RampUpS = 4
	s = newSchedule(plan)
	before := 0
	for s.next(nil) < 2_000_000_000 {
		before++
	}
	if before < 499 || before > 501 {
		t.Errorf("%d arrivals in the first half of the ramp-up, a quarter of its 2000 are due", before)
	}
	plan = &Plan{Model: Model{RatePerS: 100, Schedule: []RateStep{{1000, 1}, {200, 1}}}, Phases: Phases{WarmUpS: 1}}
	s = newSchedule(plan)
	counts := map[int64]int{}
	for at := s.next(nil); at < 5_000_000_000; at = s.next(nil) {
		counts[at/1_000_000_000]++
	}
	for second, due := range []int{100, 1000, 200, 200, 200} {
		if off := counts[int64(second)] - due; off < -1 || off > 1 {
			t.Errorf("second %d: %d arrivals, %d are due", second, counts[int64(second)], due)
		}
	}
}

func TestOtherKeysDifferFromTheFirstAndFromEachOther(t *testing.T) {
	for _, distribution := range []string{"uniform", "zipf", "gaussian", "sequential"} {
		keys := Keys{Count: 12, Distribution: distribution, ZipfExponent: 0.99, GaussianSd: 0.15}
		space, random := newKeySpace(keys), rand.New(newXoshiro(11, 0))
		for key := range uint64(12) {
			all := map[uint64]bool{key: true}
			for _, other := range space.others(random, key, 11) {
				all[other] = true
			}
			if len(all) != 12 {
				t.Errorf("%s: %d different keys of 12", distribution, len(all))
			}
		}
	}
}

func TestAnArgumentNamesOtherKeys(t *testing.T) {
	parser := &templates{prefix: "k:"}
	parsed, err := parser.parse("{key3}/{key}")
	if err != nil || parser.others != 2 {
		t.Fatal(err, parser.others)
	}
	var out []byte
	for _, piece := range parsed.pieces {
		out = piece(out, &filling{key: 7, others: []uint64{3, 9}})
	}
	if string(out) != "k:000000000009/k:000000000007" {
		t.Error(string(out))
	}
}
