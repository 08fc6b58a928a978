package console_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/secret"
)

func TestSomebodySeesWhatWasSentAndRetriesNow(t *testing.T) {
	s := startWith(t, secret.Secret{})
	s.clinic()
	s.endpoint.answers(503, `{"error":"closed for <b>lunch</b>"}`)
	s.says("s1", "m1", "I want an appointment at desk B, please")
	id := s.fired("book-appointment")
	b := s.open(t)
	b.visit("/console/apps/clinic/triggers/" + id)
	b.until("the third attempt is next", `document.body.innerText.includes("Attempt 3 is next")`)
	b.reads(".timeline .exchange", "POST "+s.endpoint.URL+"/book/B", `"values":{"desk":"B"}`, "closed for <b>lunch</b>")
	b.reads(".timeline .wait", "No attempt begins after")
	b.accessible("trigger pending")
	s.endpoint.answers(200, `{"booked":"desk B"}`)
	b.click(".head button")
	b.reads("h1", "delivered")
	b.reads(".timeline", "Tried again")
	var record struct {
		Attempts []struct{ Effect string }
		Retries  []any
	}
	s.rest("GET", "/v1/apps/clinic/triggers/"+id, "", &record)
	require.Len(t, record.Retries, 1)
}

func TestSessionsAreFoundInTheConsole(t *testing.T) {
	s := startWith(t, secret.Secret{})
	s.clinic()
	s.rest("PUT", "/v1/apps/clinic/sessions/s2", `{"user":"ada"}`, nil)
	s.says("s1", "m1", "I want an appointment at desk B, please")
	s.says("s2", "m1", "What a lovely day it is")
	b := s.open(t)
	b.visit("/console/apps/clinic/sessions")
	b.until("the newest is first", `[...document.querySelectorAll(".sessions li")].map(l => l.dataset.session).join() === "s2,s1"`)
	b.reads(".sessions li:first-child", "nothing fired", "ada", "lovely")
	s.says("s1", "m2", "book me an appointment")
	b.until("it is live", `document.querySelector(".sessions li").dataset.session === "s1"`)
	b.fill("#text", "LOVELY")
	b.click(".search button")
	b.until("it is found", `[...document.querySelectorAll(".sessions li")].map(l => l.dataset.session).join() === "s2"`)
	b.visit("/console/apps/clinic/sessions?outcome=rejected")
	b.until("it is found by its outcome", `[...document.querySelectorAll(".sessions li")].map(l => l.dataset.session).join() === "s1"`)
	b.accessible("sessions found")
	b.visit("/console/apps/clinic/sessions?user=bob")
	b.reads("#found", "No session fits")
}
