// Package house holds the rules of this repository as tests: imports, sizes, names, injected time, comments. It has no code.
package house
