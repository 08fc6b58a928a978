// Package locale validates languages and time zones by name. Zones are from the machine's IANA database, or from the
// embedded one where it has none.
package locale

import (
	"fmt"
	"path"
	"sync"
	"time"
	_ "time/tzdata" // for machines without a zone database, such as containers

	"golang.org/x/text/language"

	"earshot/repositories/fault"
)

// CheckLanguage returns an error if a text is not a language tag (BCP 47) such as de or de-AT. Empty is valid.
func CheckLanguage(tag string) error {
	if tag == "" {
		return nil
	}
	if _, err := language.Parse(tag); err != nil {
		return fmt.Errorf("%q is not the tag of a language, as de or de-AT", fault.Clip(tag))
	}
	return nil
}

// CheckZone returns an error if a text is not the name of a time zone, such as Europe/Berlin. Empty is valid.
func CheckZone(name string) error {
	if name == "" {
		return nil
	}
	if _, err := zone(name); err != nil || name == "Local" { // Local depends on the machine
		return fmt.Errorf("%q is not the name of a time zone, as Europe/Berlin", fault.Clip(name))
	}
	return nil
}

// Zone returns the time zone with a valid name, and other if it is empty.
func Zone(name string, other *time.Location) *time.Location {
	if name == "" {
		return other
	}
	found, err := zone(name)
	if err != nil {
		return other // removed in a later release of the database
	}
	return found
}

// zones caches time zones by name: reading one is expensive, and every message needs one. Unknown names are not
// cached, so that no client can fill it.
var zones sync.Map

func zone(name string) (*time.Location, error) {
	if known, hit := zones.Load(name); hit {
		return known.(*time.Location), nil
	}
	if path.Clean(name) != name { // one of any number of paths to the file of a zone, as Europe//Berlin
		return nil, fmt.Errorf("%q is not the name of a zone", name)
	}
	found, err := time.LoadLocation(name)
	if err == nil {
		zones.Store(name, found)
	}
	return found, err
}
