package trigger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"earshot/matcher"
	"earshot/trigger/explain"
	"earshot/trigger/ledger"
	"earshot/trigger/state"
)

// matching is how the result came about that a turn is decided by.
type matching struct {
	trace      *matcher.Trace
	retold     string // in place of a trace: the explanation of the draft that was matched
	over       scope  // what was in scope then, with so many candidates
	candidates int
	// lost says what has become of calls, by their numbers, whose tools have changed since.
	lost map[int]explain.Verdict
}

// complete gives every match of a result, and all that is rejected, a call in the trace.
func complete(trace *matcher.Trace, result *matcher.Result) *matcher.Trace {
	for i, m := range result.Matches {
		if m.Call == 0 {
			result.Matches[i].Call = trace.Add(matcher.Call{
				Candidate: m.Candidate, Name: m.Tool.Name, Arguments: m.Values, Repaired: m.Repaired, Coerced: m.Coerced,
			})
		}
	}
	for i, r := range result.Rejected {
		if r.Call == 0 {
			result.Rejected[i].Call = trace.Add(matcher.Call{Candidate: r.Candidate, Name: r.Tool.Name, Arguments: r.Values, Errors: r.Errors})
		}
	}
	return trace
}

// lose notes that a tool is not as it was matched.
func (m *matching) lose(call int, c matcher.Candidate) {
	gone := "The tool was changed or removed while the message was matched."
	if c.Repository.Options.TriggerOnce {
		gone = fmt.Sprintf("Repository %s fires once, and was taken by something else, changed or removed while the message was matched.", c.Repository.ID)
	}
	if m.lost == nil {
		m.lost = map[int]explain.Verdict{}
	}
	m.lost[call] = explain.Verdict{Verdict: explain.Dropped, Why: gone}
}

// explained packs why a turn is decided as it is. A message is decided without where that
// fails.
func (d *decisions) explained(t *turn, p *planner, result matcher.Result, fires []matcher.Match) explain.Packed {
	var packed explain.Packed
	var err error
	if t.retold != "" {
		packed, err = explain.Retell(t.retold, p.now, t.verdicts(p, result, fires))
	} else {
		packed, err = d.packer.Pack(t.explanation(p, result, fires))
	}
	if err != nil {
		d.log.Error("explanation.lost", "app", t.App, "message", t.Turn.Message, "error", err.Error())
	}
	return packed
}

func (t *turn) explanation(p *planner, result matcher.Result, fires []matcher.Match) explain.Decision {
	trace := *t.trace
	d := explain.Decision{
		Owner: t.App + " " + t.generation.App, MessageID: t.Turn.Message, Time: p.now, Stage: result.Stage, Trace: &trace,
		App: t.over.facts(), Session: t.over.rankedSession(), Claims: t.over.claims,
		Evidence: map[int]map[string]*matcher.Evidence{}, Verdicts: t.verdicts(p, result, fires),
	}
	if t.dry {
		d.Owner = ""
	}
	for _, match := range result.Matches {
		d.Evidence[match.Call] = match.Evidence
	}
	for i, said := range t.consents {
		trace.Calls = append(slices.Clip(trace.Calls), matcher.Call{Name: said.record.Name, Arguments: said.record.Values})
		verdict := explain.Verdict{Verdict: explain.Dropped, Why: said.why()}
		if said.action == state.Confirm {
			verdict.Verdict, verdict.TriggerID = explain.Fired, p.answer.Matches[i].TriggerID
		}
		d.Verdicts[len(trace.Calls)] = verdict
	}
	if caught := len(t.consents) == 0 && len(p.answer.Matches) > len(fires); caught {
		last := p.answer.Matches[len(p.answer.Matches)-1]
		trace.Calls = append(slices.Clip(trace.Calls), matcher.Call{
			Candidate: matcher.Candidate{Repository: p.firings[len(p.firings)-1].repository}, Name: last.Name, Arguments: last.Values,
		})
		d.Verdicts[len(trace.Calls)] = explain.Verdict{Verdict: explain.Fired, Why: "Nothing else fired or was rejected, and this tool takes what is left.", TriggerID: last.TriggerID}
	}
	if d.Why = explain.Why(d, t.candidates); t.beside {
		d.Why += whyBeside
	}
	return d
}

