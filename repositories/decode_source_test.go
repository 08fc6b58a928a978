package repositories_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/redistest"
	"earshot/repositories/secret"
)

// sourceFaults decodes an app with one source, given as its fields, and compares the
// faults; none where want is empty.
func sourceFaults(t *testing.T, cases map[string][]string) {
	t.Helper()
	for fields, want := range cases {
		_, err := repositories.DecodeApp("clinic", []byte(`{"sources":[{"name":"s",`+fields+`}]}`))
		if len(want) == 0 {
			require.NoError(t, err, fields)
			continue
		}
		for i := range want {
			want[i] = "/sources/0" + want[i]
		}
		require.Equal(t, want, faultsOf(t, err), fields)
	}
}

func TestSourcesOfEachType(t *testing.T) {
	const pg = `"type":"postgres","host":"db.example","database":"d","user":"u"`
	sourceFaults(t, map[string][]string{
		pg: nil,
		pg + `,"port":5433,"password":"p","readOnly":true,"timeout":"5s"`: nil,
		pg + `,"port":"5433"`: nil,
		pg + `,"queryParams":{"sslmode":"require","search_path":"app"}`: nil,
		`"type":"postgres"`:                                         {"/database: is missing: postgres needs it", "/host: is missing: postgres needs it", "/user: is missing: postgres needs it"},
		pg + `,"port":0`:                                            {`/port: "0" is not a port: 1 to 65535`},
		pg + `,"port":"http"`:                                       {`/port: "http" is not a port: 1 to 65535`},
		pg + `,"port":1.5`:                                          {`/port: is a number, not an integer or a string`},
		pg + `,"baseUrl":"https://h/"`:                              {`/baseUrl: is for sources of type http, and this is of type postgres`},
		pg + `,"headers":{"X-A":"b"}`:                               {`/headers: is for sources of type http, and this is of type postgres`},
		pg + `,"queryParams":{"sslmode":"requir"}`:                  {`/queryParams/sslmode: "requir" is not an sslmode: disable, allow, prefer, require, verify-ca or verify-full; did you mean "require"?`},
		pg + `,"queryParams":{"passfile":"/etc/passwd"}`:            {`/queryParams/passfile: is not a supported setting of a connection: application_name, search_path, sslmode or timezone`},
		pg + `,"queryExecMode":"exec"`:                              {`/queryExecMode: "queryExecMode" is not supported yet by this version; statements are always described by the database and run with bound values`},
		strings.Replace(pg, "db.example", "/var/run/postgresql", 1): {`/host: "/var/run/postgresql" is not a host: one name or one IP address, without a port`},
		strings.Replace(pg, "db.example", "a,b", 1):                 {`/host: "a,b" is not a host: one name or one IP address, without a port`},
		strings.Replace(pg, "db.example", "h:5432", 1):              {`/host: "h:5432" is not a host: one name or one IP address, without a port`},
		strings.Replace(pg, "db.example", "::1", 1):                 nil,
		`"type":"cloud-sql-postgres"`:                               {`/type: "cloud-sql-postgres" is not supported: it needs its vendor's own connector; a database that is reached by host and port is of type postgres`},
		`"type":"mysql"`:                                            {`/type: "mysql" is not a supported type of source: postgres, sqlite or http`},
		`"type":"postgre"`:                                          {`/type: "postgre" is not a supported type of source: postgres, sqlite or http; did you mean "postgres"?`},
		`"type":"sqlite","database":"a/b.db","readOnly":true`:       nil,
		`"type":"sqlite"`:                                           {`/database: is missing: sqlite needs it`},
		`"type":"sqlite","database":""`:                             {`/database: is empty`},
		`"type":"sqlite","database":":memory:"`:                     {`/database: ":memory:" is not the path of a file; a database in memory would be empty for every tool`},
		`"type":"sqlite","database":"file:x?mode=memory"`:           {`/database: "file:x?mode=memory" is not the path of a file; a database in memory would be empty for every tool`},
		`"type":"sqlite","database":"a\u0000b"`:                     {`/database: holds a NUL`},
		`"type":"sqlite","database":"a.db","password":"p"`:          {`/password: is for sources of type postgres, and this is of type sqlite`},
		`"type":"http","baseUrl":"https://api.example/v1/","timeout":"30s","headers":{"X-Key":"k"},"queryParams":{"v":"1"},"returnFullError":true,"disableSslVerification":false`: nil,
		`"type":"http"`:                                                      {`/baseUrl: is missing: http needs it`},
		`"type":"http","baseUrl":"api.example"`:                              {`/baseUrl: "api.example" is not an absolute URL, as https://example.org/path`},
		`"type":"http","baseUrl":"https://h/?a=b"`:                           {`/baseUrl: holds a query or a fragment; what every request asks for stands in queryParams`},
		`"type":"http","baseUrl":"https://h/a/../b"`:                         {`/baseUrl: holds a segment ".."; write the path that is meant`},
		`"type":"http","baseUrl":"https://h/","headers":{"Host":"x"}`:        {`/headers/Host: the header Host belongs to the connection and cannot be set`},
		`"type":"http","baseUrl":"https://h/","headers":{"X-A":"a\r\nB: c"}`: {`/headers/X-A: the value of a header cannot hold line breaks or NUL`},
		`"type":"http","baseUrl":"https://h/","disableSslVerification":true`: {`/disableSslVerification: is not supported: certificates are always verified; leave it out, or set it to false`},
		`"type":"http","baseUrl":"https://h/","allowPrivateNetworks":true`:   {`/allowPrivateNetworks: "allowPrivateNetworks" is not supported yet by this version; which addresses may be reached is the operator's decision (EARSHOT_PRIVATE_URLS)`},
		`"type":"http","baseUrl":"https://h/","timeout":"61s"`:               {`/timeout: "61s" is out of range: more than 0 and at most 1m`},
		`"type":"http","baseUrl":"https://h/","baseURL":"x"`:                 {`/baseURL: unknown field "baseURL"; did you mean "baseUrl"?`},
	})
}

