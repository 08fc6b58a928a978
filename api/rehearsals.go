package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"earshot/api/admission"
	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/repositories"
	"earshot/repositories/bodies"
	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/files"
	"earshot/repositories/store"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
	"earshot/trigger/trial"
)

// Rehearser evaluates a change of tools. Its errors are those of trial.Rehearser.
type Rehearser interface {
	Rehearse(ctx context.Context, change trial.Change) (*trial.Outcome, error)
}

type rehearsals struct {
	rehearser Rehearser // nil: rehearsals are off
	store     Store
	models    Models // nil: any model may be named
	engine    Engine
	bodies    *bodies.Definitions
}

func (h rehearsals) routes() []route {
	return []route{{method: http.MethodPost, path: pathApp + "/rehearsals", access: messageKeys, handler: withBody(h.post), readsBody: true, share: admission.Rehearsal}}
}

// trialRepository is a repository under trial: one of its versions, or a definition.
type trialRepository struct {
	Version    int             `json:"version"`
	Definition json.RawMessage `json:"definition"`
}

func (h rehearsals) post(c echo.Context, body []byte) error {
	if h.rehearser == nil {
		return answer.NewProblem(answer.UnknownPath, "this service has no rehearsals")
	}
	var fields struct {
		Repositories map[string]trialRepository `json:"repositories"`
		Messages     *int                       `json:"messages"`
		Tests        json.RawMessage            `json:"tests"`
		Model        string                     `json:"model"`
	}
	if err := h.bodies.Decode("Rehearsal", body, &fields); err != nil {
		return err
	}
	appID := c.Param("appId")
	change := trial.Change{AppID: appID, Model: fields.Model, Messages: trial.MostMessages}
	if fields.Model != "" {
		change.Messages = trial.MostByModel
	}
	var faults fault.List
	if fields.Messages != nil {
		if *fields.Messages > change.Messages {
			faults.Add(fault.Point("messages"), "is %d; the limit is %d with a model, which costs money, and %d without", *fields.Messages, trial.MostByModel, trial.MostMessages)
		}
		change.Messages = *fields.Messages
	}
	if fields.Model != "" && fields.Model != trial.DefaultModel && h.models != nil {
		if err := h.models.CheckModel(fields.Model); err != nil {
			faults.Add(fault.Point("model"), "%s", err)
		}
	}
	if err := faults.Err(); err != nil {
		return err
	}
	var err error
	if change.Repositories, err = h.repositories(c, fields.Repositories); err != nil {
		return err
	}
	if change.Tests, err = h.tests(c.Request().Context(), appID, fields.Tests); err != nil {
		return err
	}
	if fields.Model != "" { // each message may ask the model twice
		said := change.Messages
		for _, test := range change.Tests {
			said += len(test.Chat)
		}
		use := ledger.Use{Messages: said * (1 + min(1, len(change.Repositories))), AppAlone: true}
		if err := h.engine.Count(c.Request().Context(), appID, "", use); err != nil {
			return err
		}
	}
	result, err := h.rehearser.Rehearse(c.Request().Context(), change)
	if noModel, ok := errors.AsType[*trial.NoModelError](err); ok {
		return fault.List{{Pointer: fault.Point("model"), Detail: noModel.Error()}}
	}
	return answer.Result(c, http.StatusOK, result, err)
}

