package console_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// silent is a service in which a sentence fired nothing, with a similar one and its test.
func silent(t *testing.T) *service {
	s := keyless(t)
	s.says("s1", "m1", "could you squeeze me in at desk B")
	s.says("s2", "m2", "could you squeeze me in at desk C please")
	s.says("s3", "m3", "What a lovely day it is")
	s.rest("PUT", "/v1/apps/clinic/tests/squeezed", `{"chat":[{"user":"could you squeeze me in at desk C"},{"expect":{"tool":"book-appointment","values":{"desk":"C"}}}]}`, nil)
	return s
}

// selected selects words of the example with the mouse.
func (b *tab) selected(words string) {
	b.t.Helper()
	b.until("there is "+words, `document.querySelector("#example")?.value.includes("`+words+`")`)
	b.until("they are selected", `(() => { const e = document.querySelector("#example"), at = e.value.indexOf("`+words+`"); e.focus(); e.setSelectionRange(at, at + `+"`"+words+"`"+`.length); return true })()`)
}

func TestASentenceThatFellSilentIsMendedInThreeClicks(t *testing.T) {
	s := silent(t)
	b := s.open(t)
	b.visit("/console/apps/clinic/sessions/s1?message=m1#why")
	b.reads(".verdict", "Nothing fired")
	b.reads(".why-panel", "The words were compared with the names, descriptions and examples of 2 tools", "What to do:")
	began, clicks := time.Now(), 0
	click := func(selector string) {
		clicks++
		b.click(selector)
	}
	click(`[aria-label="This should have fired: book-appointment"]`)
	b.reads("#rehearsal", "messages", "Of 1 test")
	b.selected("B")
	click(`[data-mark="desk"]`)
	b.until("it is marked", `document.querySelector("#example").value === "could you squeeze me in at desk [B](desk)"`)
	b.reads("#rehearsal", "Of the last 3 messages 2 would come out otherwise.", "desk C please", "Of 1 test 1 would pass; 0 pass now.")
	b.until("nothing is saved", `document.querySelectorAll("[aria-busy]").length === 0`)
	require.Len(t, s.examples("book-appointment"), 3)
	click(`.mend button.main`)
	b.reads("[role=status]", "saved as an example of book-appointment")
	t.Logf("%d clicks, %.1f seconds", clicks, time.Since(began).Seconds())
	require.Equal(t, 3, clicks)
	require.Contains(t, s.examples("book-appointment"), "could you squeeze me in at desk [B](desk)")
	s.says("s4", "m4", "could you squeeze me in at desk C")
	require.NotEmpty(t, s.fired("book-appointment"))
}

// examples returns the stored examples of a tool in the repository desk.
func (s *service) examples(tool string) []string {
	s.t.Helper()
	var found struct {
		Tools []struct {
			Name     string
			Examples []string
		}
	}
	s.rest("GET", "/v1/apps/clinic/repositories/desk", "", &found)
	for _, one := range found.Tools {
		if one.Name == tool {
			return one.Examples
		}
	}
	return nil
}

func TestASentenceIsMendedWithoutAScript(t *testing.T) {
	s := silent(t)
	at := "/console/apps/clinic/sessions/s1/messages/m1/mend"
	page := s.form(t, at, "of=desk/book-appointment&do=rehearse&example=could+you+squeeze+me+in+at+desk+[B](desk)")
	require.Contains(t, page, "2 would come out otherwise")
	require.Len(t, s.examples("book-appointment"), 3)
	page = s.form(t, at, "of=desk/book-appointment&do=save&example=could+you+squeeze+me+in+at+desk+[B](desk)")
	require.Contains(t, page, "saved as an example of book-appointment")
	require.Equal(t, []string{"could you squeeze me in at desk [B](desk)"}, s.examples("book-appointment")[3:])
	page = s.form(t, at, "of=desk/gone&do=save&example=x")
	require.Contains(t, page, "has no tool of this name any more")
}

func TestTestsAreKeptAndRunAndAMessageBecomesOne(t *testing.T) {
	s := silent(t)
	b := s.open(t)
	b.visit("/console/apps/clinic/sessions/s3?message=m3#why")
	b.click(`form[action$="/test"] button`)
	b.until("the conversation is there", `document.querySelector("#text").value.includes('"none": true')`)
	b.click(`.panel button.main`)
	b.reads("[role=status]", "saved: What a lovely day it is")
	b.click(".run button.main")
	b.reads("#run", "the words", "1 of 2", "squeezed", "fired nothing")
	s.rest("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[]}`, nil)
	b.fill("#version", "1")
	b.fill("#repository", "desk")
	b.click(".run button.main")
	b.reads("#run", "the words")
	b.fill("#name", "at fault")
	b.fill("#text", `{"chat": [{"user": "hi"}, {"expect": {"toool": "x"}}]}`)
	b.click(`.panel button.main`)
	b.reads("#faults", "toool", "Nothing was saved")
	b.visit("/console/apps/clinic/tests")
	b.click("details.test summary")
	b.click(`details.test button.bad`)
	b.until("one is left", `document.querySelectorAll("details.test").length === 1`)
}

func TestAVersionIsComparedAndRestored(t *testing.T) {
	s := silent(t)
	s.rest("PATCH", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"opening-hours","description":"Say when the clinic is open"}]}`, nil)
	b := s.open(t)
	b.visit("/console/apps/clinic/tools/desk")
	b.click(`a[href$="/versions/desk"]`)
	b.reads(".line.added", "Say when the clinic is open")
	b.reads(".line.taken", "Tell when the clinic is open")
	b.reads(".versions", "Version 1", "created", "by admin")
	b.click(`.versions a[href="?version=1"]`)
	b.reads("h2", "What version 1 changed")
	b.click(".split button.main")
	b.reads("[role=status]", "version 1 is restored")
	b.reads(".versions", "restored from 1")
	require.Len(t, s.examples("opening-hours"), 2)
}
