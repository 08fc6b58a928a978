package trigger

import (
	"encoding/json"
	"strings"
)

// decode reads what this package has encoded. Numbers keep their digits: a value of
// 9007199254740993 must not pass through a float.
func decode(text string, into any) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(into)
}
