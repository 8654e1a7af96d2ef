package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
)

// command is a command of the plan, its arguments parsed.
type command struct {
	name      string
	counter   *commandCounter
	arguments []argument
	expect    string
}

// commandCounter counts a command over the whole drive.
type commandCounter struct{ sent, replied atomic.Int64 }

// operation is an operation of the plan.
type operation struct {
	name     string
	commands []command
	readBack *command
	strict   strictness
	writes   string
	upTo     float64
	// others is how many keys its commands name beside {key}.
	others int
}

// begun is an operation that was drawn.
type begun struct {
	operation int
	key       uint64
	version   uint32
	seq       uint64
	known     bool
	alone     bool
	others    []uint64
	// member is the phase that it belongs to, by its intended time.
	member int
}

// written is a write that may be read back.
type written struct {
	operation int
	key       uint64
	version   uint32
}

// workload is what is requested: operations, keys, versions.
type workload struct {
	texts      *texts
	judge      judge
	keys       *keySpace
	versions   *versions
	operations []operation
	counters   map[string]*commandCounter
	seq        atomic.Uint64

	mutex     sync.Mutex
	recent    []written
	recentAt  int
	recentMax int
}

func newWorkload(plan *Plan) (*workload, error) {
	w := &workload{
		texts:     newTexts(plan.Seed, plan.Documents),
		judge:     judge{verify: plan.Verify, writesFields: plan.writesFields()},
		keys:      newKeySpace(plan.Keys),
		versions:  newVersions(plan),
		counters:  map[string]*commandCounter{},
		recentMax: plan.Verify.ReadBackMax,
	}
	if !plan.Verify.Replies {
		w.recentMax = 0
	}
	for _, name := range plan.commandNames() {
		w.counters[name] = &commandCounter{}
	}
	parser := &templates{prefix: plan.Keys.Prefix}
	var weights, sum float64
	for _, one := range plan.Operations {
		weights += one.Weight
	}
	for number, one := range plan.Operations {
		sum += one.Weight
		parser.others = 0
		parsed := operation{name: one.Name, writes: one.Writes, upTo: sum / weights}
		for place, each := range one.Commands {
			read, err := w.command(parser, each, fmt.Sprintf("operations[%d].commands[%d]", number, place))
			if err != nil {
				return nil, err
			}
			parsed.commands = append(parsed.commands, read)
		}
		parsed.others = parser.others
		if one.ReadBack != nil {
			read, err := w.command(parser, *one.ReadBack, fmt.Sprintf("operations[%d].read_back", number))
			if err != nil {
				return nil, err
			}
			parsed.readBack = &read
			parsed.strict = strictOf(one)
		}
		w.operations = append(w.operations, parsed)
	}
	return w, nil
}

// strictOf is what a read-back must find.
func strictOf(one Operation) strictness {
	switch {
	case one.Writes == "nothing":
		return strictNo
	case one.Writes == "field":
		return strictField
	case one.ReadBack.Expect != "value":
		return strictDocument
	}
	for _, each := range one.Commands {
		for _, text := range each.Args {
			if strings.Contains(text, "{value}") {
				return strictValue
			}
		}
	}
	return strictNo
}

func (w *workload) command(parser *templates, written Command, place string) (command, error) {
	name := strings.ToUpper(written.Args[0])
	parsed := command{name: written.Args[0], counter: w.counters[name], expect: written.Expect}
	for number, text := range written.Args[1:] {
		one, err := parser.parse(text)
		if err != nil {
			return command{}, wrongPlan("%s.args[%d]: %v", place, number+1, err)
		}
		parsed.arguments = append(parsed.arguments, one)
	}
	return parsed, nil
}

// draw draws the next operation; false when every key of `exactly_once` was taken.
func (w *workload) draw(random *rand.Rand) (begun, bool) {
	number := len(w.operations) - 1
	if number > 0 {
		drawn := random.Float64()
		for i := range w.operations {
			if drawn < w.operations[i].upTo {
				number = i
				break
			}
		}
	}
	key, ok := w.keys.next(random)
	if !ok {
		return begun{}, false
	}
	var state keyState
	one := begun{operation: number, key: key, seq: w.seq.Add(1) - 1}
	if others := w.operations[number].others; others > 0 {
		one.others = w.keys.others(random, key, others)
	}
	if w.operations[number].writes == "nothing" {
		state = w.versions.now(key)
		one.version = state.version()
	} else {
		state = w.versions.begin(key)
		one.version = state.version() + 1
	}
	one.known, one.alone = state.stored(), state.alone()
	return one, true
}

// giveUp forgets an operation whose commands were never sent.
func (w *workload) giveUp(one *begun) {
	if w.operations[one.operation].writes != "nothing" {
		w.versions.end(one.key, false)
	}
}

// replied notes that the last command of an operation was answered, or an earlier one wrongly.
func (w *workload) replied(one *begun, isCorrect bool) {
	operation := &w.operations[one.operation]
	if operation.writes == "nothing" {
		return
	}
	w.versions.end(one.key, isCorrect && operation.writes == "document")
	if !isCorrect || !one.alone || operation.readBack == nil || w.recentMax == 0 {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	last := written{one.operation, one.key, one.version}
	if len(w.recent) < w.recentMax {
		w.recent = append(w.recent, last)
	} else {
		w.recent[w.recentAt] = last
	}
	w.recentAt = (w.recentAt + 1) % w.recentMax
}

// lastWrites are the writes to be read back, the newest first, each key once.
func (w *workload) lastWrites() []written {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	var found []written
	known := map[uint64]bool{}
	for i := range w.recent {
		one := w.recent[((w.recentAt-1-i)%len(w.recent)+len(w.recent))%len(w.recent)]
		if !known[one.key] {
			known[one.key] = true
			found = append(found, one)
		}
	}
	return found
}
