package repositories_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/fault"
)

const whole = `{"name":"Clinic","signingSecret":"whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0",
	"modules":[{"moduleId":"calendar","secret":"planted","tokenUrl":"https://id.example.org/token"}],
	"sources":[{"name":"crm","type":"http","baseUrl":"https://crm.example.org/","headers":{"X-Desk":"A","X-Api-Key":"planted"}}],
	"settings":{"chatModeEnabled":true,"limits":{"messagesPerMinute":7,"toolsPerRepository":9007},"allowedOrigins":["https://a.example","https://b.example"]}}`

func patched(t *testing.T, app, patch string) (string, error) {
	t.Helper()
	there, err := repositories.DecodeApp("clinic", []byte(app))
	require.NoError(t, err)
	read, err := repositories.DecodeAppPatch("clinic", []byte(patch))
	if err != nil {
		return "", err
	}
	next, err := read.Next(there)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(next)
	require.NoError(t, err)
	return string(text), nil
}

func TestAMergePatchChangesWhatItNames(t *testing.T) {
	const (
		modules = `"modules":[{"moduleId":"calendar","secret":"***","tokenUrl":"https://id.example.org/token"}],`
		sources = `"sources":[{"name":"crm","type":"http","baseUrl":"https://crm.example.org/","headers":{"X-Desk":"A","X-Api-Key":"***"}}],`
		origins = `"allowedOrigins":["https://a.example","https://b.example"]`
		limits  = `"limits":{"messagesPerMinute":7,"toolsPerRepository":9007}`
		signing = `,"signingSecret":"***"`
		head    = `{"appId":"clinic","name":"Clinic",`
		chats   = `"settings":{"chatModeEnabled":true,"skipToolResponse":false,`
	)
	for name, test := range map[string][2]string{
		"nothing":              {`{}`, head + modules + sources + chats + limits + "," + origins + "}" + signing + "}"},
		"the same id":          {`{"appId":"clinic"}`, head + modules + sources + chats + limits + "," + origins + "}" + signing + "}"},
		"a field of an object": {`{"settings":{"limits":{"messagesPerMinute":8}}}`, head + modules + sources + chats + `"limits":{"messagesPerMinute":8,"toolsPerRepository":9007},` + origins + "}" + signing + "}"},
		"null":                 {`{"name":null,"signingSecret":null,"settings":{"limits":null}}`, `{"appId":"clinic",` + modules + sources + chats + origins + "}}"},
		"a limit is taken off": {`{"settings":{"limits":{"messagesPerMinute":0}}}`, head + modules + sources + chats + `"limits":{"messagesPerMinute":null,"toolsPerRepository":9007},` + origins + "}" + signing + "}"},
		"lists are whole":      {`{"modules":[],"sources":null,"settings":{"allowedOrigins":["https://c.example"]}}`, head + chats + limits + `,"allowedOrigins":["https://c.example"]}` + signing + "}"},
		"objects are made":     {`{"settings":{"prompt":{"text":"Be brief."}}}`, head + modules + sources + chats + `"prompt":{"text":"Be brief."},` + limits + "," + origins + "}" + signing + "}"},
	} {
		got, err := patched(t, whole, test[0])
		require.NoError(t, err, name)
		require.JSONEq(t, test[1], got, name)
	}
	got, err := patched(t, whole, `{"appId":null,"name":null,"modules":null,"authServices":null,"sources":null,"signingSecret":null,
		"settings":{"chatModeEnabled":null,"prompt":{"text":null},"llm":{"when":null,"tools":null,"mostTools":null},"openai":{"mode":null},"offline":{"bar":null},"limits":{"messagesPerMinute":null},"allowedOrigins":null}}`)
	require.NoError(t, err)
	require.JSONEq(t, `{"appId":"clinic","settings":{"chatModeEnabled":false,"skipToolResponse":false,"limits":{"toolsPerRepository":9007}}}`, got, "anything can be taken away")
	got, err = patched(t, `{"settings":{"limits":null}}`, `{"name":"Clinic"}`)
	require.NoError(t, err)
	require.Contains(t, got, `"limits":null`, "limits that are off stay so")
}

func TestAMergePatchNamesItsFaultsWhereTheyStand(t *testing.T) {
	for patch, want := range map[string]fault.List{
		`{"name":null,"setings":null,"settings":{"limits":{"messagePerMinute":null}}}`: {
			{Pointer: "/setings", Detail: `unknown field "setings"; did you mean "settings"?`},
			{Pointer: "/settings/limits/messagePerMinute", Detail: `unknown field "messagePerMinute"; did you mean "messagesPerMinute"?`},
		},
		`{"appId":"other"}`: {{Pointer: "/appId", Detail: `is "other", but the path says "clinic"`}},
		`{"modules":[{"moduleId":"calendar"}]}`: {
			{Pointer: "/modules/0/secret", Detail: "is missing"},
		},
		`[]`:                      {{Pointer: "", Detail: "is an array, not an object"}},
		`{"name":"a","name":"b"}`: {{Pointer: "/name", Detail: "is given more than once"}},
	} {
		_, err := patched(t, whole, patch)
		require.Equal(t, want, err, patch)
	}
}
