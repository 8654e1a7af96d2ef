package main

import (
	"math"
	"strings"
)

type planMessage struct {
	Type   string `json:"type"`
	Format int    `json:"format"`
	Plan   Plan   `json:"plan"`
}

// Plan is what of a plan this driver reads (docs/plan.schema.json has all of it).
type Plan struct {
	Seed          uint64      `json:"seed"`
	Protocol      string      `json:"protocol"`
	Endpoints     []Endpoint  `json:"endpoints"`
	Threads       int         `json:"threads"`
	Model         Model       `json:"model"`
	Pool          Pool        `json:"pool"`
	PipelineDepth int         `json:"pipeline_depth"`
	Phases        Phases      `json:"phases"`
	Operations    []Operation `json:"operations"`
	Keys          Keys        `json:"keys"`
	Documents     Documents   `json:"documents"`
	Verify        Verify      `json:"verify"`
	Acknowledged  bool        `json:"acknowledged"`
	Timeouts      Timeouts    `json:"timeouts"`
	IntervalS     float64     `json:"interval_s"`
	StartAtUnixNs *int64      `json:"start_at_unix_ns"`
}

// Endpoint is where the server listens.
type Endpoint struct {
	Host     string   `json:"host"`
	Port     int      `json:"port"`
	UnixPath *string  `json:"unix_path"`
	TLS      *TLS     `json:"tls"`
	Username *string  `json:"username"`
	Password *string  `json:"password"`
	Database int      `json:"database"`
	Slots    [][2]int `json:"slots"`
}

// TLS is how a connection is verified.
type TLS struct {
	CAFile     *string `json:"ca_file"`
	ServerName *string `json:"server_name"`
	Verify     bool    `json:"verify"`
	CertFile   *string `json:"cert_file"`
	KeyFile    *string `json:"key_file"`
}

// Model is closed or open, by its kind.
type Model struct {
	Kind string `json:"kind"`

	Users             int     `json:"users"`
	ThinkTimeMs       float64 `json:"think_time_ms"`
	ThinkTime         string  `json:"think_time"`
	RampUp            *RampUp `json:"ramp_up"`
	OperationsPerUser *int64  `json:"operations_per_user"`

	RatePerS   float64    `json:"rate_per_s"`
	Schedule   []RateStep `json:"schedule"`
	Arrivals   string     `json:"arrivals"`
	BacklogMax int64      `json:"backlog_max"`
}

// RampUp starts users in steps.
type RampUp struct {
	InitialUsers int     `json:"initial_users"`
	StepUsers    int     `json:"step_users"`
	StepEveryS   float64 `json:"step_every_s"`
}

// RateStep is one stretch of a schedule.
type RateStep struct {
	RatePerS  float64 `json:"rate_per_s"`
	DurationS float64 `json:"duration_s"`
}

// Pool is what go-redis is to hold.
type Pool struct {
	Connections int    `json:"connections"`
	MinIdle     *int   `json:"min_idle"`
	MaxIdle     *int   `json:"max_idle"`
	Order       string `json:"order"`
}

// Phases are lengths, in order.
type Phases struct {
	RampUpS           float64  `json:"ramp_up_s"`
	WarmUpS           float64  `json:"warm_up_s"`
	MeasureS          float64  `json:"measure_s"`
	MeasureOperations *int64   `json:"measure_operations"`
	MeasureMaxS       *float64 `json:"measure_max_s"`
	DrainS            float64  `json:"drain_s"`
}

// Command is one command, its arguments with placeholders.
type Command struct {
	Args   []string `json:"args"`
	Expect string   `json:"expect"`
}

// Operation is one unit of work as the user counts it.
type Operation struct {
	Name     string    `json:"name"`
	Weight   float64   `json:"weight"`
	Commands []Command `json:"commands"`
	Writes   string    `json:"writes"`
	ReadBack *Command  `json:"read_back"`
}

// Keys is the key space.
type Keys struct {
	Prefix       string  `json:"prefix"`
	Count        uint64  `json:"count"`
	Distribution string  `json:"distribution"`
	ZipfExponent float64 `json:"zipf_exponent"`
	GaussianSd   float64 `json:"gaussian_sd"`
	Loaded       bool    `json:"loaded"`
}

// Documents are generated texts.
type Documents struct {
	PayloadBytes int `json:"payload_bytes"`
	FieldBytes   int `json:"field_bytes"`
}

// Verify says whether replies are compared.
type Verify struct {
	Replies       bool `json:"replies"`
	CountMismatch bool `json:"count_mismatch"`
	ReadBackMax   int  `json:"read_back_max"`
}

