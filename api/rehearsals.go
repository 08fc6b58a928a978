package api

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"earshot/api/admission"
	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/repositories"
	"earshot/repositories/bodies"
	"earshot/repositories/fault"
	"earshot/repositories/files"
	"earshot/repositories/store"
	"earshot/trigger/ledger"
	"earshot/trigger/trial"
)

// Rehearser evaluates a change of tools. Its errors are those of trial.Rehearser.
type Rehearser interface {
	Rehearse(ctx context.Context, change trial.Change) (*trial.Outcome, error)
}

type rehearsals struct {
	rehearser Rehearser // nil: rehearsals are off
	store     interface {
		VersionStore
		TestStore
	}
	models Models // nil: any model may be named
	engine Messages
	bodies *bodies.Definitions
}

func (h rehearsals) routes() []route {
	return []route{{method: http.MethodPost, path: ofApp + "/rehearsals", handle: withBody(h.post), reads: true, kind: admission.Rehearsal}}
}

// rehearsed is a repository under trial: one of its versions, or a definition.
type rehearsed struct {
	Version    int             `json:"version"`
	Definition json.RawMessage `json:"definition"`
}

func (h rehearsals) post(c echo.Context, body []byte) error {
	if h.rehearser == nil {
		return answer.NewProblem(answer.UnknownPath, "this service rehearses nothing")
	}
	var given struct {
		Repositories map[string]rehearsed `json:"repositories"`
		Messages     *int                 `json:"messages"`
		Tests        json.RawMessage      `json:"tests"`
		Model        string               `json:"model"`
	}
	if err := h.bodies.Decode("Rehearsal", body, &given); err != nil {
		return err
	}
	appID := c.Param("appId")
	change := trial.Change{AppID: appID, Model: given.Model, Messages: trial.MostMessages}
	if given.Model != "" {
		change.Messages = trial.MostByModel
	}
	var wrong fault.List
	if given.Messages != nil {
		if *given.Messages > change.Messages {
			wrong.Add(fault.Point("messages"), "is %d; the most is %d with a model, which costs money, and %d by words", *given.Messages, trial.MostByModel, trial.MostMessages)
		}
		change.Messages = *given.Messages
	}
	if given.Model != "" && given.Model != trial.DefaultModel && h.models != nil {
		if err := h.models.CheckModel(given.Model); err != nil {
			wrong.Add(fault.Point("model"), "%s", err)
		}
	}
	if err := wrong.Err(); err != nil {
		return err
	}
	var err error
	if change.Repositories, err = h.repositories(c, given.Repositories); err != nil {
		return err
	}
	if change.Tests, err = h.tests(c.Request().Context(), appID, given.Tests); err != nil {
		return err
	}
	if given.Model != "" { // each message may ask the model twice
		said := change.Messages
		for _, test := range change.Tests {
			said += len(test.Chat)
		}
		use := ledger.Use{Messages: said * (1 + min(1, len(change.Repositories))), AppAlone: true}
		if err := h.engine.Count(c.Request().Context(), appID, "", use); err != nil {
			return err
		}
	}
	found, err := h.rehearser.Rehearse(c.Request().Context(), change)
	missing := (*trial.NoModelError)(nil)
	if errors.As(err, &missing) {
		return fault.List{{Pointer: fault.Point("model"), Detail: missing.Error()}}
	}
	return answer.Result(c, http.StatusOK, found, err)
}

// repositories returns the changed repositories as they would be stored.
func (h rehearsals) repositories(c echo.Context, given map[string]rehearsed) (list []*repositories.Repository, err error) {
	ctx, appID, owner := c.Request().Context(), c.Param("appId"), auth.PrincipalOf(c).Owner()
	for _, id := range slices.Sorted(maps.Keys(given)) {
		of := given[id]
		if err := repositories.CheckID("the id", id); err != nil {
			return nil, fault.List{{Pointer: fault.Point("repositories", id), Detail: err.Error()}}
		}
		var change store.RepositoryChange
		switch {
		case (of.Version > 0) == (len(of.Definition) > 0):
			return nil, fault.List{{Pointer: fault.Point("repositories", id), Detail: "needs version, or definition, and not both"}}
		case of.Version > 0:
			if change, err = h.store.ToVersion(ctx, appID, id, of.Version); err != nil {
				if missing := (*repositories.NotFoundError)(nil); errors.Is(err, store.ErrDeleted) || errors.As(err, &missing) {
					return nil, fault.List{{Pointer: fault.Point("repositories", id, "version"), Detail: err.Error()}}
				}
				return nil, err
			}
		default:
			next, err := repositories.DecodeRepository(repositories.Scope{AppID: appID}, id, of.Definition)
			if err != nil {
				return nil, faultsWithin(err, fault.Point("repositories", id, "definition"))
			}
			change = store.ToRepository(next)
		}
		next, err := h.store.NextRepository(ctx, change.By(owner))
		if err != nil {
			return nil, faultsWithin(err, fault.Point("repositories", id, "definition"))
		}
		list = append(list, next)
	}
	return list, nil
}

// faultsWithin prefixes faults with the pointer of their part of the body.
func faultsWithin(err error, at string) error {
	var faults fault.List
	if !errors.As(err, &faults) {
		return err
	}
	moved := slices.Clone(faults)
	for i := range moved {
		moved[i].Pointer = at + moved[i].Pointer
	}
	return moved
}

// tests returns the selected tests: all, some by name, or none.
func (h rehearsals) tests(ctx context.Context, appID string, given json.RawMessage) (list []*files.Test, err error) {
	var all bool
	var names []string
	if json.Unmarshal(given, &all) != nil {
		_ = json.Unmarshal(given, &names) // the schema allows nothing else
	}
	if all {
		for after, more := "", true; more; more = after != "" {
			var page []*store.Test
			if page, after, err = h.store.Tests(ctx, appID, after, maxLimit); err != nil {
				return nil, err
			}
			for _, one := range page {
				if list, err = added(list, one); err != nil {
					return nil, err
				}
			}
		}
		return list, nil
	}
	for i, name := range names {
		one, err := h.store.Test(ctx, appID, name)
		if errors.Is(err, repositories.ErrNotFound) {
			return nil, fault.List{{Pointer: fault.Point("tests", i), Detail: err.Error()}}
		}
		if err == nil {
			list, err = added(list, one)
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

func added(list []*files.Test, stored *store.Test) ([]*files.Test, error) {
	test, err := files.ReadTest(stored.Name, stored.Body)
	return append(list, test), err
}
