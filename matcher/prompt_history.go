package matcher

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Limits on what one earlier message adds to a request, in bytes. The message that is
// matched is never cut.
const (
	mostHistoryText = 8 << 10
	mostResult      = 2 << 10
	mostCallError   = 300
)

// HistoryStart returns the index of the first of total earlier messages that a model
// shown at most limit of them sees. It moves in steps of a quarter of the limit, not
// with every message, so that consecutive turns begin with the same messages and
// providers find them in their cache. Whoever loads a part of the history only must
// begin at this index.
func HistoryStart(total, limit int) int {
	if total <= limit {
		return 0
	}
	step := max(1, limit/4)
	return min(total, (total-limit+step-1)/step*step)
}

// history renders the earlier messages, with the calls that they set off.
func (t *turn) history(utterances []Utterance) []message {
	var messages []message
	for _, utterance := range utterances {
		if utterance.Text != "" {
			speaker := roleUser
			if utterance.Actor == ActorAgent {
				speaker = roleAssistant
			}
			messages = append(messages, message{Role: speaker, Text: clip(utterance.Text, mostHistoryText)})
		}
		messages = append(messages, t.calls(utterance.Fired)...)
	}
	return messages
}

// calls renders tools that have fired: the assistant's calls, then their results.
func (t *turn) calls(fired []Fired) []message {
	if len(fired) == 0 {
		return nil
	}
	messages := make([]message, 1, 1+len(fired))
	messages[0].Role = roleAssistant
	for _, one := range fired {
		call := toolCall{
			ID:        t.newID(one.TriggerID, one.Name),
			Name:      t.names.wireName(one.Name),
			Arguments: t.names.shownValues(one.Name, one.Values),
		}
		messages[0].Calls = append(messages[0].Calls, call)
		messages = append(messages, message{
			Role: roleTool, CallID: call.ID, Text: outcome(one), Failed: one.Error != "",
		})
	}
	return messages
}

// outcome says what came of a call.
func outcome(fired Fired) string {
	switch {
	case fired.Error != "":
		return "The call failed: " + clip(fired.Error, mostCallError)
	case len(fired.Result) > 0:
		return clip(string(fired.Result), mostResult)
	default:
		return "The call was accepted; it has no result to show."
	}
}

// newID makes the id of a call that has none a provider would know. It is the same
// for the same call in every request, and of Mistral's form, the narrowest: nine
// letters or digits.
func (t *turn) newID(parts ...string) string {
	for n := 0; ; n++ {
		seed, _ := json.Marshal([]any{parts, n})
		sum := sha256.Sum256(seed)
		id := hex.EncodeToString(sum[:])[:9]
		if !t.ids[id] {
			t.ids[id] = true
			return id
		}
	}
}
