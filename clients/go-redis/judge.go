package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// correct is the verdict of a correct reply; every other one is the kind of an error.
const correct = ""

// timedOut is the verdict of an operation whose reply did not come in time.
const timedOut = "timeout"

// abandoned is that of an operation which the end of the load cut off: it has no end.
const abandoned = "abandoned"

const (
	wrongReply = "wrong_reply"
	wrongType  = "wrong_type"
	missing    = "missing"
)

// strictness is what must be there because nothing else was written since.
type strictness int

const (
	strictNo strictness = iota
	strictDocument
	strictField
	strictValue
)

// judge compares replies with the text that their key and version generate.
type judge struct {
	verify       Verify
	writesFields bool
}

// expected is what a reply is compared with.
type expected struct {
	*filling
	expect string
	strict strictness
	known  bool
	newest func() uint32
}

func (j *judge) verdict(reply any, e *expected) string {
	if !j.verify.Replies {
		return correct
	}
	found := j.compare(reply, e)
	if !j.verify.CountMismatch {
		return correct
	}
	return found
}

func (j *judge) compare(reply any, e *expected) string {
	switch e.expect {
	case "any":
		return correct
	case "ok":
		return ofText(reply, func(text string) bool { return text == "OK" })
	case "integer":
		if _, ok := reply.(int64); ok {
			return correct
		}
		return wrongType
	case "positive":
		number, ok := reply.(int64)
		if !ok {
			return wrongType
		}
		return correctIf(number >= 1, "not_positive")
	case "item":
		if reply == nil {
			return "nil_reply"
		}
		return ofText(reply, func(string) bool { return true })
	case "value":
		if reply == nil && e.strict == strictNo {
			return correct
		}
		return j.absentOr(reply, e, func(text string) bool {
			if e.strict == strictValue {
				return same(text, e.texts.valueOf(e.key, e.version))
			}
			return len(text) == e.texts.payload
		})
	case "document":
		return j.absentOr(reply, e, func(text string) bool { return j.isDocument(text, e) })
	case "field":
		return j.absentOr(reply, e, func(text string) bool { return j.isField(text, e, nil) })
	case "field_array":
		if reply == "[]" {
			return absent(e)
		}
		return j.absentOr(reply, e, func(text string) bool {
			field, opened := strings.CutPrefix(text, `["`)
			field, closed := strings.CutSuffix(field, `"]`)
			return opened && closed && j.isField(field, e, nil)
		})
	case "hash":
		return j.hash(reply, e)
	}
	return wrongType
}

func correctIf(is bool, otherwise string) string {
	if is {
		return correct
	}
	return otherwise
}

func ofText(reply any, is func(string) bool) string {
	text, ok := reply.(string)
	if !ok {
		return wrongType
	}
	return correctIf(is(text), wrongReply)
}

func (j *judge) absentOr(reply any, e *expected, is func(string) bool) string {
	if reply == nil {
		return absent(e)
	}
	return ofText(reply, is)
}

// absent is the verdict where the key, or the field, is not there.
func absent(e *expected) string {
	return correctIf(!e.known && e.strict == strictNo, missing)
}

type looseDocument struct {
	ID      string `json:"id"`
	Version string `json:"version"`
	Type    string `json:"type"`
	Author  string `json:"author"`
	State   string `json:"state"`
	Field   string `json:"field"`
	Body    string `json:"body"`
}

func (j *judge) isDocument(text string, e *expected) bool {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		text = strings.TrimSuffix(inner, "]")
	}
	found, ok := e.texts.read(text)
	if !ok {
		var loose looseDocument
		if json.Unmarshal([]byte(text), &loose) != nil {
			return false
		}
		if loose.Type != "document" || loose.Author != "loadstone" || loose.State != "current" {
			return false
		}
		found = parts{id: loose.ID, version: loose.Version, field: loose.Field, body: loose.Body}
	}
	return j.areParts(found, e)
}

func (j *judge) areParts(found parts, e *expected) bool {
	version := versionOf(found.version)
	due := version >= 1 && version <= e.newest()
	if e.strict == strictDocument {
		due = version == e.version
	}
	return due && isKey(found.id, e.key) && same(found.body, e.texts.bodyOf(e.key, version)) &&
		j.isField(found.field, e, &version)
}

// isField judges a field; `version` is that of the document that it is in, if known.
func (j *judge) isField(text string, e *expected, version *uint32) bool {
	switch {
	case e.strict == strictField || e.strict == strictDocument:
		return same(text, e.texts.fieldOf(e.key, e.version))
	case version != nil && !j.writesFields:
		return same(text, e.texts.fieldOf(e.key, *version))
	}
	return e.texts.isSomeField(text)
}

// hash judges a hash: pairs in a list (RESP2), or a map (RESP3).
func (j *judge) hash(reply any, e *expected) string {
	fields := map[string]string{}
	switch reply := reply.(type) {
	case nil:
		return absent(e)
	case []any:
		for i := 0; i+1 < len(reply); i += 2 {
			name, ok := reply[i].(string)
			value, ok2 := reply[i+1].(string)
			if !ok || !ok2 {
				return wrongReply
			}
			fields[name] = value
		}
	case map[any]any:
		for name, value := range reply {
			name, ok := name.(string)
			value, ok2 := value.(string)
			if !ok || !ok2 {
				return wrongReply
			}
			fields[name] = value
		}
	default:
		return wrongType
	}
	if len(fields) == 0 {
		return absent(e)
	}
	var found parts
	needed := 4
	for name, value := range fields {
		switch name {
		case "id":
			found.id = value
		case "version":
			found.version = value
		case "field":
			found.field = value
		case "body":
			found.body = value
		case "type", "author", "state":
			if constants[name] != value {
				return wrongReply
			}
			continue
		default:
			return wrongReply
		}
		needed--
	}
	return correctIf(needed == 0 && j.areParts(found, e), wrongReply)
}

var constants = map[string]string{"type": "document", "author": "loadstone", "state": "current"}

var serverKinds = func() map[string]bool {
	kinds := map[string]bool{}
	for _, code := range strings.Fields("ERR ASK BUSY BUSYGROUP BUSYKEY CLUSTERDOWN CROSSSLOT EXECABORT LOADING " +
		"MASTERDOWN MISCONF MOVED NOAUTH NOPERM NOPROTO NOREPLICAS NOSCRIPT OOM READONLY TRYAGAIN UNBLOCKED WRONGPASS " +
		"WRONGTYPE") {
		kinds[code] = true
	}
	return kinds
}()

// kindOfServer is the kind of the server's error, by its first word.
func kindOfServer(text string) string {
	code, _, _ := strings.Cut(text, " ")
	if !serverKinds[code] {
		return "server_other"
	}
	return "server_" + strings.ToLower(code)
}

// failed is the verdict of an operation that got no reply. `sent`: its command went to a connection.
func failed(err error, sent bool) string {
	var network net.Error
	var dialled *net.OpError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, redis.ErrClosed):
		return abandoned
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection_refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection_reset"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection_closed"
	case errors.As(err, &network) && network.Timeout(), errors.Is(err, os.ErrDeadlineExceeded):
		if errors.As(err, &dialled) && dialled.Op == "dial" || !sent {
			return "connect_timeout"
		}
		return timedOut
	case sent && strings.HasPrefix(err.Error(), "redis: "):
		return "protocol"
	}
	return "connection_failed"
}
