package api_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/api/answer"
	"earshot/deploy/testbed/apitest"
	"earshot/trigger"
)

// problem is the machine-readable part of an answer.
type problem struct {
	Code, State, Limit, Detail string
	Errors                     []struct {
		Pointer, Code, Suggestion string
		Allowed                   []string
	}
}

func TestTheTableOfCodesIsWhole(t *testing.T) {
	seen := map[answer.Code]bool{}
	for _, one := range answer.Codes {
		require.Regexp(t, "^[a-z]+(_[a-z]+)*$", string(one.Code))
		require.False(t, seen[one.Code], one.Code)
		require.NotEmpty(t, one.When, one.Code)
		require.NotEmpty(t, one.Do, one.Code)
		require.GreaterOrEqual(t, one.Status, 400, one.Code)
		require.NotEmpty(t, http.StatusText(one.Status), one.Code)
		seen[one.Code] = true
		require.Equal(t, one.Status, answer.NewProblem(one.Code, "x").Status)
	}
	// All codes in the program are in the table, and the reverse.
	named := map[string]bool{}
	require.NoError(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || path == "answer/codes.go" {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.CompositeLit: // a problem built by hand
				of, _ := node.Type.(*ast.SelectorExpr)
				require.False(t, of != nil && of.Sel.Name == "Problem", "%s makes a problem without NewProblem", path)
			case *ast.Ident:
				named[node.Name] = true
			}
			return true
		})
		return nil
	}))
	constants, err := parser.ParseFile(token.NewFileSet(), "answer/codes.go", nil, 0)
	require.NoError(t, err)
	count := 0
	for _, declared := range constants.Decls {
		group, _ := declared.(*ast.GenDecl)
		if group == nil || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			value := spec.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value
			require.True(t, seen[answer.Code(strings.Trim(value, `"`))], "%s is in no table", value)
			require.True(t, named[spec.(*ast.ValueSpec).Names[0].Name])
			count++
		}
	}
	require.Len(t, seen, count)
}

func TestTheWallsAndTheRouterHaveCodes(t *testing.T) {
	s := start(t)
	for _, c := range []struct {
		method, path, body, header string
		code                       answer.Code
	}{
		{"GET", "/v1/nothing", "", "", answer.UnknownPath},
		{"DELETE", "/healthz", "", "", answer.MethodNotAllowed},
		{"GET", "/v1/apps", "", "Authorization: ", answer.KeyMissing},
		{"GET", "/v1/apps", "", "Authorization: Bearer none", answer.KeyInvalid},
		{"GET", "/v1/apps?limt=5", "", "", answer.InvalidQuery},
		{"GET", "/v1/apps?after=%20", "", "", answer.InvalidCursor},
		{"GET", "/v1/apps/-", "", "", answer.InvalidPath},
		{"PUT", "/v1/apps/clinic", `{}`, "If-Match: x", answer.InvalidHeader},
		{"PUT", "/v1/apps/clinic", `{}`, "Content-Type: text/plain", answer.UnsupportedMediaType},
		{"PUT", "/v1/apps/clinic", `{`, "", answer.InvalidBody},
		{"POST", apitest.MessagesPath, "", "", answer.InvalidBody},
		{"PUT", "/v1/apps/clinic", `"` + strings.Repeat("x", 1<<20) + `"`, "", answer.BodyTooLong},
		{"DELETE", "/v1/apps/clinic/triggers", "", "", answer.InvalidQuery},
		{"GET", "/docs/none", "", "", answer.UnknownPath},
	} {
		got := bodyOf[problem](s.Ask(c.method, c.path, c.body, c.header+": "))
		require.Equal(t, string(c.code), got.Code, "%s %s: %s", c.method, c.path, got.Detail)
	}
}

func TestFaultsOfABodySayWhatWasMeant(t *testing.T) {
	s := start(t)
	got := bodyOf[problem](s.Call("POST", apitest.MessagesPath, `{"actor":"usr","txt":"x","final":3}`))
	require.Equal(t, "invalid_body", got.Code)
	require.Len(t, got.Errors, 4)
	byPlace := map[string]int{}
	for i, one := range got.Errors {
		byPlace[one.Pointer] = i
	}
	actor, unknown, final, text := got.Errors[byPlace["/actor"]], got.Errors[byPlace["/txt"]], got.Errors[byPlace["/final"]], got.Errors[byPlace["/text"]]
	require.Equal(t, []any{"not_allowed", "user", []string{"user", "agent"}}, []any{actor.Code, actor.Suggestion, actor.Allowed})
	require.Equal(t, []any{"unknown_field", "text"}, []any{unknown.Code, unknown.Suggestion})
	require.Contains(t, unknown.Allowed, "messageId")
	require.Equal(t, "wrong_type", final.Code)
	require.Equal(t, "missing", text.Code)

	tool := bodyOf[problem](s.Call("PUT", "/v1/apps/clinic/repositories/r", `{"tools":[{"name":"a","description":"b","schema":[{"parameter":"p","type":"strng"}],"type":"postgres-sq"}]}`))
	require.Equal(t, "invalid_body", tool.Code)
	suggested := map[string]string{}
	for _, one := range tool.Errors {
		suggested[one.Pointer] = one.Code + " " + one.Suggestion
	}
	require.Equal(t, map[string]string{"/tools/0/schema/0/type": "not_allowed string", "/tools/0/type": "not_allowed postgres-sql"}, suggested)
	require.Equal(t, "malformed_json", bodyOf[problem](s.Call("PUT", "/v1/apps/clinic", `{`)).Errors[0].Code)
}

