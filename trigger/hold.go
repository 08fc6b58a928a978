package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
	"earshot/trigger/conversation"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
	"earshot/trigger/payload"
	"earshot/trigger/state"
)

// Holds are triggers that wait for a confirmation, for their time, or for the end of one before them.
type Holds struct {
	*core
	records    *Records
	deliveries *Deliveries
	decisions  *decisions
}

// A trigger may keep its effects back: until somebody confirms it, or until the time is over
// in which it can be taken back. Whatever moves it is decided by the script that decides
// messages; package state has the ways that there are.

// confirmWithin is how long a trigger waits for a word about it.
const confirmWithin = 3 * time.Minute

// keptBack is what a held trigger keeps back, as the ledger has it.
type keptBack struct {
	Effects []keyspace.Entry `json:"effects"`
	Settle  int64            `json:"settle,omitempty"` // ms, after a confirmation
	OnNext  bool             `json:"onNext,omitempty"` // the user's next message takes it back
	Digest  string           `json:"digest,omitempty"`
	Once    bool             `json:"once,omitempty"` // the digest is not asked for again
	Fence   string           `json:"fence,omitempty"`
}

// moveOf is how a new firing begins: as a duplicate, held, or due.
func (p *planner) moveOf(c matcher.Candidate, triggerID string, says payload.Trigger) *ledger.Move {
	tool, m := c.Tool, &ledger.Move{New: true, Wait: -1}
	if tool.Dedupe != nil && p.dedupe(m, c, triggerID, says.Values) {
		return m
	}
	once := ""
	if tool.Confirm == repositories.ConfirmOnce {
		once = confirmDigest(p.Turn, c, says.Values)
	}
	switch {
	case tool.Confirm == repositories.ConfirmAlways, once != "" && !p.standing.confirmed[once], matcher.AsksFirst(p.of, p.stage, tool) != "":
		m.State, m.Wait = string(state.Confirming), confirmWithin.Milliseconds()
		if p.Session != "" {
			m.Unless = once
		}
	case tool.Settle > 0:
		m.State, m.Wait = string(state.Settling), time.Duration(tool.Settle).Milliseconds()
	}
	m.OnNext = tool.CancelOnNext && p.Session != "" && m.State == string(state.Settling)
	return m
}

// dedupe notes which fence the values have, and reports whether another trigger has it.
func (p *planner) dedupe(m *ledger.Move, c matcher.Candidate, triggerID string, values map[string]any) bool {
	of, session := c.Tool.Dedupe, p.Session
	if of.Scope == repositories.DedupeApp {
		session = ""
	}
	fence := hash("fence", of.Scope, session, c.Repository.ID, c.Tool.Name, conversation.Digest(values, of.By...))
	first, mine := p.own[fence]
	if !mine {
		m.Fence, m.Within, first = fence, time.Duration(of.Within).Milliseconds(), p.standing.firsts[fence]
	}
	if m.First = first; first != "" {
		m.State, m.Keep = string(state.Duplicate), p.store.Retention().Done.Milliseconds()
		return true
	}
	p.own[fence] = triggerID
	return false
}

// confirmDigest stands for what is confirmed: the tool, where it is fired, and its values.
func confirmDigest(in ledger.Turn, c matcher.Candidate, values map[string]any) string {
	return hash("confirm", in.App, in.Session, c.Repository.SessionID, c.Repository.ID, c.Tool.Name, conversation.Digest(values))
}

