// Package locale knows languages and time zones by their names, as definitions, sessions
// and messages give them. Zones are those of the IANA database, which the program brings
// along, so that they are the same on every machine.
package locale

import (
	"fmt"
	"sync"
	"time"
	_ "time/tzdata" // machines without a database of zones, as containers are

	"golang.org/x/text/language"

	"earshot/repositories/fault"
)

// CheckLanguage returns an error if a text is not the tag of a language (BCP 47), as de or
// de-AT. An empty one names none.
func CheckLanguage(tag string) error {
	if tag == "" {
		return nil
	}
	if _, err := language.Parse(tag); err != nil {
		return fmt.Errorf("%q is not the tag of a language, as de or de-AT", fault.Clip(tag))
	}
	return nil
}

// CheckZone returns an error if a text is not the name of a time zone, as Europe/Berlin.
// An empty one names none.
func CheckZone(name string) error {
	_, err := zone(name)
	if err != nil || name == "Local" { // which is that of the machine
		return fmt.Errorf("%q is not the name of a time zone, as Europe/Berlin", fault.Clip(name))
	}
	return nil
}

// Zone returns the time zone of a name that was checked, and other if it is empty.
func Zone(name string, other *time.Location) *time.Location {
	if name == "" {
		return other
	}
	found, err := zone(name)
	if err != nil {
		return other // a release of the database has dropped it
	}
	return found
}

// zones caches the zones by name: each is read out of a file, and needed for every message. Unknown
// names are not cached, so that no client can fill it.
var zones sync.Map

func zone(name string) (*time.Location, error) {
	if known, hit := zones.Load(name); hit {
		return known.(*time.Location), nil
	}
	found, err := time.LoadLocation(name)
	if err == nil {
		zones.Store(name, found)
	}
	return found, err
}
