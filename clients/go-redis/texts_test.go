package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

const examples = "../../tests/examples/driver/"

func read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(examples + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func TestTextsAreThoseOfEveryDriver(t *testing.T) {
	var all struct {
		Plans []struct {
			Seed         uint64 `json:"seed"`
			PayloadBytes int    `json:"payload_bytes"`
			FieldBytes   int    `json:"field_bytes"`
			Cases        []struct {
				Key           uint64 `json:"key"`
				Version       uint32 `json:"version"`
				Field         string `json:"field"`
				Value         string `json:"value"`
				Body          string `json:"body"`
				DocumentBytes int    `json:"document_bytes"`
				Document      string `json:"document"`
			}
		}
	}
	read(t, "texts.json", &all)
	for _, plan := range all.Plans {
		texts := newTexts(plan.Seed, Documents{PayloadBytes: plan.PayloadBytes, FieldBytes: plan.FieldBytes})
		for _, c := range plan.Cases {
			document := string(texts.appendDocument(nil, c.Key, c.Version))
			if string(texts.fieldOf(c.Key, c.Version)) != c.Field || len(document) != c.DocumentBytes ||
				!strings.HasPrefix(string(texts.valueOf(c.Key, c.Version)), c.Value) ||
				!strings.HasSuffix(string(texts.bodyOf(c.Key, c.Version)), c.Body) ||
				c.Document != "" && document != c.Document {
				t.Errorf("seed %d, key %d, version %d: %s", plan.Seed, c.Key, c.Version, document)
			}
			found, ok := texts.read(document)
			if !ok || !isKey(found.id, c.Key) || versionOf(found.version) != c.Version || found.field != c.Field {
				t.Errorf("it does not read its own document: %+v", found)
			}
		}
	}
}

func TestVerdictsAreThoseOfEveryDriver(t *testing.T) {
	var all struct {
		Seed         uint64 `json:"seed"`
		PayloadBytes int    `json:"payload_bytes"`
		FieldBytes   int    `json:"field_bytes"`
		Key          uint64 `json:"key"`
		Version      uint32 `json:"version"`
		Newest       uint32 `json:"newest"`
		Cases        []struct {
			Expect       string                     `json:"expect"`
			Known        bool                       `json:"known"`
			WritesFields bool                       `json:"writes_fields"`
			Strict       string                     `json:"strict"`
			Reply        map[string]json.RawMessage `json:"reply"`
			Verdict      string                     `json:"verdict"`
		}
	}
	read(t, "verdicts.json", &all)
	texts := newTexts(all.Seed, Documents{PayloadBytes: all.PayloadBytes, FieldBytes: all.FieldBytes})
	strict := map[string]strictness{"document": strictDocument, "field": strictField, "value": strictValue}
	for _, c := range all.Cases {
		judge := judge{verify: Verify{Replies: true, CountMismatch: true}, writesFields: c.WritesFields}
		reply, refused := replyOf(t, c.Reply)
		verdict := kindOfServer(refused)
		if refused == "" {
			verdict = judge.verdict(reply, &expected{
				filling: &filling{texts: texts, key: all.Key, version: all.Version}, expect: c.Expect,
				strict: strict[c.Strict], known: c.Known, newest: func() uint32 { return all.Newest },
			})
		}
		if verdict == correct {
			verdict = "ok"
		}
		if verdict != c.Verdict {
			t.Errorf("%s %s: %s, and %s is due", c.Expect, c.Reply, verdict, c.Verdict)
		}
	}
}

// replyOf is a reply as go-redis gives it; or the text of an error.
func replyOf(t *testing.T, written map[string]json.RawMessage) (any, string) {
	t.Helper()
	var text string
	var number int64
	var items []string
	for kind, raw := range written {
		switch kind {
		case "status", "text":
			check(t, json.Unmarshal(raw, &text))
			return text, ""
		case "error":
			check(t, json.Unmarshal(raw, &text))
			return nil, text
		case "integer":
			check(t, json.Unmarshal(raw, &number))
			return number, ""
		case "items":
			check(t, json.Unmarshal(raw, &items))
			list := make([]any, len(items))
			for i, item := range items {
				list[i] = item
			}
			return list, ""
		}
	}
	return nil, ""
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
