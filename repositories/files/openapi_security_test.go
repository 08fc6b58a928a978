package files_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/files"
)

// guarded is a document with security of its own, security schemes, and operations with the
// security that stands beside their names; "" is none of their own.
func guarded(security, schemes string, operations map[string]string) string {
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(operations)) {
		own := ""
		if operations[name] != "" {
			own = `,"security":` + operations[name]
		}
		paths = append(paths, fmt.Sprintf(`"/%s":{"get":{"operationId":%q%s}}`, name, name, own))
	}
	if security != "" {
		security = `"security":` + security + `,`
	}
	return `{"openapi":"3.1.0","info":{"title":"T"},"servers":[{"url":"https://api.example/v1"}],` + security +
		`"paths":{` + strings.Join(paths, ",") + `},"components":{"securitySchemes":{` + schemes + `}}}`
}

// sent is what the import has each tool send to authenticate, in a few words: each credential
// is the name of its variable.
func sent(t testing.TB, made *files.OpenAPI) map[string]string {
	t.Helper()
	set, err := files.Read([]string{files.Stdin}, files.Options{AppID: "app", Stdin: strings.NewReader(made.Text), Lookup: func(name string) (string, bool) {
		return "<" + name + ">", slices.Contains(made.Variables, name)
	}})
	require.NoError(t, err, made.Text)
	require.NoError(t, set.Check(), made.Text)
	var app struct {
		Sources []struct {
			Name, BaseURL        string
			Headers, QueryParams map[string]string
		}
	}
	require.NoError(t, json.Unmarshal(set.App.Body(), &app))
	bySource := map[string][]string{}
	for _, source := range app.Sources {
		require.Equal(t, "https://api.example/v1/", source.BaseURL)
		bySource[source.Name] = []string{"source " + source.Name}
		for _, name := range slices.Sorted(maps.Keys(source.Headers)) {
			bySource[source.Name] = append(bySource[source.Name], "header "+name+": "+source.Headers[name])
		}
		for _, name := range slices.Sorted(maps.Keys(source.QueryParams)) {
			bySource[source.Name] = append(bySource[source.Name], "query "+name+"="+source.QueryParams[name])
		}
	}
	words := map[string]string{}
	used := map[string]bool{}
	for name, tool := range toolsOf(t, set) {
		parts := slices.Clone(bySource[tool["source"].(string)])
		require.NotEmpty(t, parts, "source of %s", name)
		used[tool["source"].(string)] = true
		request, _ := tool["request"].(map[string]any)
		if basic, is := request["basic"].(map[string]any); is {
			parts = append(parts, fmt.Sprintf("basic %s %s", basic["username"], basic["password"]))
		}
		if bearer, is := request["bearer"].(map[string]any); is {
			parts = append(parts, fmt.Sprintf("client %s %s %s %v", bearer["clientId"], bearer["clientSecret"], bearer["tokenUrl"], bearer["scopes"]))
		}
		words[name] = strings.Join(parts, ", ")
	}
	require.Len(t, used, len(bySource), "each source is used")
	return words
}

const allSchemes = `
	"key":{"type":"apiKey","in":"header","name":"X-Api-Key"},
	"same":{"type":"apiKey","in":"header","name":"x-api-key"},
	"desk":{"type":"apiKey","in":"query","name":"api_key"},
	"visit":{"type":"apiKey","in":"cookie","name":"sid"},
	"trust":{"type":"apiKey","in":"cookie","name":"device"},
	"user":{"type":"http","scheme":"bearer"},
	"admin":{"type":"http","scheme":"Bearer"},
	"login":{"type":"http","scheme":"basic"},
	"machine":{"type":"oauth2","flows":{"clientCredentials":{"tokenUrl":"https://login.example/token","scopes":{}}}},
	"person":{"type":"oauth2","flows":{"implicit":{"authorizationUrl":"https://login.example"}}},
	"open-id":{"type":"openIdConnect","openIdConnectUrl":"https://login.example"},
	"mutual":{"type":"mutualTLS"},
	"digest":{"type":"http","scheme":"digest"}`

