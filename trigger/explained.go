package trigger

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"earshot/matcher"
	"earshot/trigger/conversation"
	"earshot/trigger/explain"
	"earshot/trigger/query"
	"earshot/trigger/state"
)

// explain packs the explanation of a turn's decision. If that fails, the message is decided without one. owner
// is the generation of the app that the explanation is kept for; empty if it is not kept.
func (p *planner) explain(packer *explain.Packer, log *slog.Logger, t *turn, owner string) {
	var err error
	if t.draftExplanation != "" {
		p.packed, err = packer.Redecide(t.draftExplanation, p.now, p.verdicts(t))
	} else {
		d := p.explanation(t)
		d.Owner, d.App, d.Session, d.Claims = owner, t.matchedScope.Facts(), t.matchedScope.Session, t.matchedScope.Claims
		p.packed, err = packer.Pack(d)
	}
	if err != nil {
		log.Error("explanation.lost", "app", t.App, "message", t.Turn.Message, "error", err.Error())
	}
}

// keepsExplanation reports whether the explanation of a turn is kept. If every call has fired, a share of the turns is
// kept unexplained, chosen alike on every replica.
func (p *planner) keepsExplanation(t *turn, unexplained float64) bool {
	if unexplained == 0 || t.message.Explain || t.draftExplanation != "" || len(p.fires) == 0 || len(p.fires) < len(t.trace.Calls) {
		return true
	}
	digest, _ := strconv.ParseUint(turnHash(t.Turn, t.generation)[:8], 16, 32) // always hexadecimal
	return float64(digest)/(1<<32) >= unexplained
}

// explanation returns the explanation of a turn's decision, without the app's facts.
func (p *planner) explanation(t *turn) explain.Decision {
	d := explain.Decision{
		SessionID: t.Session, MessageID: t.Turn.Message, History: t.history, Time: p.now, Stage: p.stage, Trace: *t.trace, Verdicts: p.verdicts(t),
	}
	add := func(call matcher.Call, verdict explain.Verdict) {
		d.Trace.Calls = append(slices.Clip(d.Trace.Calls), call)
		d.Verdicts = append(d.Verdicts, verdict)
	}
	for i, c := range t.consents {
		verdict := explain.Verdict{Verdict: explain.Dropped, Why: whyConsent(c.action, "trigger")}
		if c.action == state.Confirm {
			verdict.Verdict, verdict.TriggerID = explain.Fired, p.Answer.Matches[i].TriggerID
		}
		add(matcher.Call{Name: c.Record.Name, Arguments: c.Record.Values}, verdict)
	}
	if isCatchAll := len(t.consents) == 0 && len(p.Answer.Matches) > len(p.fires); isCatchAll {
		last := len(p.Answer.Matches) - 1
		match := p.Answer.Matches[last]
		add(matcher.Call{Candidate: matcher.Candidate{Repository: p.firings[last].repository}, Name: match.Name, Arguments: match.Values},
			explain.Verdict{Verdict: explain.Fired, Why: "Nothing else fired or was rejected, and this tool takes what is left.", TriggerID: match.TriggerID})
	}
	d.Why = explain.Why(d, t.candidates)
	if len(t.consents) > 0 && t.consents[0].action == state.Deny {
		var names []string
		for _, c := range t.consents {
			names = append(names, c.Record.Name)
		}
		d.Why = "Nothing fired: the message is a plain no to what " + strings.Join(names, ", ") + " asked last, and the trigger is cancelled."
	}
	if len(t.toRetract) > 0 {
		d.Why += " The message takes back what waited: " + strings.Join(t.toRetract, ", ") + "."
	}
	if t.message.CallerFires && len(t.consents) == 0 {
		d.Why = "Nothing is matched: the model of the chat is offered the tools in scope, and calls them itself."
	}
	d.Why += p.whyUnfinished(t)
	return d
}

