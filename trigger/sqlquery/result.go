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
	maxValueBytes = 16 << 20  // of a row, or of a SQLite value; bounds memory, as results are cut far below
)

// result is a result set, written as a JSON array of objects without its end. The columns keep their order.
type result struct {
	keys [][]byte // of the columns, as JSON
	text bytes.Buffer
	row  bytes.Buffer
	rows int
	cut  bool // further rows were dropped
}

// newResult begins a result. Numbers distinguish columns of the same name, as in id and id_2, since readers
// keep only one of two equal names.
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

// add adds a row with a value per column, and reports whether it fitted.
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

func text(s string) json.RawMessage { return exactjson.EncodeOrNull(s) }

func base64Text(b []byte) json.RawMessage { return text(base64.StdEncoding.EncodeToString(b)) }

// number returns the digits of a number unchanged; a number that JSON lacks, such as NaN, becomes a string.
func number(digits string) json.RawMessage {
	if json.Valid([]byte(digits)) {
		return json.RawMessage(digits)
	}
	return text(digits)
}

// float returns a float of so many bits with the fewest digits that identify it.
func float(value float64, bits int) json.RawMessage {
	return number(strconv.FormatFloat(value, 'g', -1, bits))
}

// instant returns a time as RFC 3339 in UTC.
func instant(at time.Time) json.RawMessage { return text(at.UTC().Format(time.RFC3339Nano)) }

// compact returns JSON without insignificant spaces, and another text as a string.
func compact(given string) json.RawMessage {
	var b bytes.Buffer
	if !exactjson.Embeddable([]byte(given)) || json.Compact(&b, []byte(given)) != nil {
		return text(given)
	}
	return b.Bytes()
}
