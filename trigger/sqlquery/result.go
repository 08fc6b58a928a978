package sqlquery

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"time"

	"earshot/repositories/exactjson"
)

// Limits of a result.
const (
	maxRows       = 1000
	maxBytes      = 256 << 10 // as JSON
	maxValueBytes = 16 << 20  // of a row, or of a SQLite value; it bounds memory, as results are cut long before
)

// result is a result set, written as a JSON array of objects whose end is missing. The columns
// keep their order.
type result struct {
	keys [][]byte // of the columns, as JSON
	text bytes.Buffer
	row  bytes.Buffer
	rows int
	cut  bool // there were more rows than are kept
}

// newResult begins a result. Columns of the same name are told apart by a number, as in
// id and id_2: of an object with the same name twice, readers keep one.
func newResult(columns []string) *result {
	r := &result{}
	taken := map[string]bool{}
	for _, column := range columns {
		name := column
		for n := 2; taken[name]; n++ {
			name = column + "_" + strconv.Itoa(n)
		}
		taken[name] = true
		r.keys = append(r.keys, text(name))
	}
	r.text.WriteByte('[')
	return r
}

// add adds a row of as many values as there are columns, and reports whether there was room
// for it.
func (r *result) add(value func(column int) json.RawMessage) bool {
	r.cut = r.cut || r.rows == maxRows
	r.row.Reset()
	r.row.WriteByte('{')
	for i := 0; i < len(r.keys) && !r.cut; i++ {
		if i > 0 {
			r.row.WriteByte(',')
		}
		r.row.Write(r.keys[i])
		r.row.WriteByte(':')
		r.row.Write(value(i))
		r.cut = r.text.Len()+r.row.Len() > maxBytes
	}
	r.row.WriteByte('}')
	if r.cut = r.cut || r.text.Len()+r.row.Len()+len(",]") > maxBytes; r.cut {
		return false
	}
	if r.rows > 0 {
		r.text.WriteByte(',')
	}
	r.text.Write(r.row.Bytes())
	r.rows++
	return true
}

var null = json.RawMessage("null")

// text writes a string as JSON.
func text(s string) json.RawMessage { return exactjson.EncodeOrNull(s) }

// base64Text writes bytes as JSON.
func base64Text(b []byte) json.RawMessage { return text(base64.StdEncoding.EncodeToString(b)) }

// number writes the digits of a number as they are; what JSON has no number for, such
// as NaN, is a string.
func number(digits string) json.RawMessage {
	if json.Valid([]byte(digits)) {
		return json.RawMessage(digits)
	}
	return text(digits)
}

// float writes a float of so many bits with the digits that tell it from all others.
func float(value float64, bits int) json.RawMessage {
	return number(strconv.FormatFloat(value, 'g', -1, bits))
}

// instant writes a time as RFC 3339 in UTC.
func instant(at time.Time) json.RawMessage { return text(at.UTC().Format(time.RFC3339Nano)) }

// compact writes a valid JSON text without the spaces between its parts.
func compact(valid string) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, []byte(valid)) != nil {
		return text(valid)
	}
	return b.Bytes()
}
