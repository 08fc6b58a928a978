package console_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnAppIsLookedAtAndChanged(t *testing.T) {
	s := start(t)
	s.rest("PUT", "/v1/apps/clinic", `{"name":"My clinic","sources":[{"name":"desk","type":"http","baseUrl":"`+s.endpoint.URL+`","headers":{"X-Api-Key":"planted"}}],
		"modules":[{"moduleId":"calendar","secret":"planted","tokenUrl":"https://id.example/token"}]}`, nil)
	b := s.open(t)
	b.visit("/console")
	b.signIn(adminKey, "/console/apps")
	b.visit("/console/apps/clinic/settings")
	b.reads("#sources-list", "not looked at")
	b.click("#sources-list a.button")
	b.reads("#sources-list .state", "yes")

	b.fill("#key-name", "front desk")
	b.click("input[value=messages]")
	b.click("form[action$='/keys'] button")
	b.reads("[role=status]", "ek_clinic.")
	b.reads(".app-keys", "front desk", "may use messages", "never used")
	b.accessible("app with a key")
	b.click("form[action$='/revoke'] button")
	b.reads("main", "only the admin key")

	b.fill("#app-text", `{"name":"Our clinic","sources":[{"name":"desk","type":"htp"}]}`)
	b.click("form.rows button")
	b.reads(".fault", "/sources/0/type")
	require.Equal(t, `{"name":"Our clinic","sources":[{"name":"desk","type":"htp"}]}`, evaluated[string](b, `document.querySelector("#app-text").value`))
	b.fill("#app-text", `{"name":"Our clinic"}`)
	b.click("form.rows button")
	b.reads("[role=status]", "saved")
	b.reads("h1", "Our clinic")
	require.NotContains(t, evaluated[string](b, "document.documentElement.outerHTML"), "planted")
}
