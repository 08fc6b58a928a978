package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/files"
	"earshot/repositories/store"
)

// TestStore keeps the tests of apps, which are expected conversations.
type TestStore interface {
	PutTest(ctx context.Context, appID, name string, body json.RawMessage) (test *store.Test, created bool, err error)
	Test(ctx context.Context, appID, name string) (*store.Test, error)
	Tests(ctx context.Context, appID, after string, limit int) (items []*store.Test, next string, err error)
	DeleteTest(ctx context.Context, appID, name string) error
}

type tests struct{ store TestStore }

const (
	// maxTest is the longest test, in bytes: a conversation of some two hundred messages.
	maxTest     = 32 << 10
	maxTestName = 128 // characters
)

func (h tests) routes() []route {
	const all, one = pathApp + "/tests", pathApp + "/tests/:testName"
	return []route{
		{method: http.MethodGet, path: all, handler: h.list, query: pageQuery},
		{method: http.MethodGet, path: one, handler: h.get},
		{method: http.MethodPut, path: one, handler: withBody(h.put), readsBody: true},
		{method: http.MethodDelete, path: one, handler: removes(h.store, TestStore.DeleteTest, "testName")},
	}
}

// checkTestName accepts a line of text: tests are named in words.
func checkTestName(name string) error {
	foreign := strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
	if foreign || name == "" || strings.TrimSpace(name) != name || utf8.RuneCountInString(name) > maxTestName || name == "." || name == ".." {
		return fmt.Errorf("must be 1 to %d printable characters, without a space at either end", maxTestName)
	}
	return nil
}

func (h tests) list(c echo.Context) error {
	page, err := pageByID(c)
	if err != nil {
		return err
	}
	items, next, err := h.store.Tests(c.Request().Context(), c.Param("appId"), page.After, page.Limit)
	return listPage(c, items, next, err)
}

func (h tests) get(c echo.Context) error {
	test, err := h.store.Test(c.Request().Context(), c.Param("appId"), c.Param("testName"))
	return answer.Result(c, http.StatusOK, test, err)
}

func (h tests) put(c echo.Context, body []byte) error {
	if len(body) > maxTest {
		return &http.MaxBytesError{Limit: maxTest}
	}
	if flaw := exactjson.TextFlaw(body); flaw != "" { // YAML has other rules
		return fault.List{{Detail: "the body " + flaw}}
	}
	name := c.Param("testName")
	read, err := files.ReadTest(name, body)
	if err != nil {
		return err
	}
	if read.AppID != "" && read.AppID != c.Param("appId") {
		return fault.List{{Pointer: "/app", Detail: "is another app than that of the path; leave it out"}}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, body); err != nil {
		return err
	}
	test, created, err := h.store.PutTest(c.Request().Context(), c.Param("appId"), name, compact.Bytes())
	if err == nil && created {
		c.Response().Header().Set(echo.HeaderLocation, c.Request().URL.Path)
	}
	return answer.Result(c, answer.Created(created), test, err)
}
