package main

import (
	"math/bits"
	"strconv"
)

// The texts of documents, fields and values follow from seed, key and version alone (docs/drivers.md).

const (
	golden    = 0x9e3779b97f4a7c15
	places    = 1 << 16
	alphabet  = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	beforeID  = `{"id":"`
	beforeVer = `","version":"`
	beforeFld = `","type":"document","author":"loadstone","state":"current","field":"`
	beforeBdy = `","body":"`
	afterBdy  = `"}`
	idDigits  = 12
	verDigits = 10
	fieldAt   = len(beforeID) + idDigits + len(beforeVer) + verDigits + len(beforeFld)
)

// mix scatters the bits of x: the output step of SplitMix64 (Steele, Lea & Flood 2014).
func mix(x uint64) uint64 {
	x += golden
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// xoshiro is xoshiro256++ (Blackman & Vigna 2021), a stream of random numbers.
type xoshiro [4]uint64

// newXoshiro is the stream number `stream` of `seed`.
func newXoshiro(seed, stream uint64) *xoshiro {
	state := mix(seed) + mix(^stream)
	var x xoshiro
	for i := range x {
		x[i] = mix(state)
		state += golden
	}
	return &x
}

// Uint64 is the next number; it makes xoshiro a source of math/rand/v2.
func (x *xoshiro) Uint64() uint64 {
	result := bits.RotateLeft64(x[0]+x[3], 23) + x[0]
	t := x[1] << 17
	x[2] ^= x[0]
	x[3] ^= x[1]
	x[1] ^= x[2]
	x[0] ^= x[3]
	x[2] ^= t
	x[3] = bits.RotateLeft64(x[3], 45)
	return result
}

// texts makes the generated texts of one plan.
type texts struct {
	block   []byte
	seed    uint64
	payload int
	field   int
}

func newTexts(seed uint64, documents Documents) *texts {
	random := newXoshiro(seed, ^uint64(0))
	block := make([]byte, places+documents.PayloadBytes)
	for at := 0; at < len(block); at += 8 {
		number := random.Uint64()
		for i := at; i < min(at+8, len(block)); i++ {
			block[i] = alphabet[int(number&0xff)*len(alphabet)>>8]
			number >>= 8
		}
	}
	return &texts{block: block, seed: seed, payload: documents.PayloadBytes, field: documents.FieldBytes}
}

const (
	contentField = iota
	contentBody
	contentValue
)

func (t *texts) cut(key uint64, version uint32, content uint64, length int) []byte {
	ofKey := mix(t.seed ^ key*golden)
	place := int(mix(ofKey^(uint64(version)<<2|content)) % places)
	return t.block[place : place+length]
}

func (t *texts) fieldOf(key uint64, version uint32) []byte {
	return t.cut(key, version, contentField, t.field)
}

func (t *texts) bodyOf(key uint64, version uint32) []byte {
	return t.cut(key, version, contentBody, t.payload-t.field)
}

func (t *texts) valueOf(key uint64, version uint32) []byte {
	return t.cut(key, version, contentValue, t.payload)
}

// appendDigits appends the number with leading zeros.
func appendDigits(out []byte, number uint64, digits int) []byte {
	at := len(out)
	for range digits {
		out = append(out, '0')
	}
	for i := len(out) - 1; i >= at; i-- {
		out[i] = byte('0' + number%10)
		number /= 10
	}
	return out
}

func (t *texts) appendDocument(out []byte, key uint64, version uint32) []byte {
	out = appendDigits(append(out, beforeID...), key, idDigits)
	out = appendDigits(append(out, beforeVer...), uint64(version), verDigits)
	out = append(append(out, beforeFld...), t.fieldOf(key, version)...)
	out = append(append(out, beforeBdy...), t.bodyOf(key, version)...)
	return append(out, afterBdy...)
}

// appendChanged appends the document `text` with the field of `version`; a whole one where `text` is none of ours.
func (t *texts) appendChanged(out []byte, text string, key uint64, version uint32) []byte {
	if _, ok := t.read(text); !ok {
		return t.appendDocument(out, key, version)
	}
	out = append(append(out, text[:fieldAt]...), t.fieldOf(key, version)...)
	return append(out, text[fieldAt+t.field:]...)
}

// parts are what varies in a document.
type parts struct{ id, version, field, body string }

// read finds the parts of a text that is laid out as a document of this plan.
func (t *texts) read(text string) (parts, bool) {
	versionAt := len(beforeID) + idDigits + len(beforeVer)
	bodyAt := fieldAt + t.field + len(beforeBdy)
	end := bodyAt + t.payload - t.field
	if len(text) != end+len(afterBdy) {
		return parts{}, false
	}
	laidOut := text[:len(beforeID)] == beforeID &&
		text[len(beforeID)+idDigits:versionAt] == beforeVer &&
		text[versionAt+verDigits:fieldAt] == beforeFld &&
		text[fieldAt+t.field:bodyAt] == beforeBdy &&
		text[end:] == afterBdy
	if !laidOut {
		return parts{}, false
	}
	return parts{
		id:      text[len(beforeID) : len(beforeID)+idDigits],
		version: text[versionAt : versionAt+verDigits],
		field:   text[fieldAt : fieldAt+t.field],
		body:    text[bodyAt:end],
	}, true
}

// isSomeField tells whether a text could be the field of some version: its length, letters and digits.
func (t *texts) isSomeField(text string) bool {
	if len(text) != t.field {
		return false
	}
	for i := range len(text) {
		c := text[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// isKey tells whether a document's id is the number of the key.
func isKey(id string, key uint64) bool {
	var digits [idDigits]byte
	return id == string(appendDigits(digits[:0], key, idDigits))
}

// versionOf is the number that a version spells; 0 for anything else.
func versionOf(text string) uint32 {
	if text == "" || text[0] == '+' {
		return 0
	}
	number, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0
	}
	return uint32(number)
}

func same(text string, expected []byte) bool {
	return text == string(expected)
}
