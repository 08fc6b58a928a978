package trigger

import "earshot/repositories/exactjson"

// decode reads what this package has encoded. Numbers keep their digits: a value of
// 9007199254740993 must not pass through a float.
func decode(text string, into any) error {
	return exactjson.Unmarshal([]byte(text), into)
}
