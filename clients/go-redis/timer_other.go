//go:build !linux

package main

import "time"

// runtimeTimer is what there is elsewhere.
type runtimeTimer struct{ timer *time.Timer }

func newTimer() (timer, error) { return &runtimeTimer{time.NewTimer(time.Hour)}, nil }

func (t *runtimeTimer) set(afterNs int64) { t.timer.Reset(time.Duration(afterNs)) }

func (t *runtimeTimer) wait() { <-t.timer.C }
