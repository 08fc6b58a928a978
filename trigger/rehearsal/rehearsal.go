// Package rehearsal holds a conversation in memory: messages are matched and decided as in a
// session of the service, and nothing is stored, published or called. What the session would
// keep in mind is kept: what was said and set off, calls that lack values, questions that wait
// for a yes, repositories that fire once and have.
package rehearsal

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/trigger/conversation"
	"earshot/trigger/explain"
)

// Options say what a conversation is held with. All are required but the last two.
type Options struct {
	Matcher matcher.Matcher
	App     *repositories.App
	// Tools are those in scope; any number of conversations may have the same.
	Tools *Tools
	// Now is the time of the next message, where its user is.
	Now func() time.Time
	// History is how many earlier messages the matcher sees.
	History int
	// Language is that of the user, as a tag of BCP 47.
	Language string
}

// Conversation is one that is held in memory. It is not safe for concurrent use.
type Conversation struct {
	options Options
	history []matcher.Utterance
	open    []conversation.Begun
	// asked are the calls whose question is the last thing that was put to the user, waiting all
	// that were asked.
	asked, waiting []*matcher.PastCall
	// held are the calls behind them, by their ids.
	held      map[string]Call
	confirmed map[string]bool   // digests that the user said yes to, once and for all
	fences    map[string]string // the first trigger of each, of equal values
	// tools are those that are left: a repository that fires once may have.
	tools *Tools
	// reply is what the assistant would say, unless somebody says what it does.
	reply string
	count int
}

// Tools are those of an app's repositories, made ready once for any number of conversations.
type Tools struct {
	ranked []*repositories.Repository // in the order in which they win a name
	shared *matcher.Shared
	// catchAll takes what nothing else does; nil for none.
	catchAll *matcher.Candidate
}

// ToolsOf makes the tools of repositories ready.
func ToolsOf(list []*repositories.Repository) *Tools {
	ranked := slices.DeleteFunc(slices.Clone(list), func(r *repositories.Repository) bool { return r.Options.Template })
	slices.SortStableFunc(ranked, repositories.Rank)
	named := map[string]matcher.Candidate{}
	for _, repository := range ranked {
		for i := range repository.Tools {
			tool := &repository.Tools[i]
			if _, taken := named[tool.Name]; !taken && !tool.AsksForUser() {
				named[tool.Name] = matcher.Candidate{Repository: repository, Tool: tool}
			}
		}
	}
	made := &Tools{ranked: ranked, shared: &matcher.Shared{}}
	if one, has := named[repositories.CatchAll]; has {
		made.catchAll = &one
		delete(named, repositories.CatchAll)
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		made.shared.Tools = append(made.shared.Tools, named[name])
	}
	return made
}

// New begins a conversation.
func New(o Options) *Conversation {
	return &Conversation{options: o, tools: o.Tools, held: map[string]Call{}, confirmed: map[string]bool{}, fences: map[string]string{}}
}

// Call is a tool that a message has set off.
type Call struct {
	matcher.Candidate
	Values map[string]any
	// Asks says that it has no effect until the user says yes, Again that it has none as the
	// same was done before, Ended that the user has said no.
	Asks, Again, Ended bool
	question           string // of one that asks
}

// Outcome is what came of a message.
type Outcome struct {
	Stage    string
	Calls    []Call
	Rejected []matcher.Rejected
	// Why says in a sentence how it came about; Trace has the rest.
	Why   string
	Trace *matcher.Trace
}

// Agent adds what the agent says.
func (c *Conversation) Agent(text string) {
	c.asked = nil
	for _, past := range c.waiting {
		if call := c.held[past.TriggerID]; call.Asks && conversation.Asks(text, call.question) {
			c.asked = append(c.asked, past)
		}
	}
	c.reply = ""
	c.heard(matcher.Utterance{Actor: matcher.ActorAgent, Text: text})
}

// Past adds what the user has said before, and was decided elsewhere.
func (c *Conversation) Past(text string) {
	c.heard(matcher.Utterance{Actor: matcher.ActorUser, Text: text})
}

