package main

import (
	"bufio"
	"encoding/json"
	"io"
	"sync"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

type readyMessage struct {
	Type    string `json:"type"`
	Library string `json:"library"`
	Version string `json:"version"`
	Runtime string `json:"runtime"`
}

type intervalMessage struct {
	Type        string                      `json:"type"`
	Phase       string                      `json:"phase"`
	StartS      float64                     `json:"start_s"`
	DurationS   float64                     `json:"duration_s"`
	StartUnixNs int64                       `json:"start_unix_ns"`
	Operations  map[string]intervalOfPlanOp `json:"operations"`
	Connections int64                       `json:"connections"`
	Users       int64                       `json:"users"`
	Backlog     int64                       `json:"backlog"`
	InFlight    int64                       `json:"in_flight"`
}

type intervalOfPlanOp struct {
	Offered  int64            `json:"offered"`
	Sent     int64            `json:"sent"`
	Ok       int64            `json:"ok"`
	Errors   map[string]int64 `json:"errors"`
	Timeouts int64            `json:"timeouts"`
	Dropped  int64            `json:"dropped"`
	Response string           `json:"response_histogram"`
	Service  string           `json:"service_histogram"`
}

type countsMessage struct {
	Offered  int64            `json:"offered"`
	Sent     int64            `json:"sent"`
	Ok       int64            `json:"ok"`
	Errors   map[string]int64 `json:"errors"`
	Timeouts int64            `json:"timeouts"`
	Dropped  int64            `json:"dropped"`
	InFlight int64            `json:"in_flight"`
	Unsent   int64            `json:"unsent"`
}

// counts are a tally with what did not end.
func counts(t *tally, inFlight, unsent int64) countsMessage {
	errors := t.errors
	if errors == nil {
		errors = map[string]int64{}
	}
	return countsMessage{
		Offered: t.offered, Sent: t.sent + inFlight, Ok: t.ok, Errors: errors, Timeouts: t.timeouts, Dropped: t.dropped,
		InFlight: inFlight, Unsent: unsent,
	}
}

type operationMessage struct {
	Counts          countsMessage `json:"counts"`
	WindowCompleted int64         `json:"window_completed"`
	WindowOk        int64         `json:"window_ok"`
	ResponseSumNs   int64         `json:"response_sum_ns"`
	EarlierNs       int64         `json:"earlier_ns"`
	Response        string        `json:"response_histogram"`
	Service         string        `json:"service_histogram"`
}

type phaseTimes struct {
	StartS float64 `json:"start_s"`
	EndS   float64 `json:"end_s"`
}

type commandCounts struct {
	Sent    int64 `json:"sent"`
	Replied int64 `json:"replied"`
}

type connectionCounts struct {
	Opened     int64 `json:"opened"`
	OpenAtEnd  int64 `json:"open_at_end"`
	Lost       int64 `json:"lost"`
	Failed     int64 `json:"failed"`
	ClosedIdle int64 `json:"closed_idle"`
}

type readBackCounts struct {
	Checked int64 `json:"checked"`
	Wrong   int64 `json:"wrong"`
	Skipped int64 `json:"skipped"`
}

type recordMessage struct {
	Type           string                      `json:"type"`
	StartedUnixNs  int64                       `json:"started_unix_ns"`
	Phases         map[string]phaseTimes       `json:"phases"`
	Operations     map[string]operationMessage `json:"operations"`
	Total          countsMessage               `json:"total"`
	Commands       map[string]commandCounts    `json:"commands"`
	Connections    connectionCounts            `json:"connections"`
	PoolWait       string                      `json:"pool_wait_histogram"`
	ScheduleLag    string                      `json:"schedule_lag_histogram"`
	ReadBack       readBackCounts              `json:"read_back"`
	Overflowed     int64                       `json:"overflowed"`
	ClockQuantumNs int64                       `json:"clock_quantum_ns"`
	Stopped        *string                     `json:"stopped"`
}

// messages writes one JSON object a line.
type messages struct {
	mutex sync.Mutex
	out   *bufio.Writer
}

func newMessages(out io.Writer) *messages { return &messages{out: bufio.NewWriterSize(out, 256<<10)} }

// write writes a message. Who cannot be written to is gone, and the end of the input says so, too.
func (m *messages) write(message any) {
	line, err := json.Marshal(message)
	if err != nil {
		panic(err) // these types can be written
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.out.Write(append(line, '\n'))
	m.out.Flush()
}

// encoded is a histogram in HdrHistogram's V2 encoding, compressed, in base64.
func encoded(histogram *hdr.Histogram) string {
	text, err := histogram.Encode(hdr.V2CompressedEncodingCookieBase)
	if err != nil {
		panic(err) // writing to memory cannot fail
	}
	return string(text)
}
