package main

import (
	"sync"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// longestNs is the longest time that a histogram holds.
const longestNs = 3_600_000_000_000

func newHistogram() *hdr.Histogram { return hdr.New(1, longestNs, 3) }

// spares are empty histograms: each takes 270 kB, and an interval needs several.
var spares = sync.Pool{New: func() any { return newHistogram() }}

func spare() *hdr.Histogram { return spares.Get().(*hdr.Histogram) }

func giveBack(histogram *hdr.Histogram) {
	histogram.Reset()
	spares.Put(histogram)
}

// tally counts events of one operation.
type tally struct {
	offered, sent, ok, timeouts, dropped int64
	errors                               map[string]int64
}

func (t *tally) end(verdict string) {
	t.sent++
	switch verdict {
	case correct:
		t.ok++
	case timedOut:
		t.timeouts++
	default:
		if t.errors == nil {
			t.errors = map[string]int64{}
		}
		t.errors[verdict]++
	}
}

func (t *tally) add(other *tally) {
	t.offered += other.offered
	t.sent += other.sent
	t.ok += other.ok
	t.timeouts += other.timeouts
	t.dropped += other.dropped
	for kind, count := range other.errors {
		if t.errors == nil {
			t.errors = map[string]int64{}
		}
		t.errors[kind] += count
	}
}

func (t *tally) ended() int64 {
	sum := t.ok + t.timeouts
	for _, count := range t.errors {
		sum += count
	}
	return sum
}

// intervalOperation is one operation within an interval.
type intervalOperation struct {
	tally             tally
	response, service *hdr.Histogram
}

// interval is what a shard recorded within one.
type interval struct {
	phase      int
	start, end int64
	operations []intervalOperation
}

// measured are one operation's members of the measure phase, followed to their end.
type measured struct {
	tally                                             tally
	windowCompleted, windowOk, responseSum, earlierNs int64
}

func (m *measured) add(other *measured) {
	m.tally.add(&other.tally)
	m.windowCompleted += other.windowCompleted
	m.windowOk += other.windowOk
	m.responseSum += other.responseSum
	m.earlierNs += other.earlierNs
}

// shard records what some of the users do. Users of several CPUs rarely meet in one.
type shard struct {
	mutex      sync.Mutex
	timeline   *timeline
	intervalNs int64
	closed     bool
	current    *interval
	done       []*interval
	measured   []measured
	poolWait   *hdr.Histogram
	lag        *hdr.Histogram
	overflowed int64
	_          [64]byte
}

func newShard(operations int, timeline *timeline, intervalNs int64) *shard {
	s := &shard{
		timeline: timeline, intervalNs: intervalNs,
		measured: make([]measured, operations), poolWait: newHistogram(), lag: newHistogram(),
	}
	s.current = s.newInterval(0, 0)
	s.skipEmptyPhases(0)
	return s
}

func (s *shard) newInterval(phase int, start int64) *interval {
	one := &interval{phase: phase, start: start, operations: make([]intervalOperation, len(s.measured))}
	for i := range one.operations {
		one.operations[i].response, one.operations[i].service = spare(), spare()
	}
	return one
}

// skipEmptyPhases goes past the phases that have no length.
func (s *shard) skipEmptyPhases(now int64) {
	for s.current.phase < drain && s.timeline.finish(s.current.phase) <= now {
		s.current.phase++
	}
}

// border is when the current interval ends.
func (s *shard) border() int64 {
	return min(s.current.start+s.intervalNs, s.timeline.finish(s.current.phase))
}

// cross goes past every border up to now.
func (s *shard) cross(now int64) {
	for {
		border := max(s.border(), s.current.start)
		if border > now {
			return
		}
		s.deliver(border)
	}
}

func (s *shard) deliver(end int64) {
	s.current.end = end
	s.done = append(s.done, s.current)
	s.current = s.newInterval(s.current.phase, end)
	s.skipEmptyPhases(end)
}

// offered counts an operation that is picked up. Whether it was counted: after the end of the load nothing is.
func (s *shard) offered(now int64, operation, member int, lag int64) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.offer(now, operation, member, lag)
}

func (s *shard) offer(now int64, operation, member int, lag int64) bool {
	if s.closed {
		return false
	}
	s.cross(now)
	s.current.operations[operation].tally.offered++
	if member == measure {
		s.measured[operation].tally.offered++
		s.record(s.lag, lag)
	}
	return true
}

// droppedArrival counts an arrival that found too many others waiting.
func (s *shard) droppedArrival(now int64, operation, member int, lag int64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.offer(now, operation, member, lag) {
		return
	}
	s.current.operations[operation].tally.dropped++
	if member == measure {
		s.measured[operation].tally.dropped++
	}
}

// times are those of an operation that ended; sent is 0 where it got no connection.
type times struct{ intended, sent, completed int64 }

// ended counts an operation that ended. Whether it was counted: after the end of the load nothing is.
func (s *shard) ended(operation, member int, verdict string, t times, replied bool) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closed {
		return false
	}
	s.cross(t.completed)
	response := max(0, t.completed-t.intended)
	own := &s.measured[operation]
	if s.timeline.phaseOf(t.completed) == measure && replied {
		own.windowCompleted++
		if verdict == correct {
			own.windowOk++
		}
	}
	phase := s.current.phase
	if member == measure {
		own.tally.end(verdict)
		own.responseSum += response
		if t.sent != 0 {
			s.record(s.poolWait, t.sent-t.intended)
		}
	} else {
		from, to := s.timeline.start(measure), s.timeline.start(drain)
		own.earlierNs += max(0, min(t.completed, to)-max(t.intended, from))
	}
	one := &s.current.operations[operation]
	one.tally.end(verdict)
	if verdict == correct && member != drain && (member == phase || phase == drain && member == measure) {
		s.record(one.response, response)
		s.record(one.service, t.completed-t.sent)
	}
	return true
}

func (s *shard) record(histogram *hdr.Histogram, value int64) {
	if histogram.RecordValue(max(0, value)) != nil {
		s.overflowed++
	}
}

// take hands over the intervals that ended by now.
func (s *shard) take(now int64) []*interval {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.cross(now)
	done := s.done
	s.done = nil
	return done
}

// close ends the recording: the last interval, and nothing is counted after it.
func (s *shard) close(now int64) []*interval {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.cross(now)
	s.deliver(max(now, s.current.start))
	s.closed = true
	done := s.done
	s.done = nil
	return done
}
