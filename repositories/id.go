package repositories

import (
	"fmt"
	"regexp"

	"earshot/repositories/fault"
)

var (
	idPattern   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)
	namePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
)

// CheckID returns an error that names field where id is not the id of an app, a
// session, a repository, a module or a trigger. An id is also a subject token of
// NATS and part of a key of Redis, hence the narrow alphabet.
func CheckID(field, id string) error {
	if idPattern.MatchString(id) {
		return nil
	}
	return fmt.Errorf("%s %q is not an id: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit", field, fault.Clip(id))
}

// CheckToolName returns an error where name cannot name a tool.
func CheckToolName(name string) error {
	if namePattern.MatchString(name) {
		return nil
	}
	return fmt.Errorf("name %q is no tool name: 1 to 64 of A-Z a-z 0-9 _ -", fault.Clip(name))
}
