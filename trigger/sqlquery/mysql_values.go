package sqlquery

import (
	"database/sql/driver"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"earshot/repositories/exactjson"
)

// mysqlArguments are the values in the types that the driver sends: whole numbers as such,
// all others as their digits, since a float would lose some.
func mysqlArguments(values []any) []driver.NamedValue {
	arguments := make([]driver.NamedValue, len(values))
	for i, value := range values {
		arguments[i] = driver.NamedValue{Ordinal: i + 1, Value: mysqlArgument(value)}
	}
	return arguments
}

func mysqlArgument(value any) driver.Value {
	switch value := value.(type) {
	case json.Number:
		digits := value.String()
		if whole, err := strconv.ParseInt(digits, 10, 64); err == nil {
			return whole
		}
		if whole, err := strconv.ParseUint(digits, 10, 64); err == nil {
			return whole
		}
		return digits
	case []any, map[string]any:
		return string(exactjson.EncodeOrNull(value)) // as its JSON functions read them
	default:
		return value
	}
}

// typeJSON is the type of a column that holds JSON.
const typeJSON = "JSON"

// mysqlValue writes a value of a column's type as JSON. zone is that of the session.
func mysqlValue(value driver.Value, of string, zone *time.Location) json.RawMessage {
	switch value := value.(type) {
	case nil:
		return null
	case int64:
		return json.RawMessage(strconv.FormatInt(value, 10))
	case float32:
		return number(strconv.FormatFloat(float64(value), 'g', -1, 32))
	case float64:
		return number(strconv.FormatFloat(value, 'g', -1, 64))
	default:
		return mysqlText(textOfMySQL(value), of, zone)
	}
}

// mysqlText writes what the driver has as text or bytes.
func mysqlText(given, of string, zone *time.Location) json.RawMessage {
	switch {
	case of == "DECIMAL", of == "YEAR", strings.HasSuffix(of, "INT"), of == "FLOAT", of == "DOUBLE":
		return number(given)
	case of == typeJSON && json.Valid([]byte(given)):
		return compact(given)
	case of == "BIT":
		return bits(given)
	case of == "DATETIME":
		return mysqlTime(given, time.UTC)
	case of == "TIMESTAMP":
		return mysqlTime(given, zone)
	case strings.HasSuffix(of, "BLOB"), strings.HasSuffix(of, "BINARY"), of == "GEOMETRY", of == "VECTOR":
		return text(base64.StdEncoding.EncodeToString([]byte(given)))
	default:
		return text(given)
	}
}

// bits writes the bytes of a BIT column, at most eight, as a number.
func bits(given string) json.RawMessage {
	var n uint64
	for i := range len(given) {
		n = n<<8 | uint64(given[i])
	}
	return json.RawMessage(strconv.FormatUint(n, 10))
}

// mysqlTime writes a time of a zone as RFC 3339 in UTC. What has no such time, 0000-00-00 or
// one of a zone that is not known here, stays as it is.
func mysqlTime(given string, zone *time.Location) json.RawMessage {
	if zone == nil {
		return text(given)
	}
	at, err := time.ParseInLocation("2006-01-02 15:04:05.999999999", given, zone)
	if err != nil {
		return text(given)
	}
	return instant(at, false)
}
