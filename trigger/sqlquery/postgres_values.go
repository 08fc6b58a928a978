package sqlquery

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"earshot/repositories/exactjson"
	"earshot/trigger/effect"
)

// postgresValues writes the values as texts, in the order of their numbers. The server
// reads each as the type that the statement needs there, and says so where it cannot.
// Values that the statement does not use are left out.
func postgresValues(s statement, types []uint32) ([][]byte, error) {
	if len(types) > len(s.values) {
		return nil, effect.Permanent(effect.ReasonRequest, "the statement binds $%d, and the tool has %d parameters", len(types), len(s.values))
	}
	values := make([][]byte, len(types))
	for i, oid := range types {
		if s.values[i] != nil {
			values[i] = []byte(postgresText(s.values[i], oid))
		}
	}
	return values, nil
}

func postgresText(value any, oid uint32) string {
	switch value := value.(type) {
	case string:
		return value
	case json.Number:
		return value.String()
	case bool:
		if value {
			return "true"
		}
		return "false"
	case []any:
		if oid == pgtype.JSONOID || oid == pgtype.JSONBOID {
			return string(exactjson.EncodeOrNull(value))
		}
		return arrayText(value, oid)
	default:
		return string(exactjson.EncodeOrNull(value))
	}
}

// arrayText writes the literal of an array (PostgreSQL documentation, section 8.15.2).
// Every element is quoted, so that none can be taken for the literal's own syntax.
func arrayText(list []any, oid uint32) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, member := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		switch inner := member.(type) {
		case nil:
			b.WriteString("NULL")
		case []any:
			b.WriteString(arrayText(inner, oid))
		default:
			b.WriteString(`"` + arrayEscaper.Replace(postgresText(member, oid)) + `"`)
		}
	}
	b.WriteByte('}')
	return b.String()
}

var arrayEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// arrays maps the array types that every server has to the types of their elements.
var arrays = map[uint32]uint32{
	pgtype.BoolArrayOID: pgtype.BoolOID, pgtype.Int2ArrayOID: pgtype.Int2OID, pgtype.Int4ArrayOID: pgtype.Int4OID,
	pgtype.Int8ArrayOID: pgtype.Int8OID, pgtype.Float4ArrayOID: pgtype.Float4OID, pgtype.Float8ArrayOID: pgtype.Float8OID,
	pgtype.NumericArrayOID: pgtype.NumericOID, pgtype.TextArrayOID: pgtype.TextOID, pgtype.VarcharArrayOID: pgtype.VarcharOID,
	pgtype.BPCharArrayOID: pgtype.BPCharOID, pgtype.NameArrayOID: pgtype.NameOID, pgtype.UUIDArrayOID: pgtype.UUIDOID,
	pgtype.ByteaArrayOID: pgtype.ByteaOID, pgtype.JSONArrayOID: pgtype.JSONOID, pgtype.JSONBArrayOID: pgtype.JSONBOID,
	pgtype.TimestampArrayOID: pgtype.TimestampOID, pgtype.TimestamptzArrayOID: pgtype.TimestamptzOID, pgtype.DateArrayOID: pgtype.DateOID,
	pgtype.TimeArrayOID: pgtype.TimeOID, pgtype.IntervalArrayOID: pgtype.IntervalOID, pgtype.InetArrayOID: pgtype.InetOID,
	pgtype.CIDRArrayOID: pgtype.CIDROID, pgtype.OIDArrayOID: pgtype.OIDOID,
}

// postgresValue writes a value of the server as JSON. A type that JSON does not have is the
// text that PostgreSQL writes for it; so is one of an extension.
func postgresValue(raw []byte, oid uint32) json.RawMessage {
	if raw == nil {
		return null
	}
	given := string(raw)
	if element, is := arrays[oid]; is {
		if list, ok := readArray(given, element); ok {
			return list
		}
		return text(given)
	}
	switch oid {
	case pgtype.BoolOID:
		if given == "t" {
			return json.RawMessage("true")
		}
		return json.RawMessage("false")
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.OIDOID, pgtype.Float4OID, pgtype.Float8OID, pgtype.NumericOID:
		return number(given)
	case pgtype.JSONOID, pgtype.JSONBOID:
		return compact(given)
	case pgtype.ByteaOID:
		return bytesText(given)
	case pgtype.TimestamptzOID, pgtype.TimestampOID:
		return timeText(given)
	default:
		return text(given)
	}
}

// bytesText writes bytes, which the server has in hexadecimal, in base64.
func bytesText(given string) json.RawMessage {
	decoded, err := hex.DecodeString(strings.TrimPrefix(given, `\x`))
	if err != nil || !strings.HasPrefix(given, `\x`) {
		return text(given)
	}
	return text(base64.StdEncoding.EncodeToString(decoded))
}

// timeLayouts are the layouts of DateStyle ISO, with all forms of zones.
var timeLayouts = []string{"2006-01-02 15:04:05.999999999Z07", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999Z07:00:00", "2006-01-02 15:04:05.999999999"}

// timeText writes a time as RFC 3339 in UTC; one without a zone is taken as UTC. What
// RFC 3339 cannot say, infinity and years before Christ, stays as it is.
func timeText(given string) json.RawMessage {
	for _, layout := range timeLayouts {
		if at, err := time.Parse(layout, given); err == nil {
			return instant(at, false)
		}
	}
	return text(given)
}

// readArray writes the text of an array as a JSON array of its elements, nested as it
// is. It reports false for a text that it does not understand.
func readArray(given string, element uint32) (json.RawMessage, bool) {
	if at := strings.IndexByte(given, '='); strings.HasPrefix(given, "[") && at > 0 {
		given = given[at+1:] // [2:3]={…}: JSON has no lower bounds
	}
	r := &arrayReader{rest: given, element: element}
	if !r.list(0) || r.rest != "" {
		return nil, false
	}
	return r.text.Bytes(), true
}

type arrayReader struct {
	rest    string
	element uint32
	text    bytes.Buffer
}

// maxDimensions is PostgreSQL's own limit (MAXDIM).
const maxDimensions = 6

func (r *arrayReader) list(depth int) bool {
	if depth >= maxDimensions || !r.take('{') {
		return false
	}
	r.text.WriteByte('[')
	for first := true; !r.take('}'); first = false {
		if !first {
			if !r.take(',') {
				return false
			}
			r.text.WriteByte(',')
		}
		if !r.member(depth) {
			return false
		}
	}
	r.text.WriteByte(']')
	return true
}

func (r *arrayReader) take(sign byte) bool {
	if r.rest == "" || r.rest[0] != sign {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

func (r *arrayReader) member(depth int) bool {
	if strings.HasPrefix(r.rest, "{") {
		return r.list(depth + 1)
	}
	if r.take('"') {
		return r.quoted()
	}
	end := strings.IndexAny(r.rest, ",}")
	if end <= 0 {
		return false
	}
	word := r.rest[:end]
	r.rest = r.rest[end:]
	if word == "NULL" {
		r.text.Write(null)
		return true
	}
	r.text.Write(postgresValue([]byte(word), r.element))
	return true
}

func (r *arrayReader) quoted() bool {
	var b strings.Builder
	for i := 0; i < len(r.rest); i++ {
		switch c := r.rest[i]; {
		case c == '\\' && i+1 < len(r.rest):
			i++
			b.WriteByte(r.rest[i])
		case c == '"':
			r.rest = r.rest[i+1:]
			r.text.Write(postgresValue([]byte(b.String()), r.element))
			return true
		default:
			b.WriteByte(c)
		}
	}
	return false
}
