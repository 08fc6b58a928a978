package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"
)

// head is the first line of a file: when, and beside which endpoints, its data was written.
type head struct {
	At   int64  `json:"at"` // ms
	Sink string `json:"sink"`
	Key  string `json:"key"` // of the app; good nowhere else
}

// entry is a key with what it holds. A text that is no UTF-8 is in base64, behind that word.
type entry struct {
	Key  string            `json:"key"`
	Ends int64             `json:"ends,omitempty"` // ms from head.At; 0: it does not expire
	Text *string           `json:"text,omitempty"`
	List []string          `json:"list,omitempty"`
	Hash map[string]string `json:"hash,omitempty"`
	Set  []member          `json:"set,omitempty"`
}

type member struct {
	Name  string  `json:"name"`
	Score float64 `json:"score"`
}

func write(ctx context.Context, from *redis.Client, h head, to string) error {
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(h); err != nil {
		return err
	}
	keys, err := from.Keys(ctx, "*").Result()
	if err != nil {
		return err
	}
	slices.Sort(keys)
	for _, key := range keys {
		found, err := read(ctx, from, key)
		if err != nil {
			return fmt.Errorf("read %s: %w", key, err)
		}
		if err := lines.Encode(found); err != nil {
			return err
		}
	}
	return out.Close()
}

func read(ctx context.Context, from *redis.Client, key string) (entry, error) {
	e := entry{Key: key, Ends: max(0, from.PTTL(ctx, key).Val().Milliseconds())}
	switch kind := from.Type(ctx, key).Val(); kind {
	case "string":
		text, err := from.Get(ctx, key).Result()
		text = printable(text)
		e.Text = &text
		return e, err
	case "list":
		items, err := from.LRange(ctx, key, 0, -1).Result()
		for _, item := range items {
			e.List = append(e.List, printable(item))
		}
		return e, err
	case "hash":
		fields, err := from.HGetAll(ctx, key).Result()
		for name, value := range fields {
			fields[name] = printable(value)
		}
		e.Hash = fields
		return e, err
	case "zset":
		members, err := from.ZRangeWithScores(ctx, key, 0, -1).Result()
		for _, one := range members {
			e.Set = append(e.Set, member{one.Member.(string), one.Score})
		}
		return e, err
	default:
		return e, fmt.Errorf("it is a %s", kind)
	}
}

// load writes a file into a Redis as if it had been recorded just now.
func load(ctx context.Context, to *redis.Client, from string) (h head, err error) {
	file, err := os.Open(from)
	if err != nil {
		return h, err
	}
	defer file.Close()
	lines := json.NewDecoder(file)
	if err := lines.Decode(&h); err != nil {
		return h, err
	}
	if to == nil { // the first line is wanted alone
		return h, nil
	}
	m := moved{at: h.At, by: time.Now().UnixMilli() - h.At}
	for lines.More() {
		var e entry
		if err := lines.Decode(&e); err != nil {
			return h, err
		}
		if err := m.put(ctx, to, e); err != nil {
			return h, fmt.Errorf("put %s: %w", e.Key, err)
		}
	}
	return h, nil
}

func (m moved) put(ctx context.Context, to *redis.Client, e entry) error {
	pipe := to.Pipeline()
	if e.Text != nil {
		pipe.Set(ctx, e.Key, m.text(*e.Text), 0)
	}
	for _, item := range e.List {
		pipe.RPush(ctx, e.Key, m.text(item))
	}
	for name, value := range e.Hash {
		pipe.HSet(ctx, e.Key, name, m.text(value))
	}
	for _, one := range e.Set {
		pipe.ZAdd(ctx, e.Key, redis.Z{Score: m.score(one.Score), Member: one.Name})
	}
	if e.Ends > 0 {
		pipe.PExpire(ctx, e.Key, time.Duration(e.Ends)*time.Millisecond)
	}
	_, err := pipe.Exec(ctx)
	return err
}

const inBase64 = "base64:"

func printable(text string) string {
	if utf8.ValidString(text) && !strings.HasPrefix(text, inBase64) {
		return text
	}
	return inBase64 + base64.StdEncoding.EncodeToString([]byte(text))
}

type moved struct {
	at int64 // when it was written, ms
	by int64 // ms
}

// times are numbers that may be milliseconds or microseconds since 1970.
var times = regexp.MustCompile(`\b\d{13}(\d{3})?\b`)

func (m moved) text(text string) string {
	if packed, is := strings.CutPrefix(text, inBase64); is {
		raw, _ := base64.StdEncoding.DecodeString(packed) // it was made by printable
		return string(raw)
	}
	return times.ReplaceAllStringFunc(text, func(digits string) string {
		number, _ := strconv.ParseFloat(digits, 64) // it is digits
		return strconv.FormatFloat(m.score(number), 'f', -1, 64)
	})
}

// near bounds how far a number may be from the recording to count as a time; data is kept for 30 days at most.
const near = 100 * 24 * time.Hour

func (m moved) score(number float64) float64 {
	for _, unit := range []float64{1, 1000} { // of milliseconds
		if math.Abs(number/unit-float64(m.at)) < float64(near.Milliseconds()) {
			return number + float64(m.by)*unit
		}
	}
	return number
}
