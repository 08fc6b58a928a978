package locale_test

import (
	"testing"
	"time"

	"earshot/repositories/locale"
)

func TestNamesAreChecked(t *testing.T) {
	for _, tag := range []string{"de", "de-AT", "zh-Hans", "pt_BR", ""} {
		if err := locale.CheckLanguage(tag); err != nil {
			t.Errorf("language %q: %v", tag, err)
		}
	}
	for _, tag := range []string{"deutsch please", "x", "de\n"} {
		if locale.CheckLanguage(tag) == nil {
			t.Errorf("language %q is taken", tag)
		}
	}
	for _, name := range []string{"Europe/Berlin", "UTC", "America/Argentina/Ushuaia", ""} {
		if err := locale.CheckZone(name); err != nil {
			t.Errorf("zone %q: %v", name, err)
		}
	}
	for _, name := range []string{"Local", "Berlin", "../../etc/passwd", "Europe/Atlantis", "Europe//Berlin", "Europe/./Berlin"} {
		if locale.CheckZone(name) == nil {
			t.Errorf("zone %q is taken", name)
		}
	}
}

func TestZoneIsThatOfItsNameElseTheOther(t *testing.T) {
	noon := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	if got := noon.In(locale.Zone("Europe/Berlin", time.UTC)).Format("15:04"); got != "14:00" {
		t.Errorf("noon UTC in Berlin is %s", got)
	}
	if got := locale.Zone("", time.UTC); got != time.UTC {
		t.Errorf("no name gives %s", got)
	}
}