// holdBack takes the effects of the latest match out of the plan where they are not due, and
// adds the event that says so.
func (p *planner) holdBack(f plannedFiring, tool *repositories.Tool, says payload.Trigger, before int) error {
	match := &p.answer.Matches[len(p.answer.Matches)-1]
	if f.due() {
		return nil
	}
	says.Answer = nil // nobody waits for one, or not yet
	held := keptBack{Settle: time.Duration(tool.Settle).Milliseconds(), OnNext: tool.CancelOnNext && p.Session != "", Fence: f.move.Fence}
	for _, delivery := range p.effects[before:] {
		held.Effects = append(held.Effects, delivery.entry)
	}
	p.effects = p.effects[:before]
	until := p.now.Add(time.Duration(f.move.Wait) * time.Millisecond)
	match.State = shownState(state.State(f.move.State))
	match.setStates(match.State)
	switch state.State(f.move.State) {
	case state.Duplicate:
		match.Of, match.Call = f.move.First, p.standing.calls[f.move.First]
		says.Header = p.header(keyspace.EffectID(f.triggerID, payload.KindDuplicate))
		return p.tell(f, payload.KindDuplicate, says.Header, payload.Duplicate{Trigger: says, TriggerID: f.triggerID, Of: match.Of})
	case state.Settling:
		match.DueAt = &until
		return held.keep(f.move)
	}
	held.Digest, held.Once = confirmDigest(p.Turn, matcher.Candidate{Repository: f.repository, Tool: tool}, says.Values), tool.Confirm == repositories.ConfirmOnce
	match.Digest, match.Question, match.ExpiresAt = held.Digest, conversation.Question(tool, says.Values, p.language, p.text), &until
	if err := held.keep(f.move); err != nil {
		return err
	}
	says.Header = p.header(keyspace.EffectID(f.triggerID, payload.KindConfirm))
	return p.tell(f, payload.KindConfirm, says.Header, payload.Confirm{Trigger: says, TriggerID: f.triggerID, Digest: match.Digest, ExpiresAt: until, Question: match.Question})
}

func (k keptBack) keep(m *ledger.Move) error {
	text, err := exactjson.Encode(k)
	m.Held = string(text)
	return err
}

// tell adds an event about a trigger that has no effect, or not yet. It is none of the
// trigger's effects.
func (p *planner) tell(f plannedFiring, kind string, header payload.Header, says payload.Payload) error {
	event, _, err := payload.EventOf(kind, header, p.answer.Matches[len(p.answer.Matches)-1].Name, says)
	if err != nil {
		return err
	}
	return p.event(keyspace.EffectID(f.id, kind), "", event)
}

// questions are those of the triggers of a plan that begin to wait for a yes.
func (p *plan) questions() (list []ledger.Question) {
	for i, firing := range p.firings {
		if firing.move != nil && state.State(firing.move.State) == state.Confirming {
			list = append(list, ledger.Question{Trigger: firing.triggerID, Words: conversation.QuestionWords(p.answer.Matches[i].Question)})
		}
	}
	return list
}

// lastPut is what the last thing is that was put to the user, once a turn is decided: its questions,
// unless its answer reaches nobody, or the reply is something else.
func (p *planner) lastPut(t *turn, related bool) ledger.Heard {
	replied := slices.ContainsFunc(p.answer.Matches, func(m Match) bool { return m.ReturnDirect && m.due() && m.Call != nil })
	switch {
	case len(p.questions()) > 0 && !t.message.Relayed && !(replied && repliesTo(t.scope, p.answer)):
		return ledger.Asking
	case related:
		return ledger.Related
	}
	return ledger.Unrelated
}

// heldTrigger is a trigger with what it keeps back.
type heldTrigger struct {
	storedTrigger
	state state.State
	keptBack
}

// readHeld reads a trigger that may be held; ErrNotFound where it is gone.
func (r *Records) readHeld(ctx context.Context, appID, triggerID string) (*heldTrigger, error) {
	found, err := r.ledger.Held(ctx, appID, triggerID)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, fmt.Errorf("trigger %q: %w", triggerID, ErrNotFound)
	}
	stored, err := readStored(&found.StoredTrigger)
	if err != nil {
		return nil, err
	}
	h := &heldTrigger{storedTrigger: *stored, state: state.State(found.State)}
	if found.Held != "" {
		err = decode(found.Held, &h.keptBack)
	}
	return h, err
}