func TestNamesOfSourcesAreTheirOwn(t *testing.T) {
	_, err := repositories.DecodeApp("clinic", []byte(`{"sources":[{"name":"a","type":"sqlite","database":"x"},{"name":"a","type":"sqlite","database":"y"}]}`))
	require.Equal(t, []string{`/sources/1/name: "a" is the name of source 0 as well`}, faultsOf(t, err))
}

const sources = `{"sources":[
  {"name":"pg","type":"postgres","host":"h","port":5432,"database":"d","user":"u","password":"hunter2-pg"},
  {"name":"api","type":"http","baseUrl":"https://h/v1/","headers":{"Authorization":"hunter2-header","X-Desk":"A"},"queryParams":{"api-key":"hunter2-query","lang":"en"}}]}`

func TestCredentialsOfSourcesAreMaskedAndKept(t *testing.T) {
	s := storeOn(t, redistest.Mini(t), 'k')
	app, err := repositories.DecodeApp("clinic", []byte(sources))
	require.NoError(t, err)
	_, err = s.PutApp(t.Context(), app)
	require.NoError(t, err)

	stored, err := s.App(t.Context(), "clinic")
	require.NoError(t, err)
	shown, err := json.Marshal(stored)
	require.NoError(t, err)
	require.NotContains(t, string(shown), "hunter2")
	require.Contains(t, string(shown), `"X-Desk":"A"`)
	require.Contains(t, string(shown), `"lang":"en"`)

	again, err := repositories.DecodeApp("clinic", shown)
	require.NoError(t, err)
	_, err = s.PutApp(t.Context(), again)
	require.NoError(t, err)
	require.True(t, again.Sources[0].Password.IsMasked(), "what the caller gave is not changed")
	require.Equal(t, secret.Masked, again.Sources[1].Headers["Authorization"].Reveal())
	kept, err := s.App(t.Context(), "clinic")
	require.NoError(t, err)
	require.Equal(t, "hunter2-pg", kept.Sources[0].Password.Reveal())
	require.Equal(t, "hunter2-header", kept.Sources[1].Headers["Authorization"].Reveal())
	require.Equal(t, "hunter2-query", kept.Sources[1].QueryParams["api-key"].Reveal())

	unknown, err := repositories.DecodeApp("other", []byte(strings.Replace(string(shown), `"appId":"clinic",`, "", 1)))
	require.NoError(t, err)
	_, err = s.PutApp(t.Context(), unknown)
	require.Contains(t, faultsOf(t, err), `/sources/0/password: "***" stands for a stored credential, and none is stored here: give the credential itself`)
}

func TestTimeOfAnAttemptIsTheToolsOrItsSources(t *testing.T) {
	app := &repositories.App{Sources: []repositories.Source{{Name: "slow", Timeout: repositories.Duration(30 * time.Second)}, {Name: "plain"}}}
	own := &repositories.Request{Timeout: repositories.Duration(time.Second)}
	require.Equal(t, 30*time.Second, app.AttemptTimeout(&repositories.Tool{Source: "slow"}))
	require.Equal(t, time.Second, app.AttemptTimeout(&repositories.Tool{Source: "slow", Request: own}))
	require.Equal(t, repositories.DefaultTimeout, app.AttemptTimeout(&repositories.Tool{Source: "plain"}))
	require.Equal(t, repositories.DefaultTimeout, app.AttemptTimeout(&repositories.Tool{}))
}