// Timeouts are limits of waiting.
type Timeouts struct {
	ConnectMs float64 `json:"connect_ms"`
	RequestMs float64 `json:"request_ms"`
	GoneS     float64 `json:"gone_s"`
}

const trackedKeysMax = 1 << 29

// check refuses what this driver cannot do, by the name of the field.
func (p *Plan) check() error {
	switch {
	case p.Protocol != "resp2" && p.Protocol != "resp3":
		return wrongPlan("protocol: %q; this driver speaks resp2 and resp3", p.Protocol)
	case len(p.Endpoints) != 1:
		return wrongPlan("endpoints: this driver loads one server, not %d", len(p.Endpoints))
	case len(p.Endpoints[0].Slots) > 0:
		return wrongPlan("endpoints[0].slots: this driver knows no cluster")
	case p.PipelineDepth != 1:
		return wrongPlan("pipeline_depth: %d; this driver sends one command at a time, set it to 1", p.PipelineDepth)
	case p.Acknowledged:
		return wrongPlan("acknowledged: this driver does not report it, set it to false")
	case p.Model.Kind != "closed" && p.Model.Kind != "open":
		return wrongPlan("model.kind: %q; this driver knows closed and open", p.Model.Kind)
	case p.Model.Kind == "closed" && p.Model.Users < 1:
		return wrongPlan("model.users: %d; at least 1 is needed", p.Model.Users)
	case p.Model.Kind == "open" && !(p.Model.RatePerS > 0):
		return wrongPlan("model.rate_per_s: %g; it must be above 0", p.Model.RatePerS)
	case p.Pool.Connections < 1:
		return wrongPlan("pool.connections: %d; at least 1 is needed", p.Pool.Connections)
	case p.Threads < 1:
		return wrongPlan("threads: %d; at least 1 is needed", p.Threads)
	case p.Keys.Count < 1 || p.Keys.Count > 1_000_000_000_000:
		return wrongPlan("keys.count: %d; it must be 1 to 10^12", p.Keys.Count)
	case p.writes() && p.Keys.Count > trackedKeysMax:
		return wrongPlan("keys.count: %d; the versions of at most %d keys can be followed", p.Keys.Count, trackedKeysMax)
	case p.Documents.FieldBytes < 1 || p.Documents.FieldBytes >= p.Documents.PayloadBytes:
		return wrongPlan("documents.field_bytes: %d must be 1 or more and below payload_bytes", p.Documents.FieldBytes)
	case !(p.IntervalS > 0):
		return wrongPlan("interval_s: %g; it must be above 0", p.IntervalS)
	case len(p.Operations) == 0:
		return wrongPlan("operations: there is none")
	}
	return nil
}

// writes tells whether any operation writes, so that versions change.
func (p *Plan) writes() bool {
	for _, operation := range p.Operations {
		if operation.Writes != "nothing" {
			return true
		}
	}
	return false
}

// writesFields tells whether fields change apart from their documents.
func (p *Plan) writesFields() bool {
	for _, operation := range p.Operations {
		if operation.Writes == "field" {
			return true
		}
	}
	return false
}

// endsByItself tells whether there is an end to the work, apart from the time.
func (p *Plan) endsByItself() bool {
	return p.Keys.Distribution == "exactly_once" || p.Model.Kind == "closed" && p.Model.OperationsPerUser != nil
}

// longestMeasureS is the longest that the measure phase may last.
func (p *Plan) longestMeasureS() float64 {
	phases := p.Phases
	switch {
	case p.endsByItself() && phases.MeasureMaxS != nil:
		return *phases.MeasureMaxS
	case p.endsByItself():
		return math.MaxUint32
	case phases.MeasureOperations != nil && phases.MeasureMaxS != nil:
		return max(*phases.MeasureMaxS, phases.MeasureS)
	}
	return phases.MeasureS
}

// commandNames are the distinct names in capitals, in the plan's order.
func (p *Plan) commandNames() []string {
	var names []string
	known := map[string]bool{}
	add := func(command Command) {
		name := strings.ToUpper(command.Args[0])
		if !known[name] {
			known[name] = true
			names = append(names, name)
		}
	}
	for _, operation := range p.Operations {
		for _, command := range operation.Commands {
			add(command)
		}
		if operation.ReadBack != nil {
			add(*operation.ReadBack)
		}
	}
	return names
}

func fromS(seconds float64) int64 {
	return int64(math.Round(min(seconds*1e9, math.MaxInt64/4)))
}

func toS(nanoseconds int64) float64 {
	return float64(nanoseconds) / 1e9
}
