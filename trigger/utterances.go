package trigger

import (
	"encoding/json"
	"strings"

	"earshot/matcher"
	"earshot/trigger/ledger"
)

// callResult is what a session keeps of a call that ended, for later matching.
type callResult struct {
	TriggerID string          `json:"triggerId"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     string          `json:"error,omitempty"`
}

// readHistory turns the history into what a matcher reads, up to the message itself:
// what came after it must not decide it. Damaged entries are left out.
func readHistory(until string, history []ledger.Past) []matcher.Utterance {
	var list []matcher.Utterance
	for _, past := range history {
		if past.ID == until {
			break
		}
		list = append(list, utterances(past)...)
	}
	return list
}

// utterances are a message and the reply to it.
func utterances(past ledger.Past) []matcher.Utterance {
	var message storedMessage
	if decode(past.Message, &message) != nil {
		return nil
	}
	said := matcher.Utterance{ID: past.ID, Actor: message.Actor, Text: message.Text, Fired: readFired(past.Decision, past.Results)}
	reply := replyText(json.RawMessage(past.Reply))
	if reply == "" {
		return []matcher.Utterance{said}
	}
	return []matcher.Utterance{said, {ID: replyID(past.ID), Actor: matcher.ActorAgent, Text: reply}}
}

// readFired joins the triggers of a decision with the results that have come in.
func readFired(decision, results string) []matcher.PastCall {
	var decided Answer
	if decision == "" || decode(decision, &decided) != nil {
		return nil
	}
	ended := readResults(results)
	var list []matcher.PastCall
	for _, match := range decided.Matches {
		result := ended[match.TriggerID]
		list = append(list, matcher.PastCall{
			TriggerID: match.TriggerID, Name: match.Name, Values: match.Values,
			Result: result.Result, Error: result.Error,
		})
	}
	return list
}

// readResults reads lines of JSON; the last of a trigger holds.
func readResults(lines string) map[string]callResult {
	ended := map[string]callResult{}
	for line := range strings.Lines(lines) {
		var result callResult
		if decode(line, &result) == nil {
			ended[result.TriggerID] = result
		}
	}
	return ended
}

// replyText is the text of a reply: a call's result that is the reply itself may be
// any JSON.
func replyText(reply json.RawMessage) string {
	var text string
	if json.Unmarshal(reply, &text) == nil {
		return text
	}
	return string(reply)
}

// replyID names the reply to a message in the history.
func replyID(messageID string) string { return messageID + ".reply" }