// verdicts say what became of the calls of the trace, by their numbers.
func (t *turn) verdicts(p *planner, result matcher.Result, fires []matcher.Match) map[int]explain.Verdict {
	of := map[int]explain.Verdict{}
	maps.Copy(of, t.lost)
	for _, match := range result.Matches {
		of[match.Call] = explain.Verdict{Verdict: explain.Dropped, Why: explain.WhyDropped(match, fires)}
	}
	for i, match := range fires {
		of[match.Call] = explain.Verdict{Verdict: explain.Fired, Why: explain.WhyFired(result.Stage) + p.answer.Matches[i].kept(matcher.AsksFirst(p.of, result.Stage, match.Tool)), TriggerID: p.answer.Matches[i].TriggerID}
	}
	for _, rejected := range result.Rejected {
		of[rejected.Call] = explain.Verdict{Verdict: explain.Rejected, Why: explain.WhyRejected(rejected)}
	}
	return of
}

// kept says why a match that fires has no effect yet, or none of its own. It may ask for a reason
// that is not the tool's.
func (m Match) kept(asks string) string {
	switch m.State {
	case StateConfirming:
		if asks != "" {
			asks = ": " + asks
		}
		return " It asks first, and has no effect until it is confirmed" + asks + "."
	case StateDuplicate:
		return fmt.Sprintf(" Trigger %s had equal values before, and stands for it.", m.Of)
	case StatePending:
		return " Its effects wait, and it can be taken back until they are due."
	}
	return ""
}

var (
	// ErrNoMessage means that there is no message of that id in the history of the session.
	ErrNoMessage = errors.New("no such message is in the history of the session")
	// ErrUnexplained means that there is nothing, or nothing any more, that explains a
	// message.
	ErrUnexplained = errors.New("there is no explanation")
)

// Explain says why a decided message came out as it did, for as long as that is kept.
//
// Errors: repositories.ErrNotFound without the app, ErrNoMessage, ErrUnexplained,
// keyspace.ErrUnavailable.
func (r *Records) Explain(ctx context.Context, appID, sessionID, messageID string) (explain.Explanation, error) {
	stored, err := r.ledger.Explained(ctx, ledger.Turn{App: appID, Session: sessionID, Message: messageID})
	if err != nil {
		return explain.Explanation{}, err
	}
	if stored.Explanation == "" {
		return explain.Explanation{}, r.unexplained(ctx, appID, messageID, stored)
	}
	return r.unpack(ctx, appID, messageID, stored.Explanation)
}

func (r *Records) unpack(ctx context.Context, appID, messageID, body string) (explain.Explanation, error) {
	return explain.Unpack(messageID, body, func(names []string) (map[string]string, error) {
		return r.ledger.ExplainedParts(ctx, appID, names)
	})
}

// Message reads one message of a session, with what it set off.
//
// Errors: repositories.ErrNotFound without the app, ErrNoMessage, keyspace.ErrUnavailable.
func (r *Records) Message(ctx context.Context, appID, sessionID, messageID string) (Entry, error) {
	if err := r.appExists(ctx, appID); err != nil {
		return Entry{}, err
	}
	r.settling.waitForApp(ctx, appID)
	found, err := r.entries(ctx, appID, sessionID, []string{messageID})
	if err == nil && found[0].MessageID == "" {
		err = fmt.Errorf("message %q: %w", messageID, ErrNoMessage)
	}
	if err != nil {
		return Entry{}, err
	}
	return found[0], nil
}

// unexplained says why there is no explanation.
func (r *Records) unexplained(ctx context.Context, appID, messageID string, stored ledger.Explained) error {
	if stored.Message == "" {
		if err := r.appExists(ctx, appID); err != nil {
			return err
		}
		return fmt.Errorf("message %q: %w", messageID, ErrNoMessage)
	}
	entry, err := entryOf(messageID, ledger.StoredMessage{Message: stored.Message, Decision: stored.Decision, Answer: stored.Answer, Failure: stored.Failure})
	if err != nil {
		return err
	}
	reason := fmt.Sprintf("explanations are kept for %s", r.store.Retention().Explain)
	switch {
	case entry.Actor == matcher.ActorAgent:
		reason = "what an agent says is matched against nothing"
	case entry.State == EntryPending:
		reason = "it is not decided yet"
	case entry.State == EntryFailed:
		reason = "it is not decided: " + entry.Error
	}
	return fmt.Errorf("message %q: %w: %s", messageID, ErrUnexplained, reason)
}

// ExplainDraft says why a draft was matched as it is, as far as it is.
//
// Errors: ErrUnexplained, keyspace.ErrUnavailable.
func (r *Records) ExplainDraft(ctx context.Context, appID, sessionID, messageID string) (explain.Explanation, error) {
	body, err := r.ledger.DraftExplained(ctx, ledger.Turn{App: appID, Session: sessionID, Message: messageID})
	if err != nil {
		return explain.Explanation{}, err
	}
	if body == "" {
		return explain.Explanation{}, fmt.Errorf("draft %q: %w", messageID, ErrUnexplained)
	}
	return r.unpack(ctx, appID, messageID, body)
}
