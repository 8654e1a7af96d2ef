package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/redis/go-redis/v9"
)

// worker carries operations out, one at a time: a user of the closed model, or an arrival of the open one.
type worker struct {
	load      *load
	shard     *shard
	random    *rand.Rand
	wake      chan struct{}
	text      []byte
	arguments []any
}

// running is an operation on its way.
type running struct {
	load     *load
	slot     *slot
	sent     int64
	intended int64
}

// stamped is the first argument of a command. go-redis asks it for its text when it writes the command, which is right
// after it got a connection: so the wait for one is known.
type stamped struct {
	run     *running
	counter *commandCounter
	text    []byte
}

// MarshalBinary is called by go-redis.
func (s *stamped) MarshalBinary() ([]byte, error) {
	s.run.onConnection(s.counter)
	return s.text, nil
}

// onConnection notes that a command of the operation goes to its connection now.
func (r *running) onConnection(counter *commandCounter) {
	counter.sent.Add(1)
	if r.sent == 0 {
		r.sent = max(1, r.load.clock.now())
		r.slot.sent.Add(1)
		r.load.waiting.Add(-1)
	}
}

// execute carries an operation out. When it ended, and how; abandoned if it did not.
func (w *worker) execute(one *begun, intended int64) (int64, string) {
	l := w.load
	operation := &l.work.operations[one.operation]
	run := &running{load: l, slot: l.slot(one.operation, one.member), intended: intended}
	fill := filling{texts: l.work.texts, key: one.key, version: one.version, seq: one.seq, others: one.others}
	verdict, replied := correct, false
	var completed int64
	for i := range operation.commands {
		command := &operation.commands[i]
		reply, err := w.send(l.ctx, command, &fill, run)
		completed = l.clock.now()
		verdict, replied = w.verdictOf(reply, err, command, &expected{
			filling: &fill, expect: command.expect, known: one.known,
			newest: func() uint32 { return l.work.versions.now(one.key).version() },
		}, run)
		if verdict != correct {
			break
		}
		fill.previous, _ = reply.(string)
	}
	if run.sent == 0 {
		l.waiting.Add(-1)
	}
	if verdict == abandoned {
		return completed, verdict
	}
	if replied {
		l.work.replied(one, verdict == correct)
	} else if run.sent == 0 {
		l.work.giveUp(one)
	}
	l.noteReach(replied, completed, verdict)
	l.ended(w.shard, one, verdict, run, completed, replied)
	return completed, verdict
}

// errUnreadable is a reply that go-redis broke off at.
var errUnreadable = errors.New("redis: can't parse the reply")

// send sends one command and reads its reply.
func (w *worker) send(ctx context.Context, c *command, fill *filling, run *running) (reply any, err error) {
	// A list longer than any can be, which a server has only to announce, makes go-redis panic.
	defer func() {
		if broke := recover(); broke != nil {
			err = fmt.Errorf("%w: %v", errUnreadable, broke)
		}
	}()
	w.arguments, w.text = append(w.arguments[:0], c.name), w.text[:0]
	for i := range c.arguments {
		argument := &c.arguments[i]
		from := len(w.text)
		if argument.pieces == nil {
			w.text = append(w.text, argument.literal...)
		}
		for _, piece := range argument.pieces {
			w.text = piece(w.text, fill)
		}
		// What was written before stays where it is when the buffer moves.
		text := w.text[from:len(w.text):len(w.text)]
		if i == 0 {
			w.arguments = append(w.arguments, &stamped{run, c.counter, text})
		} else {
			w.arguments = append(w.arguments, text)
		}
	}
	if len(c.arguments) == 0 {
		run.onConnection(c.counter)
	}
	return w.load.server.client.Do(ctx, w.arguments...).Result()
}

// verdictOf judges what came; whether it was a reply.
func (w *worker) verdictOf(reply any, err error, c *command, e *expected, run *running) (string, bool) {
	var refused redis.Error
	switch {
	case err == nil, errors.Is(err, redis.Nil):
		c.counter.replied.Add(1)
		return w.load.work.judge.verdict(reply, e), true
	case errors.As(err, &refused):
		c.counter.replied.Add(1)
		return kindOfServer(err.Error()), true
	}
	verdict := failed(err, run.sent != 0)
	if verdict != abandoned {
		w.load.noteFailure(err)
		if run.sent != 0 {
			w.load.server.lost.Add(1) // go-redis closes a connection on which a reply did not come
		}
	}
	return verdict, false
}
