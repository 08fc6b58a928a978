package repositories

// The words of the lists, in the order in which an error names them.
var (
	kinds      = []kind{kindString, kindNumber, kindInteger, kindFloat, kindBoolean, kindObject, kindArray, kindMap}
	valueKinds = []kind{kindString, kindInteger, kindFloat, kindNumber, kindBoolean}
	escapes    = []string{EscapeSingleQuotes, EscapeDoubleQuotes, EscapeBackticks, EscapeSquareBrackets}
)