func TestOperationIsSentTheCredentialsOfItsOwnSecurity(t *testing.T) {
	operations := map[string]string{
		"none":       `[]`,
		"anonymous":  `[{},{"key":[]}]`,
		"documents":  ``,
		"either":     `[{"desk":[]},{"key":[]}]`,
		"both":       `[{"user":[],"desk":[]}]`,
		"cookie":     `[{"visit":[]}]`,
		"cookies":    `[{"visit":[],"trust":[]}]`,
		"bearer":     `[{"user":[]}]`,
		"admins":     `[{"admin":[]}]`,
		"basic":      `[{"login":[]}]`,
		"basicToo":   `[{"login":[],"key":[]}]`,
		"client":     `[{"machine":["read"]}]`,
		"clientToo":  `[{"machine":["write"],"desk":[]}]`,
		"person":     `[{"person":["read"]}]`,
		"openId":     `[{"open-id":[]}]`,
		"later":      `[{"mutual":[]},{"key":[]}]`,
		"laterNone":  `[{"digest":[]},{}]`,
		"never":      `[{"mutual":[]}]`,
		"halfNever":  `[{"key":[],"mutual":[]}]`,
		"unknown":    `[{"kye":[]}]`,
		"twice":      `[{"user":[],"login":[]},{"login":[],"machine":[]},{"key":[],"same":[]},{"desk":[]}]`,
		"misshapen":  `["key"]`,
		"misshapen2": `{"key":[]}`,
	}
	made, _ := imported(t, guarded(`[{"key":[]}]`, allSchemes, operations), files.OpenAPIOptions{})
	require.Equal(t, map[string]string{
		"none":       "source t",
		"anonymous":  "source t",
		"documents":  "source t-key, header X-Api-Key: <T_KEY>",
		"either":     "source t-desk, query api_key=<T_DESK>",
		"both":       "source t-user-and-desk, header Authorization: Bearer <T_USER_TOKEN>, query api_key=<T_DESK>",
		"cookie":     "source t-visit, header Cookie: sid=<T_VISIT>",
		"cookies":    "source t-visit-and-trust, header Cookie: sid=<T_VISIT>; device=<T_TRUST>",
		"bearer":     "source t-user, header Authorization: Bearer <T_USER_TOKEN>",
		"admins":     "source t-admin, header Authorization: Bearer <T_ADMIN_TOKEN>",
		"basic":      "source t, basic <T_USERNAME> <T_PASSWORD>",
		"basicToo":   "source t-key, header X-Api-Key: <T_KEY>, basic <T_USERNAME> <T_PASSWORD>",
		"client":     "source t, client <T_CLIENT_ID> <T_CLIENT_SECRET> https://login.example/token [read]",
		"clientToo":  "source t-desk, query api_key=<T_DESK>, client <T_CLIENT_ID> <T_CLIENT_SECRET> https://login.example/token [write]",
		"person":     "source t-person, header Authorization: Bearer <T_PERSON_TOKEN>",
		"openId":     "source t-open-id, header Authorization: Bearer <T_OPEN_ID_TOKEN>",
		"later":      "source t-key, header X-Api-Key: <T_KEY>",
		"laterNone":  "source t",
		"never":      "source t",
		"halfNever":  "source t",
		"unknown":    "source t",
		"twice":      "source t-desk, query api_key=<T_DESK>",
		"misshapen":  "source t",
		"misshapen2": "source t",
	}, sent(t, made))
	notes := fmt.Sprint(made.Notes)
	for _, note := range []string{
		"asks for mutual, which cannot be carried over (it is mutualTLS): credentials of key, a later alternative, are sent",
		"asks for digest, which cannot be carried over (it is http with digest): calls are made without credentials, as a later alternative has it",
		"asks for mutual, which cannot be carried over (it is mutualTLS): calls are made without it",
		"asks for key and mutual, which cannot be carried over (it is mutualTLS): calls are made without it",
		"asks for kye, which cannot be carried over (the document has no such security scheme): calls are made without it",
		"asks for user and login, which cannot be carried over (two of its credentials are sent in the same place): credentials of desk, a later alternative, are sent",
		"asks for something that is no map of schemes, which cannot be carried over (it is a text): calls are made without it",
		"security is a map and no list: calls are made without credentials",
		"person has no client_credentials", "open-id has no client_credentials",
	} {
		require.Contains(t, notes, note)
	}
	require.NotContains(t, notes, "which the service shows")
}

