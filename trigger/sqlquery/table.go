package sqlquery

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"earshot/repositories/exactjson"
)

// Limits of a result.
const (
	// maxRows is how many rows are kept of a result.
	maxRows = 1000
	// maxBytes is how long a result may be as JSON.
	maxBytes = 256 << 10
)

// table is a result set, written as a JSON array of objects. The columns keep their order.
type table struct {
	keys [][]byte // of the columns, as JSON
	text bytes.Buffer
	row  bytes.Buffer
	rows int
	// cut says that there were more rows than are kept.
	cut bool
}

// newTable begins a result. Columns of the same name are told apart by a number, as in
// id and id_2: of an object with the same name twice, readers keep one.
func newTable(columns []string) *table {
	t := &table{}
	taken := map[string]bool{}
	for _, column := range columns {
		name := column
		for n := 2; taken[name]; n++ {
			name = column + "_" + strconv.Itoa(n)
		}
		taken[name] = true
		t.keys = append(t.keys, text(name))
	}
	t.text.WriteByte('[')
	return t
}

// add adds a row of as many values as there are columns, and reports whether there is
// room for another one.
func (t *table) add(value func(column int) json.RawMessage) bool {
	if t.cut || t.rows == maxRows {
		t.cut = true
		return false
	}
	t.row.Reset()
	t.row.WriteByte('{')
	for i, key := range t.keys {
		if i > 0 {
			t.row.WriteByte(',')
		}
		t.row.Write(key)
		t.row.WriteByte(':')
		t.row.Write(value(i))
		if t.text.Len()+t.row.Len() > maxBytes {
			t.cut = true
			return false
		}
	}
	t.row.WriteByte('}')
	if t.text.Len()+t.row.Len()+len(",]") > maxBytes {
		t.cut = true
		return false
	}
	if t.rows > 0 {
		t.text.WriteByte(',')
	}
	t.text.Write(t.row.Bytes())
	t.rows++
	return true
}

func (t *table) json() json.RawMessage {
	return append(bytes.Clone(t.text.Bytes()), ']')
}

var null = json.RawMessage("null")

// text writes a string as JSON.
func text(s string) json.RawMessage { return exactjson.EncodeOrNull(s) }

// number writes the digits of a number as they are; what JSON has no number for, such
// as NaN, is a string.
func number(digits string) json.RawMessage {
	if json.Valid([]byte(digits)) {
		return json.RawMessage(digits)
	}
	return text(digits)
}

// instant writes a time as RFC 3339 in UTC, a date as its full-date.
func instant(at time.Time, date bool) json.RawMessage {
	if date {
		return text(at.Format(time.DateOnly))
	}
	return text(at.UTC().Format(time.RFC3339Nano))
}

// compact writes a valid JSON text without the spaces between its parts.
func compact(valid string) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, []byte(valid)) != nil {
		return text(valid)
	}
	return b.Bytes()
}
