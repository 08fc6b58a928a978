package repositories_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/parameters"
)

func tool(t *testing.T, definition string) *repositories.Tool {
	t.Helper()
	r, err := repositories.DecodeRepository(repositories.Scope{AppID: "a"}, "r", []byte(`{"tools":[`+definition+`]}`))
	require.NoError(t, err)
	return &r.Tools[0]
}

func values(t testing.TB, text string) map[string]any {
	t.Helper()
	decoded, err := parameters.DecodeValues([]byte(text))
	require.NoError(t, err)
	return decoded
}

func marshalled(t testing.TB, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	require.NoError(t, err)
	return string(raw)
}

func claimsOf(t *testing.T, service, claims string) parameters.Claims {
	t.Helper()
	return parameters.Claims{service: values(t, claims)}
}

func TestClaimIsFoundByNameOrByDottedPath(t *testing.T) {
	claims := `{"sub":"s","a":{"b":{"c":"deep"},"b.c":"named"},"https://x.example/role":"admin","x.y":"whole","x":{"y":"part"},"n":null,"l":["one"]}`
	for field, want := range map[string]string{
		"sub": `"s"`, "a.b": `{"c":"deep"}`, "a.b.c": `"named"`, "https://x.example/role": `"admin"`, "x.y": `"whole"`,
		"sub.x": "", "a.x": "", "": "", ".": "", "a.": "", "n": "", "l.0": "",
	} {
		kind := "string"
		if field == "a.b" {
			kind = "object"
		}
		p := tool(t, `{"name":"n","schema":[{"parameter":"p","type":"`+kind+`","authServices":[{"name":"corp","field":"`+orDash(field)+`"}]}]}`).Params()
		filled, faults := p.Authenticate(claimsOf(t, "corp", claims))
		if want == "" {
			require.Len(t, faults, 1, field)
			require.Contains(t, faults[0].Detail, "has no claim", field)
			continue
		}
		require.Empty(t, faults, field)
		out, faults := filled.Check(nil)
		require.Empty(t, faults)
		require.JSONEq(t, want, marshalled(t, out["p"]), field)
	}
}

// orDash stands in for a field that a definition cannot leave empty.
func orDash(field string) string {
	if field == "" {
		return "-"
	}
	return field
}

func TestClaimIsCheckedAsAnyValueIs(t *testing.T) {
	for definition, claim := range map[string]string{
		`"type":"integer"`: `"5"`, `"type":"string"`: `5`, `"type":"boolean"`: `"true"`, `"type":"integer","maxValue":3`: `4`,
		`"type":"string","allowedValues":["a","b"]`: `"c"`, `"type":"string","excludedValues":["root"]`: `"root"`, `"type":"array","items":{"type":"string"}`: `[1]`,
	} {
		p := tool(t, `{"name":"n","schema":[{"parameter":"p",`+definition+`,"authServices":[{"name":"corp","field":"c"}]}]}`).Params()
		_, faults := p.Authenticate(claimsOf(t, "corp", `{"c":`+claim+`}`))
		require.Len(t, faults, 1, definition)
		require.Equal(t, "p", faults[0].Parameter)
	}
	schema := tool(t, `{"name":"n","parameters":{"type":"object","properties":{"p":{"type":"string","minLength":3,"authServices":[{"name":"corp","field":"c"}]}},"required":["p"]}}`).Params()
	_, faults := schema.Authenticate(claimsOf(t, "corp", `{"c":"ab"}`))
	require.Len(t, faults, 1)
	filled, faults := schema.Authenticate(claimsOf(t, "corp", `{"c":"abc"}`))
	require.Empty(t, faults)
	out, faults := filled.Check(map[string]any{"p": "sent"})
	require.Empty(t, faults)
	require.Equal(t, map[string]any{"p": "abc"}, out)
}

func TestClaimWinsOverWhatIsSentAndIsShownToNoModel(t *testing.T) {
	asked := tool(t, `{"name":"n","schema":[{"parameter":"p","type":"integer","default":7,"authServices":[{"name":"corp","field":"c"}]},{"parameter":"q","type":"string"}]}`)
	forUser, err := asked.For(claimsOf(t, "corp", `{"c":9007199254740993}`))
	require.NoError(t, err)
	reading := forUser.Params().Read(map[string]any{"p": json.Number("1"), "q": "x"})
	require.Empty(t, reading.Errors)
	require.Equal(t, map[string]any{"p": json.Number("9007199254740993"), "q": "x"}, reading.Values)
	require.True(t, forUser.Params().Hidden("p"))
	require.NotContains(t, string(forUser.Params().ModelSchema()), `"p"`)
	require.True(t, asked.Params().Hidden("p"), "the tool itself is as it was")
	_, err = asked.For(nil)
	require.Error(t, err, "neither is its default for nobody")
}

func TestToolThatAsksForNobodyIsTheSameForAll(t *testing.T) {
	open := tool(t, `{"name":"n","schema":[{"parameter":"p","type":"string"}]}`)
	got, err := open.For(claimsOf(t, "corp", `{"c":1}`))
	require.NoError(t, err)
	require.Same(t, open, got)
}

func TestOnlyTheClaimsThatToolsAskForAreNeeded(t *testing.T) {
	r, err := repositories.DecodeRepository(repositories.Scope{AppID: "a"}, "r", []byte(`{"tools":[{"name":"x","authRequired":["gate","absent"]},
		{"name":"y","schema":[{"parameter":"p","type":"string","authServices":[{"name":"first","field":"missing"},{"name":"corp","field":"a.b"}]}]}]}`))
	require.NoError(t, err)
	all := parameters.Claims{"gate": {"s": "x"}, "first": {"t": "x"}, "corp": {"a": map[string]any{"b": "kept", "c": "left"}, "d": "left"}, "idle": {"e": "x"}}
	needed := repositories.NeededClaims(all, []*repositories.Repository{r})
	require.Equal(t, parameters.Claims{"gate": {}, "first": {}, "corp": {"a.b": "kept"}}, needed)
	for i := range r.Tools {
		_, before := r.Tools[i].For(all)
		_, after := r.Tools[i].For(needed)
		require.Equal(t, before, after, "what is kept decides as the whole did")
	}
}