// move plans a held trigger's way along an action, which is one that it can take.
func (p *planner) move(h *heldTrigger, action state.Action, by string) error {
	to, _ := state.Next(h.state, action, h.Settle > 0)
	m := &ledger.Move{
		From: string(h.state), State: string(to), Wait: -1, ByClock: action == state.Release || action == state.Expire,
		OnNext: h.OnNext, Fence: h.Fence, Message: h.record.MessageID, Keep: p.store.Retention().Done.Milliseconds(),
	}
	if action == state.Confirm && h.Once {
		m.Confirmed = h.Digest
	}
	result := callResult{TriggerID: h.record.TriggerID, Error: conversation.Cancelled}
	if action == state.Confirm {
		result = callResult{TriggerID: h.record.TriggerID, Result: conversation.Confirmed}
	}
	if action != state.Release {
		text, err := exactjson.Encode(result)
		if err != nil {
			return err
		}
		m.Result = string(text)
	}
	line, err := exactjson.Encode(Moved{Time: p.now, Action: action, By: by})
	if err != nil {
		return err
	}
	m.Line = string(line)
	f := plannedFiring{id: h.firing, triggerID: h.record.TriggerID, open: len(h.Effects), move: m}
	match := h.record.Match
	match.State, match.DueAt, match.ExpiresAt, match.Digest, match.Question = shownState(to), nil, nil, "", ""
	match.setStates(StatePending)
	p.answer.Matches, p.firings = append(p.answer.Matches, match), append(p.firings, f)
	switch to {
	case state.Settling:
		m.Wait = h.Settle
		until := p.now.Add(time.Duration(h.Settle) * time.Millisecond)
		p.answer.Matches[len(p.answer.Matches)-1].DueAt = &until
		return nil
	case state.Due:
		return p.release(h)
	}
	return p.cancel(h, f, action)
}

// release adds the effects that a trigger has kept back.
func (p *planner) release(h *heldTrigger) error {
	for _, owed := range h.Effects {
		delivery, err := p.effectKept(owed)
		if err != nil {
			return err
		}
		p.effects = append(p.effects, plannedEffect{Effect: delivery, entry: owed, match: len(p.answer.Matches) - 1})
	}
	return nil
}

// effectKept is an effect that was kept back.
func (p *planner) effectKept(owed keyspace.Entry) (effect.Effect, error) {
	c := claimed{Claimed: ledger.Claimed{Entry: owed, Attempt: 1}}
	c.Effect = effectOf(p.App, c.Claimed)
	err := c.readBody(p.store)
	return c.Effect, err
}

// cancel adds the event that a trigger has ended.
func (p *planner) cancel(h *heldTrigger, f plannedFiring, action state.Action) error {
	p.answer.Matches[len(p.answer.Matches)-1].setStates(StateCancelled)
	of := h.record
	header := payload.Header{
		ID: keyspace.EffectID(f.triggerID, payload.KindCancelled), Time: p.now,
		MessageID: of.MessageID, Text: of.Text, AppID: p.App, SessionID: p.Session, Metadata: of.Metadata,
	}
	says := payload.Trigger{Header: header, RepositoryID: of.RepositoryID, Source: of.Source, Name: of.Name, Schema: of.Schema, Values: of.Values}
	return p.tell(f, payload.KindCancelled, header, payload.Cancelled{Trigger: says, TriggerID: f.triggerID, Reason: string(action)})
}

// Confirm lets a trigger go that waits for it; the digest says what was asked about, and the
// record by whom. It makes the first attempts at its effects, unless it settles first. The same
// again changes nothing: the record says that it is Repeated.
//
// Errors: ErrNotFound, ErrDigest, ErrEnded for one that ended in another way,
// keyspace.ErrUnavailable.
func (hs *Holds) Confirm(ctx context.Context, appID, triggerID, digest, by string) (Record, error) {
	return hs.move(ctx, appID, triggerID, state.Confirm, digest, by)
}

// Deny ends a trigger that waits to be confirmed. An empty digest is that of the trigger.
//
// Errors: those of Confirm.
func (hs *Holds) Deny(ctx context.Context, appID, triggerID, digest, by string) (Record, error) {
	return hs.move(ctx, appID, triggerID, state.Deny, digest, by)
}

// Cancel ends a trigger whose effects are kept back. ErrEnded where an effect is under way.
//
// Errors: ErrNotFound, ErrEnded, keyspace.ErrUnavailable.
func (hs *Holds) Cancel(ctx context.Context, appID, triggerID, by string) (Record, error) {
	return hs.move(ctx, appID, triggerID, state.Cancel, "", by)
}

