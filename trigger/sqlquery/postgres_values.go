package sqlquery

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strconv"
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
		return strconv.FormatBool(value)
	case []any:
		if oid != pgtype.JSONOID && oid != pgtype.JSONBOID {
			return arrayText(value, oid)
		}
	}
	return string(exactjson.EncodeOrNull(value))
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
		return json.RawMessage(strconv.FormatBool(given == "t"))
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.OIDOID, pgtype.Float4OID, pgtype.Float8OID, pgtype.NumericOID:
		return number(given)
	case pgtype.JSONOID, pgtype.JSONBOID:
		return compact(given)
	case pgtype.ByteaOID: // the server writes it in hexadecimal
		if digits, is := strings.CutPrefix(given, `\x`); is {
			if decoded, err := hex.DecodeString(digits); err == nil {
				return base64Text(decoded)
			}
		}
	case pgtype.TimestamptzOID, pgtype.TimestampOID:
		for _, layout := range timeLayouts {
			if at, err := time.Parse(layout, given); err == nil {
				return instant(at)
			}
		}
	}
	return text(given)
}

// timeLayouts are the layouts of DateStyle ISO, with all forms of zones; a time without a
// zone is taken as UTC. What RFC 3339 cannot say, infinity and years before Christ, has none.
var timeLayouts = []string{
	"2006-01-02 15:04:05.999999999Z07", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999Z07:00:00", "2006-01-02 15:04:05.999999999",
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

// member reads an inner list, a quoted element, or one without quotes.
func (r *arrayReader) member(depth int) bool {
	if strings.HasPrefix(r.rest, "{") {
		return r.list(depth + 1)
	}
	if !r.take('"') {
		end := strings.IndexAny(r.rest, ",}")
		if end <= 0 {
			return false
		}
		word := []byte(r.rest[:end])
		if string(word) == "NULL" {
			word = nil
		}
		r.text.Write(postgresValue(word, r.element))
		r.rest = r.rest[end:]
		return true
	}
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
