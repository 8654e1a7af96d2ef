package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	stoppedOnRequest = "stopped on request"
	// afterFailureNs is how long a user waits whose connection failed.
	afterFailureNs = 10_000_000
	readBackFor    = 300 * time.Millisecond
	// checkEvery is how often it is checked whether the load has ended.
	checkEvery = 5 * time.Millisecond
)

// slot counts operations of one kind that are on their way; sent are those of them that got a connection.
type slot struct{ begun, sent atomic.Int64 }

// load is one drive.
type load struct {
	plan     *Plan
	work     *workload
	server   *server
	out      *messages
	clock    *clock
	timeline *timeline
	alarm    *alarm
	shards   []*shard
	slots    [][2]slot

	ctx     context.Context
	cancel  context.CancelFunc
	stopped chan struct{}
	reason  atomic.Pointer[string]

	users     atomic.Int64
	working   atomic.Int64
	waiting   atomic.Int64
	measured  atomic.Int64
	failingNs atomic.Int64
	failure   atomic.Pointer[string]
}

func newLoad(plan *Plan, work *workload, server *server, out *messages) *load {
	ctx, cancel := context.WithCancel(context.Background())
	return &load{
		plan: plan, work: work, server: server, out: out, ctx: ctx, cancel: cancel, stopped: make(chan struct{}),
		clock: &clock{origin: time.Now()}, slots: make([][2]slot, len(work.operations)),
	}
}

// slot is that of an operation's members of the measure phase, or of its other ones.
func (l *load) slot(operation, member int) *slot {
	if member == measure {
		return &l.slots[operation][1]
	}
	return &l.slots[operation][0]
}

// stop ends the load; the first reason stands.
func (l *load) stop(reason string) {
	if l.reason.CompareAndSwap(nil, &reason) {
		close(l.stopped)
	}
}

func (l *load) isStopped() bool { return l.reason.Load() != nil }

// run drives from the beginning to the record.
func (l *load) run() error {
	step := quantum()
	l.out.write(readyMessage{Type: "ready", Library: "go-redis", Version: redis.Version(), Runtime: runtime.Version()})
	now := time.Now()
	*l.clock = clock{origin: now, originUnix: now.UnixNano()}
	l.timeline = newTimeline(l.plan)
	alarm, err := newAlarm(l.clock)
	if err != nil {
		return err
	}
	l.alarm = alarm
	for range runtime.GOMAXPROCS(0) {
		l.shards = append(l.shards, newShard(len(l.work.operations), l.timeline, fromS(l.plan.IntervalS)))
	}
	if l.plan.Model.Kind == "open" {
		go l.arrive()
	} else {
		l.working.Store(int64(l.plan.Model.Users))
		for user := range l.plan.Model.Users {
			go l.user(user)
		}
	}
	report := newReport(l)
	l.watch(report)
	end := l.clock.now()
	if end < l.timeline.measureEnd.Load() {
		l.timeline.end(end)
	}
	report.finish(end)
	readBack := l.readBack()
	l.out.write(report.record(end, step, readBack))
	l.cancel()
	return nil
}

// watch returns when the load has ended; meanwhile intervals are reported.
func (l *load) watch(report *report) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.stopped:
			return
		case <-tick.C:
		}
		now := l.clock.now()
		report.publish(now)
		over := l.timeline.measureEnd.Load()
		if now >= over && (l.onTheirWay() == 0 || now >= over+fromS(l.plan.Phases.DrainS)) {
			return
		}
	}
}

func (l *load) onTheirWay() int64 {
	var sum int64
	for i := range l.slots {
		sum += l.slots[i][0].begun.Load() + l.slots[i][1].begun.Load()
	}
	return sum
}

// begins counts an operation that is picked up now, and waits for a connection from here on; false after the end of
// the load.
func (l *load) begins(s *shard, one *begun, intended, now int64) bool {
	one.member = l.timeline.phaseOf(intended)
	slot := l.slot(one.operation, one.member)
	slot.begun.Add(1)
	if !s.offered(now, one.operation, one.member, now-intended) {
		slot.begun.Add(-1)
		return false
	}
	l.waiting.Add(1)
	return true
}

// ended counts an operation that ended, unless the load did before.
func (l *load) ended(s *shard, one *begun, verdict string, run *running, completed int64, replied bool) {
	at := times{intended: run.intended, sent: run.sent, completed: completed}
	if !s.ended(one.operation, one.member, verdict, at, replied) {
		return
	}
	if run.sent != 0 {
		run.slot.sent.Add(-1)
	}
	run.slot.begun.Add(-1)
	required := l.plan.Phases.MeasureOperations
	if one.member == measure && required != nil && l.measured.Add(1) >= *required {
		l.timeline.end(max(l.clock.now()+int64(time.Millisecond), l.timeline.leastEnd))
	}
}

// user is a virtual user of the closed model.
func (l *load) user(number int) {
	model := l.plan.Model
	w := l.worker(number)
	intended := l.startNs(number)
	started := false
	for left := model.OperationsPerUser; left == nil || *left > 0; {
		if !w.sleep(intended) {
			return
		}
		one, ok := l.work.draw(w.random)
		if !ok {
			break
		}
		if !started {
			started = true
			l.users.Add(1)
			defer l.users.Add(-1)
		}
		picked := l.clock.now()
		if !l.begins(w.shard, &one, intended, picked) {
			return
		}
		if left != nil {
			rest := *left - 1
			left = &rest
		}
		completed, verdict := w.execute(&one, intended)
		if verdict == abandoned {
			return
		}
		intended = completed + w.think(&model)
		if isOfConnection(verdict) {
			intended += afterFailureNs
		}
	}
	l.workDone()
}

