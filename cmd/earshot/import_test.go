package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shop is an OpenAPI document of an endpoint.
const shop = `openapi: 3.1.0
info: {title: Shop, version: "1"}
servers: [{url: "ENDPOINT/v1"}]
security: [{key: []}]
paths:
  /customers/{customer-id}/orders:
    parameters:
    - {name: customer-id, in: path, required: true, schema: {type: string}}
    get:
      operationId: listOrders
      summary: List the orders of a customer
      parameters:
      - {name: state, in: query, schema: {type: array, items: {enum: [open, paid]}}}
      - {name: limit, in: query, schema: {type: integer, maximum: 50}}
      - {name: X-Request, in: header, schema: {type: string}}
    post:
      operationId: createOrder
      description: Place an order
      security: [{login: []}]
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: '#/components/schemas/Order'}
  /notes:
    post:
      operationId: addNote
      requestBody:
        content:
          application/x-www-form-urlencoded:
            schema: {type: object, required: [text], properties: {text: {type: string}, pinned: {type: boolean}, by: {type: string}}}
  /ping:
    get: {operationId: ping, security: []}
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Api-Key}
    login: {type: http, scheme: basic}
  schemas:
    Order:
      type: object
      required: [lines]
      properties:
        id: {type: integer, readOnly: true}
        lines: {type: array, items: {type: object, properties: {sku: {type: string}, count: {type: integer}}}}
        gift: {type: boolean}
        note: {type: [string, 'null']}
        address: {type: object, properties: {street: {type: string}}}
`

func TestToolsOfAnOpenAPIDocumentReachTheAPIAsItSays(t *testing.T) {
	sink := newSink(t)
	w := devInFolder(t)
	write(t, "shop.yaml", strings.ReplaceAll(shop, "ENDPOINT", sink.URL))
	w.env["SHOP_KEY"], w.env["SHOP_USERNAME"], w.env["SHOP_PASSWORD"] = "the-key", "ann", "secret"

	r := w.run("import", "openapi", "shop.yaml", "-o", "made.yaml")
	require.Zero(t, r.code, r.err)
	require.Contains(t, r.err, "4 tools of 4 operations written to made.yaml\nto be set where it is read: SHOP_KEY, SHOP_PASSWORD, SHOP_USERNAME")
	text, err := os.ReadFile("made.yaml")
	require.NoError(t, err)
	require.NotContains(t, string(text), "the-key")
	require.Contains(t, w.run("import", "openapi", "shop.yaml", "-o", "made.yaml").err, "made.yaml is there already")
	require.Equal(t, string(text), w.ok("import", "openapi", "shop.yaml"), "to standard output")
	w.ok("import", "openapi", "shop.yaml", "-o", "made.yaml", "--force")

	w.ok("validate", "made.yaml")
	w.ok("apply", "made.yaml", "--app", "clinic")
	fire := func(name, values string) received {
		match := w.fire("s1", name, values)
		require.Equal(t, "delivered", match.Call.State, match.Call.Error)
		sink.mu.Lock()
		defer sink.mu.Unlock()
		return sink.got[len(sink.got)-1]
	}

	got := fire("listOrders", `{"customer-id":"a/b c","state":["open","paid"],"limit":7,"X-Request":"r1"}`)
	at, err := url.Parse(got.URI)
	require.NoError(t, err)
	require.Equal(t, "GET /v1/customers/a%2Fb%20c/orders", got.Method+" "+at.EscapedPath())
	require.Equal(t, url.Values{"state": {"open", "paid"}, "limit": {"7"}}, at.Query())
	require.Equal(t, "the-key", got.Header.Get("X-Api-Key"))
	require.Empty(t, got.Header.Get("Authorization"))
	require.Equal(t, "r1", got.Header.Get("X-Request"))
	require.Empty(t, got.Body)
	got = fire("listOrders", `{"customer-id":"1"}`)
	require.Equal(t, "/v1/customers/1/orders", got.URI, "what has no value is left out")

	got = fire("createOrder", `{"customer-id":"1","lines":[{"sku":"x","count":12345678901234567890}],"gift":false,"address":{"street":"\"}"}}`)
	require.Equal(t, "POST /v1/customers/1/orders", got.Method+" "+got.URI)
	require.Equal(t, `{"address":{"street":"\"}"},"gift":false,"lines":[{"count":12345678901234567890,"sku":"x"}]}`, got.Body)
	require.Equal(t, "application/json", got.Header.Get("Content-Type"))
	name, password, _ := (&http.Request{Header: got.Header}).BasicAuth()
	require.Equal(t, "ann secret", name+" "+password)
	require.Empty(t, got.Header.Get("X-Api-Key"), "the key is of other operations")

	got = fire("ping", `{}`)
	require.Equal(t, "/v1/ping", got.URI)
	require.Empty(t, got.Header.Get("X-Api-Key")+got.Header.Get("Authorization"), "it asks for nobody's credentials")

	got = fire("addNote", `{"text":"a&b=c","pinned":false}`)
	require.Equal(t, "application/x-www-form-urlencoded", got.Header.Get("Content-Type"))
	form, err := url.ParseQuery(got.Body)
	require.NoError(t, err)
	require.Equal(t, url.Values{"text": {"a&b=c"}, "pinned": {"false"}}, form)

	refused := w.call(422, "POST", "/v1/apps/clinic/sessions/s1/triggers", `{"name":"listOrders","source":"ui","values":{"customer-id":"1","limit":51,"state":["lost"]}}`)
	var problem struct{ Errors []struct{ Pointer string } }
	require.NoError(t, json.Unmarshal([]byte(refused.Body), &problem))
	require.Len(t, problem.Errors, 2)
}

func TestOpenAPIDocumentWithFaultsIsNotImported(t *testing.T) {
	inFolder(t)
	write(t, "wrong.yaml", "openapi: 3.1.0\npaths:\n  /a: {$ref: 'other.yaml#/a'}\n  /b: {$ref: '#/paths/c'}\n")
	r := command(t, nil, "import", "openapi", "wrong.yaml", "-o", "made.yaml")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, `wrong.yaml:3:14: refers to another document, "other.yaml#/a"`)
	require.Contains(t, r.err, `wrong.yaml:4:14: refers to "#/paths/c"`)
	require.NoFileExists(t, "made.yaml")
	require.NotZero(t, command(t, nil, "import", "swagger", "wrong.yaml").code)
}
