package main

import (
	"fmt"
	"strings"

	"earshot/emitter"
)

// checkSubject refuses a subject that no event of the stream can have: whoever listens
// to it would wait for ever.
func checkSubject(subject string) error {
	for _, taken := range emitter.Subjects() {
		if overlap(strings.Split(subject, "."), strings.Split(taken, ".")) {
			return nil
		}
	}
	return fmt.Errorf("no event has the subject %q; events have these: %s", subject, strings.Join(emitter.Subjects(), ", "))
}

// overlap reports whether any subject is of both patterns.
func overlap(a, b []string) bool {
	for i := 0; i < len(a) && i < len(b); i++ {
		switch {
		case a[i] == ">" || b[i] == ">":
			return true
		case a[i] == "" || strings.ContainsAny(a[i], " \t"):
			return false
		case a[i] != b[i] && a[i] != "*" && b[i] != "*":
			return false
		}
	}
	return len(a) == len(b)
}
