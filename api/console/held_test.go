package console_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const shopBody = `{"tools":[
	{"name":"refund","description":"Refund an order","confirm":"always","examples":["refund my order"]},
	{"name":"lamp","description":"Turn the lamp on","settle":"60s","examples":["turn the lamp on"]},
	{"name":"order","description":"Order the usual","dedupe":{"within":"10m"},"examples":["order the usual"]}]}`

func TestSomebodyConfirmsARefundWithAClick(t *testing.T) {
	s := keyless(t)
	s.rest("PUT", "/v1/apps/clinic/repositories/shop", shopBody, nil)
	s.says("s1", "m1", "refund my order")
	s.says("s1", "m2", "turn the lamp on")
	s.says("s1", "m3", "order the usual")
	s.says("s1", "m4", "order the usual")
	b := s.open(t)
	b.visit("/console/apps/clinic/sessions/s1?message=m1")
	b.reads(".came .confirming", "asks", "refund", "Shall I go ahead?")
	b.reads(".came .pending", "settles", "lamp")
	b.reads(".came .duplicate", "did not fire", "of another")
	b.accessible("session held")
	b.click(".confirming button.main")
	b.until("it has fired", `!document.querySelector(".came .confirming")`)
	b.reads(".came .fired", "refund", "published")
	require.Equal(t, "m1", evaluated[string](b, `new URLSearchParams(location.search).get("message")`))
	b.click(".came .pending button")
	b.reads(".came .cancelled", "lamp")

	s.says("s1", "m5", "refund my order")
	b.visit("/console/apps/clinic/triggers?state=confirming")
	b.click(".records a.tool")
	b.reads("h1", "refund", "confirming")
	b.reads(".timeline .wait", "Asked", "Shall I go ahead?")
	b.accessible("trigger held")
	b.click(".head .held button:not(.main)")
	b.reads("h1", "cancelled")
	b.reads(".timeline", "Denied by admin")

	b.visit("/console/apps/clinic/triggers?state=duplicate")
	b.click(".records a.tool")
	b.reads(".timeline", "had the same values before")
	b.visit("/console/apps/clinic")
	for _, word := range []string{"asks", "cancelled", "duplicate"} {
		b.reads("[data-feed]", word)
	}
}