// User matches and decides what the user says. The error is the matcher's: nothing is decided
// then, and the message stays in the conversation.
func (c *Conversation) User(ctx context.Context, text string) (Outcome, error) {
	if c.reply != "" {
		c.heard(matcher.Utterance{Actor: matcher.ActorAgent, Text: c.reply})
		c.reply = ""
	}
	if outcome, plain := c.consented(text); plain {
		return outcome, nil
	}
	tools, catchAll := c.tools.shared.Tools, c.tools.catchAll
	ctx, trace := matcher.Recorded(ctx)
	result, err := c.options.Matcher.Match(ctx, c.request(text))
	said := matcher.Utterance{Actor: matcher.ActorUser, Text: text}
	if err != nil {
		c.heard(said)
		return Outcome{Trace: trace}, err
	}
	fires := conversation.Fires(result.Matches)
	outcome := Outcome{Stage: result.Stage, Rejected: result.Rejected, Trace: trace}
	outcome.Why = why(trace, result, fires, len(tools))
	if catchAll != nil && len(fires)+len(result.Rejected) == 0 {
		fires = []matcher.Match{conversation.CatchAll(*catchAll, text)}
		outcome.Why = fmt.Sprintf("Fired %s/%s, which takes what nothing else does.", catchAll.Repository.ID, catchAll.Tool.Name)
	}
	var asked []*matcher.PastCall
	said.Fired = make([]matcher.PastCall, len(fires))
	for i, match := range fires {
		call := c.fire(match, result.Stage, &said.Fired[i])
		if call.Asks {
			asked = append(asked, &said.Fired[i])
			call.question = conversation.Question(match.Tool, match.Values, c.options.Language, text)
			c.held[said.Fired[i].TriggerID] = call
		}
		outcome.Calls = append(outcome.Calls, call)
	}
	c.open = conversation.After(c.open, text, result, c.options.Now().UnixMilli())
	c.related(asked, len(fires)+len(result.Rejected) > 0)
	c.heard(said)
	c.reply = c.replyTo(result, fires)
	return outcome, nil
}

// heard adds to the history. Calls that may still be confirmed keep their place in memory.
func (c *Conversation) heard(said matcher.Utterance) {
	c.count++
	said.ID = "m" + strconv.Itoa(c.count)
	c.history = append(c.history, said)
}

// related notes which questions are the last thing that was put to the user after a message.
func (c *Conversation) related(asked []*matcher.PastCall, related bool) {
	if len(asked) > 0 || related {
		c.asked = asked
	}
	c.waiting = append(c.waiting, asked...)
}

// consented is what comes of a plain yes or no to what was asked last; false where a text is
// none, or nothing was asked.
func (c *Conversation) consented(text string) (Outcome, bool) {
	yes, no := matcher.Consents(text)
	if len(c.asked) == 0 || !yes && !no {
		return Outcome{}, false
	}
	outcome := Outcome{Stage: matcher.StageExact, Trace: &matcher.Trace{}, Why: "The user said yes, and the question of this tool was the last thing that was put to the user."}
	if no {
		outcome.Why = "The user said no, and the question of this tool was the last thing that was put to the user: " + conversation.Cancelled + "."
	}
	said := matcher.Utterance{Actor: matcher.ActorUser, Text: text}
	for _, past := range c.asked {
		call := c.held[past.TriggerID]
		call.Asks, call.Ended = false, no
		c.held[past.TriggerID] = call
		past.Result, past.Error = conversation.Confirmed, ""
		if no {
			past.Result, past.Error = nil, conversation.Cancelled
		} else if call.Tool.Confirm == repositories.ConfirmOnce {
			c.confirmed[digest(call.Candidate, call.Values)] = true
		}
		said.Fired = append(said.Fired, *past)
		outcome.Calls = append(outcome.Calls, call)
	}
	c.open = conversation.After(c.open, text, matcher.Result{}, c.options.Now().UnixMilli())
	c.asked = nil
	c.heard(said)
	return outcome, true
}