func TestEveryAnswerNamesItsRequest(t *testing.T) {
	s := start(t)
	for _, path := range []string{"/healthz", "/v1/apps", "/v1/nothing", "/docs", "/openapi.json", "/v1/apps/clinic/openai/v1/nope", "/v1/apps/-"} {
		require.Equal(t, "my.request_1-a", s.Ask("GET", path, "", "X-Request-Id: my.request_1-a").Header.Get("X-Request-Id"), path)
		require.Contains(t, s.Log.String(), `"request":"my.request_1-a"`)
		require.Regexp(t, regexp.MustCompile("^[A-Z2-7]{26}$"), s.Ask("GET", path, "").Header.Get("X-Request-Id"), path)
		for _, bad := range []string{"a b", strings.Repeat("x", 129), "ä"} {
			require.NotEqual(t, bad, s.Ask("GET", path, "", "X-Request-Id: "+bad).Header.Get("X-Request-Id"))
		}
		longest := strings.Repeat("x", 128)
		require.Equal(t, longest, s.Ask("GET", path, "", "X-Request-Id: "+longest).Header.Get("X-Request-Id"))
	}
}

func TestIdempotencyKeyStandsForTheIdOfTheBody(t *testing.T) {
	s := start(t)
	s.engine.answer = json.RawMessage(`{"messageId":"m","matches":[],"rejected":[],"reply":null,"skipResponse":false}`)
	posted := func() string { return s.engine.posted().ID }
	s.Call("POST", apitest.MessagesPath, `{"actor":"user","text":"x"}`, "Idempotency-Key: mine/1").Is(200, "")
	require.Equal(t, "mine/1", posted())
	s.Call("POST", apitest.MessagesPath, `{"messageId":"m1","actor":"user","text":"x"}`, "Idempotency-Key: m1").Is(200, "")
	require.Equal(t, "m1", posted())
	s.Call("POST", apitest.MessagesPath, `{"actor":"user","text":"x","final":false}`, "Idempotency-Key: d1").Is(200, "")
	require.Equal(t, "d1", posted())
	got := s.Call("POST", apitest.MessagesPath, `{"messageId":"m1","actor":"user","text":"x"}`, "Idempotency-Key: m2")
	got.Problem(400, "Idempotency-Key", `"m2"`, `"m1"`)
	require.Equal(t, "idempotency_key_differs", bodyOf[problem](got).Code)
	got = s.Call("POST", apitest.MessagesPath, `{"actor":"user","text":"x"}`, "Idempotency-Key: a b")
	got.Problem(400, "Idempotency-Key", "messageId")
	require.Equal(t, "invalid_idempotency_key", bodyOf[problem](got).Code)

	s.engine.answer = json.RawMessage(`{"triggerId":"t","repositoryId":"r","name":"book","source":"ui","values":{},"state":"delivered","event":{"subject":"x","state":"published"},"returnDirect":false,"skipResponse":false}`)
	for _, path := range []string{"/v1/apps/clinic/triggers", "/v1/apps/clinic/sessions/s1/triggers"} {
		s.Call("POST", path, `{"name":"book","source":"ui"}`, "Idempotency-Key: t-1").Is(201, "")
		require.Equal(t, "t-1", s.engine.asked.(trigger.Direct).TriggerID)
		got = s.Call("POST", path, `{"name":"book","source":"ui","triggerId":"t2"}`, "Idempotency-Key: t-1")
		require.Equal(t, "idempotency_key_differs", bodyOf[problem](got.Is(400, "")).Code)
		got = s.Call("POST", path, `{"name":"book","source":"ui"}`, "Idempotency-Key: t.1")
		got.Problem(400, "Idempotency-Key", "triggerId")
	}
}

// TestFaultsOfBodiesSayWhatIsMeant has bodies whose faults no decoder of definitions finds.
func TestFaultsOfBodiesSayWhatIsMeant(t *testing.T) {
	w := atClinic(t)
	w.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"options":{"template":true},"tools":[{"name":"ring"}]}`).Is(201, "")
	for _, one := range []struct{ method, path, body, want string }{
		{"PUT", "/v1/apps/clinic/sessions/s1", `{"repositories":["dsek"]}`,
			`[{"pointer":"/repositories/0","detail":"the app has no repository \"dsek\"; did you mean \"desk\"?","code":"not_allowed","allowed":["desk"],"suggestion":"desk"}]`},
		{"POST", "/v1/apps/clinic/triggers/t1/answer", `{"ok":false}`, `[{"pointer":"/error","detail":"is missing: where ok is false it says why","code":"missing"}]`},
		{"PUT", "/v1/apps/clinic/repositories/door", `{"tools":[{"name":"a","url":"https://example.org/","request":{"moduleId":"calendar"}}]}`,
			`[{"pointer":"/tools/0/request/moduleId","detail":"the app has no module \"calendar\"; it has none: add one to the modules of the app","code":"not_allowed"}]`},
	} {
		got := bodyOf[struct{ Errors json.RawMessage }](w.Call(one.method, one.path, one.body))
		require.JSONEq(t, one.want, string(got.Errors), one.path)
	}
}
