// Package house holds the rules of this repository as tests: what may import what,
// how long a function may be, that everything exported is documented. It has no code.
package house