// repositories returns the changed repositories as they would be stored.
func (h rehearsals) repositories(c echo.Context, definitions map[string]trialRepository) (changed []*repositories.Repository, err error) {
	ctx, appID, owner := c.Request().Context(), c.Param("appId"), auth.PrincipalOf(c).Owner()
	for _, id := range slices.Sorted(maps.Keys(definitions)) {
		definition := definitions[id]
		if err := repositories.CheckID("the id", id); err != nil {
			return nil, fault.List{{Pointer: fault.Point("repositories", id), Detail: err.Error()}}
		}
		var change store.RepositoryChange
		switch {
		case (definition.Version > 0) == (len(definition.Definition) > 0):
			return nil, fault.List{{Pointer: fault.Point("repositories", id), Detail: "needs version, or definition, and not both"}}
		case definition.Version > 0:
			if change, err = h.store.RestoreChange(ctx, appID, id, definition.Version); err != nil {
				if notFound := (*repositories.NotFoundError)(nil); errors.Is(err, store.ErrDeleted) || errors.As(err, &notFound) {
					return nil, fault.List{{Pointer: fault.Point("repositories", id, "version"), Detail: err.Error()}}
				}
				return nil, err
			}
		default:
			next, err := repositories.DecodeRepository(repositories.Scope{AppID: appID}, id, definition.Definition)
			if err != nil {
				return nil, faultsWithin(err, fault.Point("repositories", id, "definition"))
			}
			change = store.ReplaceChange(next)
		}
		next, err := h.store.NextRepository(ctx, change.WithGrantsOf(owner))
		if err != nil {
			return nil, faultsWithin(err, fault.Point("repositories", id, "definition"))
		}
		changed = append(changed, next)
	}
	return changed, nil
}

// faultsWithin prefixes faults with the pointer of their part of the body.
func faultsWithin(err error, prefix string) error {
	var faults fault.List
	if !errors.As(err, &faults) {
		return err
	}
	prefixed := slices.Clone(faults)
	for i := range prefixed {
		prefixed[i].Pointer = prefix + prefixed[i].Pointer
	}
	return prefixed
}

// tests returns the selected tests: all, some by name, or none.
func (h rehearsals) tests(ctx context.Context, appID string, selection json.RawMessage) (selected []*files.Test, err error) {
	var all bool
	var names []string
	if json.Unmarshal(selection, &all) != nil {
		_ = json.Unmarshal(selection, &names) // the schema allows nothing else
	}
	if all {
		for after, more := "", true; more; more = after != "" {
			var page []*store.Test
			if page, after, err = h.store.Tests(ctx, appID, after, maxLimit); err != nil {
				return nil, err
			}
			for _, test := range page {
				if selected, err = appendTest(selected, test); err != nil {
					return nil, err
				}
			}
		}
		return selected, nil
	}
	for i, name := range names {
		test, err := h.store.Test(ctx, appID, name)
		if errors.Is(err, repositories.ErrNotFound) {
			return nil, fault.List{{Pointer: fault.Point("tests", i), Detail: err.Error()}}
		}
		if err == nil {
			selected, err = appendTest(selected, test)
		}
		if err != nil {
			return nil, err
		}
	}
	return selected, nil
}

func appendTest(list []*files.Test, stored *store.Test) ([]*files.Test, error) {
	test, err := files.ReadTest(stored.Name, stored.Body)
	return append(list, test), err
}

// tests serves the tests of apps, which are expected conversations.
type tests struct{ store Store }

const (
	maxTest     = 32 << 10 // the longest test, in bytes: a conversation of some two hundred messages
	maxTestName = 128      // characters
)

func (h tests) routes() []route {
	const all, one = pathApp + "/tests", pathApp + "/tests/:testName"
	isName := func(name string) bool { return checkTestName(name) == nil }
	list := handleByID(isName, func(ctx context.Context, of repositories.Scope, page query.Page) ([]*store.Test, string, error) {
		return h.store.Tests(ctx, of.AppID, page.After, page.Limit)
	})
	return []route{
		{method: http.MethodGet, path: all, access: toolKeys, handler: list, query: pageQuery},
		{method: http.MethodGet, path: one, access: toolKeys, handler: finds(h.store, Store.Test, "testName")},
		{method: http.MethodPut, path: one, access: toolKeys, handler: withBody(h.put), readsBody: true},
		{method: http.MethodDelete, path: one, access: toolKeys, handler: removes(h.store, Store.DeleteTest, "testName")},
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