func (c *Conversation) request(text string) matcher.Request {
	history := c.history[matcher.HistoryStart(len(c.history), max(1, c.options.History)):]
	return matcher.Request{
		App: c.options.App, History: slices.Clone(history), Text: text, Candidates: c.tools.shared.Tools, Shared: c.tools.shared,
		Unfinished: conversation.Shown(c.open, text),
		Now:        c.options.Now(), Language: c.options.Language, Chat: c.chats(),
	}
}

func (c *Conversation) chats() bool {
	return c.options.App.Settings.ChatModeEnabled && !slices.ContainsFunc(c.tools.ranked, func(r *repositories.Repository) bool { return r.Options.Exclusive })
}

// fire decides how a match fires, and fills in what is remembered of it.
func (c *Conversation) fire(match matcher.Match, stage string, past *matcher.PastCall) Call {
	c.count++
	*past = matcher.PastCall{TriggerID: "t" + strconv.Itoa(c.count), Name: match.Tool.Name, Values: match.Values}
	call := Call{Candidate: match.Candidate, Values: match.Values}
	if dedupe := match.Tool.Dedupe; dedupe != nil {
		fence := match.Repository.ID + "/" + match.Tool.Name + "/" + conversation.Digest(match.Values, dedupe.By...)
		if c.fences[fence] != "" {
			call.Again, past.Error = true, conversation.DoneAlready
			return call
		}
		c.fences[fence] = past.TriggerID
	}
	switch match.Tool.Confirm {
	case repositories.ConfirmAlways:
		call.Asks = true
	case repositories.ConfirmOnce:
		call.Asks = !c.confirmed[digest(match.Candidate, match.Values)]
	default:
		call.Asks = matcher.AsksFirst(c.options.App, stage, match.Tool) != ""
	}
	if call.Asks {
		past.Error = conversation.Confirming
	}
	if match.Repository.Options.TriggerOnce {
		c.retire(match.Repository)
	}
	return call
}

// retire takes a repository out of scope that fires once and has.
func (c *Conversation) retire(r *repositories.Repository) {
	c.tools = ToolsOf(slices.DeleteFunc(slices.Clone(c.tools.ranked), func(one *repositories.Repository) bool { return one == r }))
}

// digest stands for a tool with its values.
func digest(c matcher.Candidate, values map[string]any) string {
	return c.Repository.ID + "/" + c.Tool.Name + "/" + conversation.Digest(values)
}

// replyTo is what the assistant would say to a message, as far as no tool has to be called for
// it: the model's own words, or the question for a value that lacks.
func (c *Conversation) replyTo(result matcher.Result, fires []matcher.Match) string {
	if !c.chats() || len(fires) > 0 {
		return ""
	}
	for _, rejected := range result.Rejected {
		if ask := rejected.Ask(conversation.Faulty(rejected.Missing, rejected.Errors)...); ask != "" {
			return ask
		}
	}
	return result.Text
}

// why says in a sentence what came of a message, as explanations do.
func why(trace *matcher.Trace, result matcher.Result, fires []matcher.Match, candidates int) string {
	verdicts, told := map[int]explain.Verdict{}, *trace
	told.Calls = slices.Clone(trace.Calls)
	note := func(call int, c matcher.Candidate, verdict explain.Verdict) {
		if call == 0 {
			told.Calls = append(told.Calls, matcher.Call{Candidate: c, Name: c.Tool.Name})
			call = len(told.Calls)
		}
		verdicts[call] = verdict
	}
	for _, match := range result.Matches {
		fired := slices.ContainsFunc(fires, func(one matcher.Match) bool { return one.Candidate == match.Candidate && one.Call == match.Call })
		verdict := explain.Verdict{Verdict: explain.Dropped, Why: explain.WhyDropped(match, fires)}
		if fired {
			verdict.Verdict = explain.Fired
		}
		note(match.Call, match.Candidate, verdict)
	}
	for _, rejected := range result.Rejected {
		note(rejected.Call, rejected.Candidate, explain.Verdict{Verdict: explain.Rejected})
	}
	return explain.Why(explain.Decision{Trace: &told, Verdicts: verdicts}, candidates)
}
