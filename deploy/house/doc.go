// Package house holds the rules of this repository as tests: what may import what, how
// large functions, files and packages may be, which names there may be, that time is
// injected and everything exported documented. It has no code.
package house
