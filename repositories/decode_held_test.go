package repositories_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
)

func TestHeldToolFields(t *testing.T) {
	const order = `"schema":[{"parameter":"order_id","type":"string"},{"parameter":"amount","type":"number"}],`
	const beside = ": whoever subscribes answers, and nothing is called; leave out either (request.timeout may stay: it is how long a message waits)"
	toolFaults(t, map[string]string{
		`"settle":"800ms"`:                                   ``,
		`"settle":"60s","cancelOnNext":true`:                 ``,
		`"settle":"61s"`:                                     `/settle: "61s" is out of range: more than 0 and at most 1m`,
		`"settle":"0s"`:                                      `/settle: "0s" is out of range: more than 0 and at most 1m`,
		`"settle":"-1s"`:                                     `/settle: "-1s" is out of range: more than 0 and at most 1m`,
		`"settle":"soon"`:                                    `/settle: "soon" is not a duration as "800ms"`,
		`"settle":800`:                                       `/settle: is a number, not a string`,
		`"settle":"2m","cancelOnNext":true`:                  `/settle: "2m" is out of range: more than 0 and at most 1m`,
		`"setle":"1s"`:                                       `/setle: unknown field "setle"; did you mean "settle"?`,
		`"cancelOnNext":false`:                               ``,
		`"cancelOnNext":true`:                                `/cancelOnNext: needs settle, the time in which a next message can cancel, as "800ms"`,
		`"confirm":"always"`:                                 ``,
		`"confirm":"never"`:                                  ``,
		`"confirm":"allways"`:                                `/confirm: "allways" is not one of "always", "once", "never"; did you mean "always"?`,
		`"confirm":true`:                                     `/confirm: is a boolean, not a string`,
		`"dedupe":{"within":"168h"}`:                         ``,
		`"dedupe":{"within":"169h"}`:                         `/dedupe/within: "169h" is out of range: more than 0 and at most 168h`,
		`"dedupe":{}`:                                        `/dedupe/within: is missing`,
		`"dedupe":{"within":"1s","scop":"app"}`:              `/dedupe/scop: unknown field "scop"; did you mean "scope"?`,
		`"dedupe":{"within":"1s","scope":"user"}`:            `/dedupe/scope: "user" is not one of "session", "app"`,
		order + `"dedupe":{"within":"1s","by":["order_id"]}`: ``,
		order + `"dedupe":{"within":"1s","by":["amount","orderid"]}`:        `/dedupe/by/1: "orderid" is no parameter of the tool; did you mean "order_id"?`,
		`"dedupe":{"within":"1s","by":[]}`:                                  `/dedupe/by: is too short: 0 of at least 1 items`,
		`"answer":{"within":"24h"}`:                                         ``,
		`"answer":{}`:                                                       `/answer/within: is missing`,
		`"answer":{"within":"25h"}`:                                         `/answer/within: "25h" is out of range: more than 0 and at most 24h`,
		`"answer":{"within":"1s"},"request":{"timeout":"5s"}`:               ``,
		`"answer":{"within":"1s"},"request":{"auth":"none","timeout":"5s"}`: ``,
		`"answer":{"within":"1s"},"url":"https://h/"`:                       `/answer: is given beside url` + beside,
		`"answer":{"within":"1s"},"request":{"url":"https://h/","retryFor":"5s","idempotent":true,"headers":{"a":"b"}}`: `/answer: is given beside url, request.headers, request.retryFor, request.idempotent` + beside,
		`"answer":{"within":"1s"},"request":{"auth":"basic","basic":{"username":"u","password":"p"}}`:                   `/answer: is given beside request.auth, request.basic` + beside,
		`"answer":{"within":"1s"},"type":"sqlite-sql","source":"s","statement":"SELECT 1"`:                              `/answer: is given beside type` + beside,
	})
}

func TestHeldToolIsReadAndWritten(t *testing.T) {
	const held = `{"name":"refund","schema":[{"parameter":"n","type":"number"}],"settle":"800ms","cancelOnNext":true,"confirm":"once",` +
		`"dedupe":{"by":["n"],"within":"10m"},"answer":{"within":"100us"},"request":{"timeout":"5s"}}`
	tool, faults := decodeTool(t, held)
	require.Empty(t, faults)
	require.Equal(t, repositories.Duration(800*time.Millisecond), tool.Settle)
	require.True(t, tool.CancelOnNext && tool.Calls() && !tool.RunsStatement())
	require.Equal(t, repositories.ConfirmOnce, tool.Confirm)
	require.Equal(t, &repositories.Dedupe{By: []string{"n"}, Within: repositories.Duration(10 * time.Minute), Scope: repositories.DedupeSession}, tool.Dedupe)
	require.Equal(t, repositories.Duration(time.Millisecond), tool.Answer.Within, "rounded up")
	stored, err := json.Marshal(tool)
	require.NoError(t, err)
	again, faults := decodeTool(t, string(stored))
	require.Empty(t, faults, "what is returned can be sent back")
	restored, err := json.Marshal(again)
	require.NoError(t, err)
	require.JSONEq(t, string(stored), string(restored))
}