func TestOneSourceHasTheNameOfTheAPI(t *testing.T) {
	const bearer = `"auth":{"type":"http","scheme":"bearer"}`
	made, _ := imported(t, guarded(`[{"auth":[]}]`, bearer, map[string]string{"a": "", "b": ""}), files.OpenAPIOptions{})
	require.Equal(t, []string{"T_TOKEN"}, made.Variables)
	for _, words := range sent(t, made) {
		require.Equal(t, "source t, header Authorization: Bearer <T_TOKEN>", words)
	}
	made, _ = imported(t, guarded("", bearer, map[string]string{"a": "", "b": ""}), files.OpenAPIOptions{})
	require.Empty(t, made.Variables, "nothing asks for the scheme")
	require.Equal(t, map[string]string{"a": "source t", "b": "source t"}, sent(t, made))
}

// What is sent for one scheme must not be what was set for another.
func TestNoTwoSchemesShareAVariable(t *testing.T) {
	operations := map[string]string{}
	var schemes []string
	for name, scheme := range map[string]string{
		"a-b": `{"type":"apiKey","in":"header","name":"X-Key-1"}`, "a_b": `{"type":"apiKey","in":"header","name":"X-Key-2"}`, "A_B": `{"type":"apiKey","in":"header","name":"X-Key-3"}`,
		"url": `{"type":"apiKey","in":"header","name":"X-Key-4"}`, "token": `{"type":"apiKey","in":"header","name":"X-Key-5"}`, "ключ": `{"type":"apiKey","in":"header","name":"X-Key-6"}`,
		"схема": `{"type":"apiKey","in":"header","name":"X-Key-7"}`, "bearer": `{"type":"http","scheme":"bearer"}`,
	} {
		operations[fmt.Sprintf("o%d", len(schemes))] = `[{"` + name + `":[]}]`
		schemes = append(schemes, `"`+name+`":`+scheme)
	}
	made, _ := imported(t, guarded("", strings.Join(schemes, ","), operations), files.OpenAPIOptions{})
	require.Len(t, made.Variables, len(schemes))
	require.NotContains(t, made.Variables, "T_URL", "the address of the API")
	credentials := map[string]bool{}
	for _, words := range sent(t, made) {
		source, value, _ := strings.Cut(words, ", header ")
		require.False(t, credentials[source] || credentials[value])
		credentials[source], credentials[value] = true, true
		_, variable, _ := strings.Cut(value, "<")
		require.False(t, credentials[variable], variable)
		credentials[variable] = true
	}
}

// A header that no tool may set, or a token that cannot be asked for, is no reason to refuse the
// whole document.
func TestSchemesThatTheServiceRefusesAreNotSent(t *testing.T) {
	made, _ := imported(t, guarded("", `"host":{"type":"apiKey","in":"header","name":"Host"},"gap":{"type":"apiKey","in":"cookie","name":"a b"},
		"machine":{"type":"oauth2","flows":{"clientCredentials":{"tokenUrl":"/token"}}},"scoped":{"type":"oauth2","flows":{"clientCredentials":{"tokenUrl":"https://login.example"}}},"plain":{"type":"apiKey","in":"query","name":"appid"}`,
		map[string]string{"a": `[{"host":[]}]`, "b": `[{"gap":[]}]`, "c": `[{"machine":[]}]`, "d": `[{"scoped":["a b"]}]`, "e": `[{"plain":[]}]`}), files.OpenAPIOptions{})
	require.Equal(t, map[string]string{"a": "source t", "b": "source t", "c": "source t-machine, header Authorization: Bearer <T_TOKEN>", "d": "source t", "e": "source t-plain, query appid=<T_PLAIN>"}, sent(t, made))
	notes := fmt.Sprint(made.Notes)
	for _, note := range []string{"the header Host belongs to the connection", "it has no name that a header, a query or a cookie can have", "machine has no client_credentials that can be asked for", `"a b" is not a scope`, `plain is sent in "appid", which the service shows to those who may read the app`} {
		require.Contains(t, notes, note)
	}
}

func TestOperationThatIsLeftOutAsksForNoCredentials(t *testing.T) {
	document := `{"openapi":"3.1.0","info":{"title":"T"},"servers":[{"url":"https://api.example/v1"}],"paths":{"/a":{"get":{}},
		"/b":{"patch":{"security":[{"key":[]}],"parameters":[{"name":"Host","in":"header","schema":{"type":"string"}}]}}},
		"components":{"securitySchemes":{"key":{"type":"apiKey","in":"header","name":"X-Api-Key"}}}}`
	made, _ := imported(t, document, files.OpenAPIOptions{})
	require.Equal(t, 1, made.Tools)
	require.Empty(t, made.Variables)
	require.Equal(t, map[string]string{"get_a": "source t"}, sent(t, made))
}
