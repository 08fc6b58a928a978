package repositories

import (
	"fmt"
	"strings"
)

// The words of the lists, in the order in which an error names them.
var (
	kinds      = []kind{kindString, kindNumber, kindInteger, kindFloat, kindBoolean, kindObject, kindArray, kindMap}
	valueKinds = []kind{kindString, kindInteger, kindFloat, kindNumber, kindBoolean}
	escapes    = []string{EscapeSingleQuotes, EscapeDoubleQuotes, EscapeBackticks, EscapeSquareBrackets}
)

// words returns a list of a string type as strings.
func words[S ~string](list []S) []string {
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = string(list[i])
	}
	return texts
}

// listed writes a list for an error: "a, b or c".
func listed[S ~string](list []S) string {
	texts := words(list)
	if len(texts) < 2 {
		return strings.Join(texts, "")
	}
	last := len(texts) - 1
	return fmt.Sprintf("%s or %s", strings.Join(texts[:last], ", "), texts[last])
}