// withheld returns why the model was not offered a tool that exists; empty if none of the name does.
func (t *turn) withheld(name string) string {
	for _, repository := range slices.Concat(t.matchedScope.Session, t.matchedScope.Repositories) {
		for i := range repository.Tools {
			if _, err := repository.Tools[i].For(t.matchedScope.Claims); err != nil && repository.Tools[i].Name == name {
				return fmt.Sprintf("The model was not offered this tool: %s.", err)
			}
		}
	}
	return ""
}

// whyUnfinished returns the effect of a message on questions and on calls that lack values, in sentences.
func (p *planner) whyUnfinished(t *turn) (why string) {
	for _, call := range t.unfinished {
		same := func(other conversation.IncompleteCall) bool {
			return other.RepositoryID == call.RepositoryID && other.Name == call.Name
		}
		if len(p.fires) == 0 && !slices.ContainsFunc(p.unfinished, same) {
			why += fmt.Sprintf(" The message drops the call of %s/%s, which lacked values.", call.RepositoryID, call.Name)
		}
	}
	switch {
	case t.otherQuestion:
		why += " A trigger waits for a yes, but its question was not the last thing that was put to the user: these words are about something else."
	case t.unansweredTool != "" && len(p.fires) == 0:
		why += fmt.Sprintf(" The trigger of %s still waits for a yes: the message is neither a plain yes nor a plain no.", t.unansweredTool)
	}
	return why
}

// whyConsent returns the effect of a message on a question of a trigger or a tool, in a sentence.
func whyConsent(action state.Action, kind string) string {
	if action == state.Confirm {
		return "The message is a plain yes, and the question of this " + kind + " was the last thing that was put to the user."
	}
	return "The message is a plain no, and the question of this " + kind + " was the last thing that was put to the user: " + conversation.Cancelled + "."
}

// verdicts returns the verdicts on the calls of the turn's trace, or of its draft's, which is gone.
func (p *planner) verdicts(t *turn) (verdicts []explain.Verdict) {
	if t.trace != nil {
		verdicts = make([]explain.Verdict, len(t.trace.Calls))
		for i, call := range t.trace.Calls {
			if call.Tool == nil && call.Dropped != "" {
				verdicts[i] = explain.Verdict{Verdict: explain.Dropped, Why: cmp.Or(t.withheld(call.Name), call.Dropped)}
			}
		}
	}
	on := func(call int) *explain.Verdict {
		for len(verdicts) < call {
			verdicts = append(verdicts, explain.Verdict{})
		}
		return &verdicts[call-1]
	}
	for call, verdict := range t.changedCalls {
		*on(call) = verdict
	}
	for i, match := range p.fires {
		fired, why, effect := p.Answer.Matches[i], explain.WhyFired(p.stage), ""
		switch fired.State {
		case query.StateConfirming:
			reason := matcher.AsksFirst(p.app, p.stage, match.Tool) // the reason need not be the tool's
			if reason != "" {
				reason = ": " + reason
			}
			why += " It asks first, and has no effect until it is confirmed" + reason + "."
			effect = "waits for a yes"
		case query.StateDuplicate:
			why += fmt.Sprintf(" Trigger %s had equal values before, and stands for it.", fired.Of)
			effect = "a duplicate: nothing is done again"
		case query.StatePending:
			why += " Its effects wait, and it can be taken back until they are due."
		}
		*on(match.Call) = explain.Verdict{Verdict: explain.Fired, Why: why, Only: effect, TriggerID: fired.TriggerID}
	}
	for _, match := range p.result.Matches {
		verdict := on(match.Call)
		if verdict.Verdict != explain.Fired {
			*verdict = explain.Verdict{Verdict: explain.Dropped, Why: explain.WhyDropped(match, p.fires)}
		}
		verdict.Evidence = match.Evidence
	}
	for _, rejected := range p.result.Rejected {
		*on(rejected.Call) = explain.Verdict{Verdict: explain.Rejected, Why: explain.WhyRejected(rejected)}
	}
	return verdicts
}
