package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
)

// maxTests is how many tests an app may keep.
const maxTests = 200

// Test is a stored conversation test of an app. Package files reads the Body.
type Test struct {
	Name    string          `json:"name"`
	Updated time.Time       `json:"updated"`
	Body    json.RawMessage `json:"test"`
}

type testRecords struct {
	*core
	appReads *appReads
}

// putTest stores a test.
//
//	=>   created, ok, noapp, or full
var putTest = keyspace.NewScript(`
KEYS app tests
ARGV name stored limit
if redis.call('EXISTS', @app) == 0 then return 'noapp' end
if redis.call('HEXISTS', @tests, $name) == 0 and redis.call('HLEN', @tests) >= tonumber($limit) then return 'full' end
return redis.call('HSET', @tests, $name, $stored) == 1 and 'created' or 'ok'
`)

// PutTest creates or replaces the test with a name.
//
// Errors: repositories.ErrNotFound without the app, a *repositories.LimitError, keyspace.ErrUnavailable.
func (s *testRecords) PutTest(ctx context.Context, appID, name string, body json.RawMessage) (test *Test, created bool, err error) {
	test = &Test{Name: name, Updated: s.now().UTC(), Body: body}
	text, err := exactjson.Encode(test)
	if err != nil {
		return nil, false, err
	}
	k := keyspace.KeysOf(appID)
	reply, err := putTest.Run(ctx, s.db, []string{k.App(), keyspace.Tests(k)}, name, text, maxTests)
	switch {
	case err != nil:
		return nil, false, err
	case reply == "noapp":
		return nil, false, &repositories.NotFoundError{Kind: "app", ID: appID}
	case reply == "full":
		return nil, false, &repositories.LimitError{Limit: "tests", Most: maxTests, Fixed: true}
	}
	return test, reply == "created", nil
}

// Test returns a test, or repositories.ErrNotFound.
func (s *testRecords) Test(ctx context.Context, appID, name string) (*Test, error) {
	stored, err := s.db.HGet(ctx, keyspace.Tests(keyspace.KeysOf(appID)), name).Result()
	if errors.Is(err, redis.Nil) {
		return nil, &repositories.NotFoundError{Kind: "test", ID: name}
	}
	if err != nil {
		return nil, keyspace.Unavailable(err)
	}
	return readTest(stored)
}

func readTest(stored string) (*Test, error) {
	test := &Test{}
	return test, exactjson.Unmarshal([]byte(stored), test)
}

// Tests lists up to limit tests of an app by name, beginning after the given name, as many as fit on a page.
func (s *testRecords) Tests(ctx context.Context, appID, after string, limit int) (items []*Test, next string, err error) {
	if _, err := s.appReads.App(ctx, appID); err != nil {
		return nil, "", err
	}
	key := keyspace.Tests(keyspace.KeysOf(appID))
	names, err := s.db.HKeys(ctx, key).Result()
	if err != nil {
		return nil, "", keyspace.Unavailable(err)
	}
	names, next = pageAfter(names, after, limit)
	if items = []*Test{}; len(names) == 0 {
		return items, next, nil
	}
	stored, err := s.db.HMGet(ctx, key, names...).Result()
	if err != nil {
		return nil, "", keyspace.Unavailable(err)
	}
	budget := repositories.PageBudget{}
	for _, text := range keyspace.Fields(stored) {
		if text == "" { // deleted meanwhile
			continue
		}
		test, err := readTest(text)
		if err != nil {
			return nil, "", err
		}
		if !budget.Fits(test) {
			return items, items[len(items)-1].Name, nil
		}
		items = append(items, test)
	}
	return items, next, nil
}

// DeleteTest removes a test, or returns repositories.ErrNotFound.
func (s *testRecords) DeleteTest(ctx context.Context, appID, name string) error {
	removed, err := s.db.HDel(ctx, keyspace.Tests(keyspace.KeysOf(appID)), name).Result()
	if err == nil && removed == 0 {
		return &repositories.NotFoundError{Kind: "test", ID: name}
	}
	return keyspace.Unavailable(err)
}
