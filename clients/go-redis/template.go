package main

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
)

// filling is what the placeholders of one operation stand for.
type filling struct {
	texts    *texts
	key      uint64
	version  uint32
	seq      uint64
	previous string
	// others are the operation's other keys: {key2}, {key3}...
	others []uint64
}

// piece appends a part of an argument.
type piece func(out []byte, f *filling) []byte

// argument is an argument of a command: a literal, or pieces that are filled in.
type argument struct {
	literal string
	pieces  []piece
}

var (
	uniformRange  = regexp.MustCompile(`^uniform\s+(-?\d+)\s*\.\.\s*(-?\d+)$`)
	otherKey      = regexp.MustCompile(`^key([1-9]\d{0,4})$`)
	randomLetters = regexp.MustCompile(`^random\s+(\d+)\s+lowercase$`)
)

const randomMax = 64 << 20

// templates parses arguments; `salt` makes the random placeholders of one operation differ.
type templates struct {
	prefix string
	salt   uint64
	// others is how many other keys were named since it was last set to 0.
	others int
}

func (t *templates) parse(text string) (argument, error) {
	var pieces []piece
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			part := literal.String()
			literal.Reset()
			pieces = append(pieces, func(out []byte, _ *filling) []byte { return append(out, part...) })
		}
	}
	for rest := text; rest != ""; {
		at := strings.IndexAny(rest, "{}")
		if at < 0 {
			literal.WriteString(rest)
			break
		}
		literal.WriteString(rest[:at])
		rest = rest[at:]
		if strings.HasPrefix(rest, "{{") || strings.HasPrefix(rest, "}}") {
			literal.WriteByte(rest[0])
			rest = rest[2:]
			continue
		}
		end := strings.IndexByte(rest, '}')
		if rest[0] == '}' || end < 0 {
			return argument{}, fmt.Errorf("`%s`: a lone brace; write {{ or }} for one", text)
		}
		filled, err := t.placeholder(rest[1:end])
		if err != nil {
			return argument{}, fmt.Errorf("`%s`: %w", text, err)
		}
		flush()
		pieces = append(pieces, filled)
		rest = rest[end+1:]
	}
	if len(pieces) == 0 {
		return argument{literal: literal.String()}, nil
	}
	flush()
	return argument{pieces: pieces}, nil
}

func (t *templates) placeholder(name string) (piece, error) {
	switch name {
	case "key":
		prefix := t.prefix
		return func(out []byte, f *filling) []byte { return appendDigits(append(out, prefix...), f.key, idDigits) }, nil
	case "document":
		return func(out []byte, f *filling) []byte { return f.texts.appendDocument(out, f.key, f.version) }, nil
	case "id":
		return func(out []byte, f *filling) []byte { return appendDigits(out, f.key, idDigits) }, nil
	case "version":
		return func(out []byte, f *filling) []byte { return appendDigits(out, uint64(f.version), verDigits) }, nil
	case "field":
		return func(out []byte, f *filling) []byte { return append(out, f.texts.fieldOf(f.key, f.version)...) }, nil
	case "field_json":
		return func(out []byte, f *filling) []byte {
			return append(append(append(out, '"'), f.texts.fieldOf(f.key, f.version)...), '"')
		}, nil
	case "body":
		return func(out []byte, f *filling) []byte { return append(out, f.texts.bodyOf(f.key, f.version)...) }, nil
	case "value":
		return func(out []byte, f *filling) []byte { return append(out, f.texts.valueOf(f.key, f.version)...) }, nil
	case "changed":
		return func(out []byte, f *filling) []byte {
			return f.texts.appendChanged(out, f.previous, f.key, f.version)
		}, nil
	case "seq":
		return func(out []byte, f *filling) []byte { return strconv.AppendUint(out, f.seq, 10) }, nil
	}
	if found := otherKey.FindStringSubmatch(name); found != nil && found[1] != "1" {
		number, _ := strconv.Atoi(found[1])
		place, prefix := number-2, t.prefix
		t.others = max(t.others, place+1)
		return func(out []byte, f *filling) []byte {
			return appendDigits(append(out, prefix...), f.others[place], idDigits)
		}, nil
	}
	t.salt++
	if found := uniformRange.FindStringSubmatch(name); found != nil {
		return uniform(found[1], found[2], mix(t.salt))
	}
	if found := randomLetters.FindStringSubmatch(name); found != nil {
		return lowercase(found[1], mix(t.salt))
	}
	return nil, fmt.Errorf("unknown placeholder {%s}", name)
}

func uniform(low, high string, salt uint64) (piece, error) {
	from, err := strconv.ParseInt(low, 10, 64)
	to, err2 := strconv.ParseInt(high, 10, 64)
	span := uint64(to) - uint64(from) + 1
	if err != nil || err2 != nil || to < from || span == 0 {
		return nil, fmt.Errorf("{uniform %s..%s} needs two integers, the smaller first", low, high)
	}
	return func(out []byte, f *filling) []byte {
		offset := rand.New(newXoshiro(f.texts.seed^salt, f.seq)).Uint64N(span)
		return strconv.AppendInt(out, int64(uint64(from)+offset), 10)
	}, nil
}

func lowercase(count string, salt uint64) (piece, error) {
	letters, err := strconv.Atoi(count)
	if err != nil || letters < 1 || letters > randomMax {
		return nil, fmt.Errorf("{random %s lowercase} needs a count from 1 to %d", count, randomMax)
	}
	return func(out []byte, f *filling) []byte {
		random := rand.New(newXoshiro(f.texts.seed^salt, f.seq))
		for range letters {
			out = append(out, byte('a'+random.UintN(26)))
		}
		return out
	}, nil
}
