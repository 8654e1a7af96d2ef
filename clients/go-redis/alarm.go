package main

import (
	"container/heap"
	"sync"
)

// alarm wakes goroutines at instants of the load's clock, more exactly than the runtime does: the runtime rounds a
// sleep of an idle program up to a millisecond.
type alarm struct {
	clock   *clock
	timer   timer
	mutex   sync.Mutex
	waiting sleepers
}

// timer waits until it expires. It can be set from anywhere.
type timer interface {
	set(afterNs int64)
	wait()
}

type sleeper struct {
	at   int64
	wake chan struct{}
}

type sleepers []sleeper

func (s sleepers) Len() int           { return len(s) }
func (s sleepers) Less(i, j int) bool { return s[i].at < s[j].at }
func (s sleepers) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *sleepers) Push(x any)        { *s = append(*s, x.(sleeper)) }
func (s *sleepers) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}

func newAlarm(clock *clock) (*alarm, error) {
	timer, err := newTimer()
	if err != nil {
		return nil, err
	}
	a := &alarm{clock: clock, timer: timer}
	go a.ring()
	return a, nil
}

// until returns at that instant at the earliest, or when the load is stopped.
func (a *alarm) until(at int64, wake chan struct{}, stopped <-chan struct{}) {
	if at <= a.clock.now() {
		return
	}
	a.mutex.Lock()
	heap.Push(&a.waiting, sleeper{at, wake})
	if a.waiting[0].at == at {
		a.timer.set(max(1, at-a.clock.now()))
	}
	a.mutex.Unlock()
	select {
	case <-wake:
	case <-stopped:
	}
}

// ring wakes who is due.
func (a *alarm) ring() {
	for {
		a.timer.wait()
		a.mutex.Lock()
		now := a.clock.now()
		for len(a.waiting) > 0 && a.waiting[0].at <= now {
			heap.Pop(&a.waiting).(sleeper).wake <- struct{}{}
		}
		if len(a.waiting) > 0 {
			a.timer.set(max(1, a.waiting[0].at-now))
		}
		a.mutex.Unlock()
	}
}
