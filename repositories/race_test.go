//go:build race

package repositories_test

func init() { underRace = true }
