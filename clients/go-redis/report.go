package main

// report puts what the shards recorded together: intervals while the load goes on, and the record at its end.
type report struct {
	load    *load
	pending [][]*interval
	total   []tally
	trial   []intervalOperation
}

func newReport(l *load) *report {
	r := &report{load: l, pending: make([][]*interval, len(l.shards)), total: make([]tally, len(l.slots))}
	for range l.slots {
		r.trial = append(r.trial, intervalOperation{response: newHistogram(), service: newHistogram()})
	}
	return r
}

// publish writes the intervals that ended.
func (r *report) publish(now int64) {
	for i, shard := range r.load.shards {
		r.pending[i] = append(r.pending[i], shard.take(now)...)
	}
	r.writeWhole()
}

// finish writes the last intervals; nothing is counted any more.
func (r *report) finish(end int64) {
	for i, shard := range r.load.shards {
		r.pending[i] = append(r.pending[i], shard.close(end)...)
	}
	r.writeWhole()
}

// writeWhole writes the intervals that every shard has ended.
func (r *report) writeWhole() {
	for {
		var whole *interval
		for _, pending := range r.pending {
			if len(pending) == 0 {
				return
			}
		}
		for i, pending := range r.pending {
			whole = merged(whole, pending[0])
			r.pending[i] = pending[1:]
		}
		r.write(whole)
	}
}

func merged(whole, one *interval) *interval {
	if whole == nil {
		return one
	}
	for i := range whole.operations {
		into, from := &whole.operations[i], &one.operations[i]
		into.tally.add(&from.tally)
		into.response.Merge(from.response)
		into.service.Merge(from.service)
		giveBack(from.response)
		giveBack(from.service)
	}
	return whole
}

func (r *report) write(one *interval) {
	l := r.load
	message := intervalMessage{
		Type: "interval", Phase: phaseNames[one.phase], StartS: toS(one.start), DurationS: toS(one.end - one.start),
		StartUnixNs: l.clock.originUnix + one.start, Operations: map[string]intervalOfPlanOp{},
		Connections: l.server.connections(), Users: l.users.Load(), Backlog: max(0, l.waiting.Load()),
	}
	message.InFlight = max(0, l.onTheirWay()-message.Backlog)
	happened := one.end > one.start
	for i := range one.operations {
		operation := &one.operations[i]
		t := &operation.tally
		happened = happened || t.offered+t.dropped+t.ended() > 0
		plain := counts(t, 0, 0)
		message.Operations[l.work.operations[i].name] = intervalOfPlanOp{
			Offered: plain.Offered, Sent: plain.Sent, Ok: plain.Ok, Errors: plain.Errors, Timeouts: plain.Timeouts,
			Dropped: plain.Dropped, Response: encoded(operation.response), Service: encoded(operation.service),
		}
		r.total[i].add(t)
		if one.phase >= measure {
			r.trial[i].response.Merge(operation.response)
			r.trial[i].service.Merge(operation.service)
		}
		giveBack(operation.response)
		giveBack(operation.service)
	}
	if happened {
		l.out.write(message)
	}
}

// record is the whole drive.
func (r *report) record(end, step int64, readBack readBackCounts) recordMessage {
	l := r.load
	message := recordMessage{
		Type: "record", StartedUnixNs: l.clock.originUnix, Phases: map[string]phaseTimes{},
		Operations: map[string]operationMessage{}, Commands: map[string]commandCounts{}, ReadBack: readBack,
		ClockQuantumNs: step, Stopped: l.reason.Load(),
	}
	for phase, name := range phaseNames {
		message.Phases[name] = phaseTimes{toS(min(l.timeline.start(phase), end)), toS(min(l.timeline.finish(phase), end))}
	}
	wait, lag := newHistogram(), newHistogram()
	all := make([]measured, len(l.slots))
	for _, shard := range l.shards {
		wait.Merge(shard.poolWait)
		lag.Merge(shard.lag)
		message.Overflowed += shard.overflowed
		for i := range all {
			all[i].add(&shard.measured[i])
		}
	}
	message.PoolWait, message.ScheduleLag = encoded(wait), encoded(lag)
	var total tally
	var inFlight, unsent int64
	for i := range all {
		others, own := left(&l.slots[i][0]), left(&l.slots[i][1])
		total.add(&r.total[i])
		inFlight += others.inFlight + own.inFlight
		unsent += others.unsent + own.unsent
		message.Operations[l.work.operations[i].name] = operationMessage{
			Counts: counts(&all[i].tally, own.inFlight, own.unsent), WindowCompleted: all[i].windowCompleted,
			WindowOk: all[i].windowOk, ResponseSumNs: all[i].responseSum, EarlierNs: all[i].earlierNs,
			Response: encoded(r.trial[i].response), Service: encoded(r.trial[i].service),
		}
	}
	message.Total = counts(&total, inFlight, unsent)
	for name, counter := range l.work.counters {
		message.Commands[name] = commandCounts{counter.sent.Load(), counter.replied.Load()}
	}
	message.Connections = r.connections()
	return message
}

// leftOver is what did not end: in flight, or still waiting for a connection.
type leftOver struct{ inFlight, unsent int64 }

func left(s *slot) leftOver {
	begun := s.begun.Load()
	sent := min(max(0, s.sent.Load()), begun)
	return leftOver{sent, begun - sent}
}

func (r *report) connections() connectionCounts {
	s := r.load.server
	opened, lost, open := s.opened.Load(), s.lost.Load(), s.connections()
	return connectionCounts{
		Opened: opened, OpenAtEnd: open, Lost: lost, Failed: s.failed.Load(), ClosedIdle: max(0, opened-open-lost),
	}
}