// sleep waits until an operation is intended; false if it never is.
func (w *worker) sleep(intended int64) bool {
	l := w.load
	if intended < l.timeline.measureEnd.Load() {
		l.alarm.until(intended, w.wake, l.stopped)
	}
	return intended < l.timeline.measureEnd.Load() && !l.isStopped()
}

func (w *worker) think(model *Model) int64 {
	if model.ThinkTimeMs == 0 {
		return 0
	}
	factor := 1.0
	if model.ThinkTime == "exponential" {
		factor = w.random.ExpFloat64()
	}
	return int64(model.ThinkTimeMs * 1e6 * factor)
}

// startNs is when a user starts: in steps, or spread evenly over the ramp-up.
func (l *load) startNs(user int) int64 {
	if steps := l.plan.Model.RampUp; steps != nil {
		later := max(0, user+1-steps.InitialUsers)
		return fromS(float64((later+steps.StepUsers-1)/steps.StepUsers) * steps.StepEveryS)
	}
	return fromS(l.plan.Phases.RampUpS * float64(user) / float64(l.plan.Model.Users))
}

// workDone ends the measure phase when no user has work left; users whose time is over have some.
func (l *load) workDone() {
	if l.working.Add(-1) == 0 {
		l.timeline.end(l.clock.now())
	}
}

func (l *load) worker(number int) *worker {
	return &worker{
		load:   l,
		shard:  l.shards[number%len(l.shards)],
		random: rand.New(newXoshiro(l.plan.Seed, uint64(number))),
		wake:   make(chan struct{}, 1),
	}
}

// arrive begins the arrivals of the open model.
func (l *load) arrive() {
	w := l.worker(0)
	schedule := newSchedule(l.plan)
	var idle sync.Pool
	number := 0
	for {
		intended := schedule.next(w.random)
		if !w.sleep(intended) {
			return
		}
		one, ok := l.work.draw(w.random)
		if !ok {
			// Every key was taken: the work is done when the last of them ended.
			for l.onTheirWay() > 0 && !l.isStopped() {
				time.Sleep(time.Millisecond)
			}
			l.timeline.end(l.clock.now())
			return
		}
		picked := l.clock.now()
		if l.waiting.Load() >= l.plan.Model.BacklogMax {
			runtime.Gosched() // of many that came at once, some may find a free connection
		}
		if l.waiting.Load() >= l.plan.Model.BacklogMax {
			l.work.giveUp(&one)
			w.shard.droppedArrival(picked, one.operation, l.timeline.phaseOf(intended), picked-intended)
			continue
		}
		each, ok := idle.Get().(*worker)
		if !ok {
			number++
			each = l.worker(number)
		}
		if !l.begins(each.shard, &one, intended, picked) {
			return
		}
		go func() {
			each.execute(&one, intended)
			idle.Put(each)
		}()
	}
}

// isOfConnection tells whether an operation failed because its connection did.
func isOfConnection(verdict string) bool {
	switch verdict {
	case "connection_refused", "connect_timeout", "connection_reset", "connection_closed", "connection_failed":
		return true
	}
	return false
}

func (l *load) noteFailure(err error) {
	text := oneLine(err)
	l.failure.Store(&text)
}

// noteReach ends the load if nothing but failures to connect came for too long.
func (l *load) noteReach(replied bool, now int64, verdict string) {
	switch {
	case replied:
		l.failingNs.Store(0)
	case isOfConnection(verdict) && !l.failingNs.CompareAndSwap(0, max(1, now)):
		gone := l.plan.Timeouts.GoneS
		if last := l.failure.Load(); now-l.failingNs.Load() > fromS(gone) && last != nil {
			l.stop(fmt.Sprintf("server gone: no connection for %.1f s, last: %s", gone, *last))
		}
	}
}

// readBack reads keys back that were written last, one after the other, for a bounded time.
func (l *load) readBack() readBackCounts {
	var done readBackCounts
	if l.isStopped() {
		return done
	}
	ctx, cancel := context.WithTimeout(context.Background(), readBackFor)
	defer cancel()
	w := l.worker(0)
	for _, one := range l.work.lastWrites() {
		if ctx.Err() != nil {
			break
		}
		operation := &l.work.operations[one.operation]
		if l.work.versions.now(one.key).version() != one.version {
			done.Skipped++
			continue
		}
		fill := filling{texts: l.work.texts, key: one.key, version: one.version}
		run := &running{load: l, slot: &slot{}}
		reply, err := w.send(ctx, operation.readBack, &fill, run)
		verdict, replied := w.verdictOf(reply, err, operation.readBack, &expected{
			filling: &fill, expect: operation.readBack.expect, strict: operation.strict, known: true,
			newest: func() uint32 { return one.version },
		}, run)
		if !replied {
			break
		}
		done.Checked++
		if verdict != correct {
			done.Wrong++
		}
	}
	return done
}
