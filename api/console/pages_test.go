package console_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/secret"
)

// maxWeight is what a page may weigh with its files, in bytes over the wire.
const maxWeight = 60_000

func TestEveryPageIsForEverybody(t *testing.T) {
	s := start(t)
	s.clinic()
	s.endpoint.answers(404, `{"error":"no such desk"}`)
	s.says("s1", "m1", "Good morning, I want an appointment for 2 people at desk B")
	s.says("s1", "m2", "When are you open?")
	s.says("s1", "m3", "What a lovely day it is")
	s.says("s1", "m4", "book me an appointment")
	b := s.open(t)
	b.visit("/console")
	b.reads("h1", "Sign in")
	b.accessible("sign-in")
	b.signIn(adminKey, "/console/apps")
	for _, one := range []struct{ name, path, ready string }{
		{"apps", "/console/apps", "My clinic"},
		{"now", "/console/apps/clinic", "lovely"},
		{"playground", "/console/apps/clinic/playground?session=s1", "lovely"},
		{"playground new", "/console/apps/clinic/playground?session=s2", "Nothing was said"},
		{"no app", "/console/apps/nobody", "nobody"},
		{"no page", "/console/nowhere", "Nothing is here"},
	} {
		t.Run(one.name, func(t *testing.T) {
			b.t = t
			b.visit(one.path)
			b.reads("body", one.ready)
			b.mu.Lock()
			weight := b.bytes
			b.mu.Unlock()
			require.Less(t, weight, int64(maxWeight), "bytes of the page with its files")
			b.accessible(one.name)
		})
	}
	b.t = t
}

func TestMarkupOfUsersIsShownAndNotRun(t *testing.T) {
	s := startWith(t, secret.Secret{})
	const evil = `<img src=x onerror=alert(1)><script>alert(2)</script>"'><svg/onload=alert(3)>`
	quoted, err := json.Marshal(evil)
	require.NoError(t, err)
	s.rest("PUT", "/v1/apps/clinic", `{"name":`+string(quoted)+`}`, nil)
	s.rest("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"note","description":`+string(quoted)+`,
		"schema":[{"parameter":"<b>what</b>","type":"string","description":`+string(quoted)+`}],"url":"`+s.endpoint.URL+`","examples":[`+string(quoted)+`]}]}`, nil)
	s.endpoint.answers(200, `{"said":`+string(quoted)+`}`)
	s.rest("POST", "/v1/apps/clinic/sessions/s1/messages", `{"actor":"user","messageId":"m1","text":`+string(quoted)+`}`, nil)
	s.rest("POST", "/v1/apps/clinic/sessions/s1/triggers", `{"name":"note","source":"ui","values":{"<b>what</b>":`+string(quoted)+`}}`, nil)
	b := s.open(t)
	for _, path := range []string{"/console/apps", "/console/apps/clinic", "/console/apps/clinic/playground?session=s1"} {
		b.visit(path)
		b.reads("main", "onerror=alert(1)")
		require.Zero(t, evaluated[int](b, "document.querySelectorAll('main img, main script, main b b').length"), path)
	}
}

func TestSomebodyTriesATool(t *testing.T) {
	s := startWith(t, secret.Secret{})
	s.clinic()
	b := s.open(t)
	b.visit("/console")
	b.click(".cards a")
	b.until("the key g p leads to the playground", `location.pathname.endsWith("/playground") || (document.body.dispatchEvent(
		new KeyboardEvent("keydown", {key: "g", bubbles: true})), document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "p", bubbles: true})), false)`)
	b.click("[data-fill]")
	b.reads("#talk ~ form, #chat", "Nothing was said")
	b.click(".say button")
	b.reads("#chat .rejected", "book-appointment", "desk is required")
	b.reads("#feed .rejected", "desk is required")
	b.until("the field is empty", `document.querySelector("#text").value === ""`)
	b.fill("#text", "I want an appointment at desk C")
	b.click(".say button")
	b.reads("#chat .fired", "book-appointment", "delivered")
	b.reads("#feed .done", "answered")
	require.Equal(t, 2, evaluated[int](b, "document.querySelectorAll('#chat .turn').length"))
}

func TestThemeIsChosenAndKept(t *testing.T) {
	s := startWith(t, secret.Secret{})
	b := s.open(t)
	b.prefers("light")
	b.visit("/console/apps")
	ground := "getComputedStyle(document.documentElement).backgroundColor"
	light := evaluated[string](b, ground)
	b.click("[data-theme-switch] button")
	b.until("it is dark", ground+" !== "+strconv.Quote(light))
	b.until("the choice is kept", `fetch("/console/apps").then(a => a.text()).then(t => window.kept = t.includes('data-theme="dark"')) && window.kept`)
	b.visit("/console/apps")
	require.NotEqual(t, light, evaluated[string](b, ground))
}