// move takes a held trigger along an action, and returns its record.
func (hs *Holds) move(ctx context.Context, appID, triggerID string, action state.Action, digest, by string) (Record, error) {
	for range replans {
		h, err := hs.records.readHeld(ctx, appID, triggerID)
		if err != nil {
			return Record{}, err
		}
		if digest != "" && digest != h.record.Digest {
			return Record{}, fmt.Errorf("trigger %q: %w", triggerID, ErrDigest)
		}
		if _, can := state.Next(h.state, action, false); !can {
			return hs.movedBefore(ctx, appID, triggerID, action)
		}
		status, err := hs.take(ctx, h, action, by)
		switch {
		case err != nil:
			return Record{}, err
		case status == ledger.Committed:
			return hs.records.Trigger(ctx, appID, triggerID)
		case status == ledger.Closed:
			return Record{}, fmt.Errorf("trigger %q: %w", triggerID, repositories.ErrErasing)
		case status == ledger.Early:
			return h.record, nil
		case status == ledger.Retracted: // its time is over, and so is the wait for a message
			action = state.Retract
		}
	}
	return Record{}, fmt.Errorf("%w: trigger %q changes faster than it can be moved", keyspace.ErrUnavailable, triggerID)
}

// movedBefore is the answer to an action that a trigger cannot take any more: its record where it
// has taken that very action, since the client may have lost the first answer.
func (hs *Holds) movedBefore(ctx context.Context, appID, triggerID string, action state.Action) (Record, error) {
	record, err := hs.records.Trigger(ctx, appID, triggerID)
	if err != nil {
		return Record{}, err
	}
	for _, moved := range slices.Backward(record.Moves) {
		if moved.Action == action {
			record.Repeated = true
			return record, nil
		}
		if moved.Action != state.Release { // it came to another end since
			break
		}
	}
	return Record{}, fmt.Errorf("trigger %q %w before: it is %s", triggerID, ErrEnded, record.State)
}

// take commits a way of a held trigger, and makes the first attempts at what is due then.
func (hs *Holds) take(ctx context.Context, h *heldTrigger, action state.Action, by string) (status ledger.Status, err error) {
	of := h.record
	p := newPlanner(hs.core, ledger.Turn{App: of.AppID, Session: of.SessionID}, hs.token(), &appState{}, of.Text, "")
	p.box = keyspace.Box(of.SessionID, of.TriggerID)
	if err := p.move(h, action, by); err != nil {
		return "", err
	}
	failpoint.At(failpoint.MoveBefore)
	status, err = hs.decisions.commitPersistently(ctx, &p.plan)
	failpoint.At(failpoint.MoveReply)
	if err != nil || status != ledger.Committed {
		return status, hs.expired(p, err)
	}
	hs.wakeFor(&p.plan)
	_, err = hs.toTheEnd(func() (json.RawMessage, error) {
		r := hs.deliveries.newFirstAttempts(&p.plan)
		r.alone = action == state.Release
		if err := r.run(hs.life); err != nil {
			return nil, err
		}
		if _, err := r.save(hs.life, ledger.Report{}); err != nil || !p.few {
			return nil, err
		}
		return nil, keyspace.ErrReplicas
	})
	return status, err
}

// expired is the error of a yes that came when the time for it was over.
func (hs *Holds) expired(p *planner, err error) error {
	if err == nil && p.differs.Status == ledger.Moved && p.differs.State == "expired" {
		return fmt.Errorf("trigger %q %w: nobody has confirmed it within %s", p.firings[0].triggerID, ErrEnded, confirmWithin)
	}
	return err
}

// takeHeld moves a trigger whose time is over.
func (hs *Holds) takeHeld(appID, triggerID string) error {
	h, err := hs.records.readHeld(hs.life, appID, triggerID)
	switch {
	case errors.Is(err, ErrNotFound), err == nil && !h.state.Held():
		return hs.ledger.Let(hs.life, appID, triggerID)
	case err != nil:
		return err
	}
	failpoint.At(failpoint.HeldClaimed)
	action := state.Release
	if h.state == state.Confirming {
		action = state.Expire
	}
	_, err = hs.move(hs.life, appID, triggerID, action, "", "")
	if overtaken(err) {
		return nil
	}
	return err
}

// overtaken reports whether a trigger was not moved as somebody else was faster, or removes it.
func overtaken(err error) bool {
	return errors.Is(err, ErrEnded) || errors.Is(err, ErrNotFound) || errors.Is(err, repositories.ErrErasing)
}

// retract takes back a trigger that settles, as the user's next message came.
func (hs *Holds) retract(appID, triggerID string) {
	_, err := hs.move(hs.life, appID, triggerID, state.Retract, "", "")
	if err != nil && !overtaken(err) && hs.life.Err() == nil {
		hs.log.Warn("trigger.unretracted", "app", appID, "trigger", triggerID, "error", err.Error())
	}
}
