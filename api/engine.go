package api

import (
	"context"
	"encoding/json"

	"earshot/trigger"
)

// Engine is what the API needs of the ledger.
type Engine interface {
	Messages
	Triggers
}

// Messages takes chat messages and tells what came of them.
type Messages interface {
	// Post returns the stored answer, the JSON of a trigger.Answer, byte for byte the
	// same for every repeat of the message.
	Post(ctx context.Context, message trigger.Message) (json.RawMessage, error)
	// PostAsync returns as soon as the message is stored.
	PostAsync(ctx context.Context, message trigger.Message) (messageID string, err error)
	History(ctx context.Context, appID, sessionID string, page trigger.Page) (items []trigger.Entry, next string, err error)
}

// Triggers fires tools without the matcher and reads the records of what has fired.
type Triggers interface {
	// Fire returns the JSON of a trigger.Match.
	Fire(ctx context.Context, direct trigger.Direct) (json.RawMessage, error)
	Triggers(ctx context.Context, query trigger.Query) (items []trigger.Record, next string, err error)
	Trigger(ctx context.Context, appID, triggerID string) (trigger.Record, error)
	// Retry makes what has failed of a trigger due again.
	Retry(ctx context.Context, appID, triggerID string) error
	DeadLetters
}

// DeadLetters is what can be done to all failed triggers that match a query. Both
// return their number.
type DeadLetters interface {
	RetryAll(ctx context.Context, query trigger.Query) (int, error)
	Purge(ctx context.Context, query trigger.Query) (int, error)
}
