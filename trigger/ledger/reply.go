package ledger

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"earshot/repositories/keyspace"
)

// scriptReply is what a script has returned: a status, then names and values by turns.
type scriptReply struct {
	status string
	values values
}

// values are what a script returns by name: texts, numbers as texts, or lists of texts.
type values map[string]any

func readReply(raw any) scriptReply {
	fields, _ := raw.([]any)
	if len(fields) == 0 {
		return scriptReply{}
	}
	status, _ := fields[0].(string)
	return scriptReply{status: status, values: readValues(fields[1:])}
}

func readValues(fields []any) values {
	read := values{}
	for i := 0; i+1 < len(fields); i += 2 {
		name, _ := fields[i].(string)
		read[name] = fields[i+1]
	}
	return read
}

func (v values) text(name string) string {
	text, _ := v[name].(string)
	return text
}

func (v values) texts(name string) []string {
	list, _ := v[name].([]any)
	return keyspace.Fields(list)
}

func (v values) number(name string) int { return number(v.text(name)) }

func (v values) duration(name string) time.Duration { return duration(v.text(name)) }

func number(text string) int {
	n, _ := strconv.Atoi(text) // written by our scripts
	return n
}

// duration reads a number of milliseconds, which Lua may write with a fraction of zero.
func duration(text string) time.Duration {
	n, _ := json.Number(strings.TrimSuffix(text, ".0")).Int64()
	return time.Duration(n) * time.Millisecond
}
