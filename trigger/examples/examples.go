// Package examples tries the examples of tools on a matcher, each as a message without history, and reports
// those that do not set off their own tool. Nothing is stored or called.
package examples

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/trigger/conversation"
)

// Stage tries examples: a matcher that asks no model, and a request without its text. It is not safe for
// concurrent use.
type Stage struct {
	Matcher matcher.Matcher
	Request matcher.Request
	// Most bounds the examples tried; 0 for any number.
	Most int
	// Untried counts those not tried, for Most or for time.
	Untried int

	tried int
}

// Faults returns the examples of a repository that do not set off their own tool, or set off another as well:
// their effect, a remedy, and their place in the repository. Tools out of scope have none.
func (s *Stage) Faults(ctx context.Context, of *repositories.Repository) fault.List {
	var found fault.List
	for i := range of.Tools {
		s.tryEach(ctx, matcher.Candidate{Repository: of, Tool: &of.Tools[i]}, func(c matcher.Candidate, j int, said string) {
			if why := s.fault(ctx, c, said); why != "" {
				found.Add(fault.Point("tools", i, "examples", j), "%s", why)
			}
		})
	}
	return found
}

// TakenFromOthers returns the examples of other repositories that a tool of this one takes away.
func (s *Stage) TakenFromOthers(ctx context.Context, by *repositories.Repository) []string {
	var found []string
	for _, other := range s.Request.Candidates {
		if other.Repository == by || other.Repository.SessionID != by.SessionID {
			continue
		}
		s.tryEach(ctx, other, func(c matcher.Candidate, j int, said string) {
			tried := s.try(ctx, s.Request, c, said)
			if !tried.fires && slices.ContainsFunc(tried.others, func(one matcher.Candidate) bool { return one.Repository == by }) {
				found = append(found, fmt.Sprintf("tool %q of repository %q: examples/%d %s", c.Tool.Name, c.Repository.ID, j, s.unintended(c, said, tried)))
			}
		})
	}
	return found
}

// tryEach tries the examples of a tool in scope, within the bounds.
func (s *Stage) tryEach(ctx context.Context, c matcher.Candidate, say func(c matcher.Candidate, at int, said string)) {
	at, in := s.Request.Place(c.Tool.Name)
	if !in || s.Request.Candidates[at].Repository != c.Repository {
		return
	}
	for i, said := range c.Tool.Spoken() {
		if s.Most > 0 && s.tried == s.Most || ctx.Err() != nil {
			s.Untried += len(c.Tool.Examples) - i
			return
		}
		s.tried++
		say(s.Request.Candidates[at], i, said)
	}
}

// outcome is the outcome of an example.
type outcome struct {
	// fires reports that its own tool fires; others fire too, or are called for.
	fires  bool
	others []matcher.Candidate
	// match is the match of its own tool; nil for none.
	match *matcher.Match
	// incomplete is the incomplete call of its own tool; nil for none.
	incomplete *matcher.Rejected
	trace      *matcher.Trace
}

func (s *Stage) try(ctx context.Context, request matcher.Request, c matcher.Candidate, said string) outcome {
	ctx, trace := matcher.Recorded(ctx)
	request.Text = said
	result, err := s.Matcher.Match(ctx, request)
	tried := outcome{fires: err != nil, trace: trace} // an error is no fault of the example
	for _, match := range conversation.Fires(result.Matches) {
		if match.Candidate == c {
			tried.fires, tried.match = true, &match
		} else {
			tried.others = append(tried.others, match.Candidate)
		}
	}
	for i, rejected := range result.Rejected {
		if rejected.Candidate != c {
			tried.others = append(tried.others, rejected.Candidate)
			continue
		}
		lacks, free := conversation.Faulty(rejected.Missing, rejected.Errors), Free(rejected.Tool)
		if len(lacks) > 0 && !slices.ContainsFunc(lacks, func(name string) bool { return !slices.Contains(free, name) }) {
			tried.fires = true
		} else {
			tried.incomplete = &result.Rejected[i]
		}
	}
	return tried
}

// Free returns the parameters of a tool for which an example needs no value: the user is asked for it, or a
// token has it.
func Free(tool *repositories.Tool) []string {
	var free []string
	for _, parameter := range tool.Params().List() {
		if parameter.Hidden || tool.Params().Ask(parameter.Name) != "" {
			free = append(free, parameter.Name)
		}
	}
	return free
}

// fault returns the fault of an example; empty for none.
func (s *Stage) fault(ctx context.Context, c matcher.Candidate, said string) string {
	tried := s.try(ctx, s.Request, c, said)
	if tried.fires && len(tried.others) == 0 {
		return unread(c, said, tried.match)
	}
	if detail := s.unintended(c, said, tried); detail != "" {
		return detail
	}
	why := tried.trace.Silence + "; put it in other words"
	alone := s.Request
	alone.Candidates, alone.Shared, alone.Own = []matcher.Candidate{c}, nil, nil
	if same := s.toolsWith(said, c); len(same) > 0 {
		why = toolNames(c, same) + " has the same example; leave it with one of them"
	} else if s.try(ctx, alone, c, said).fires {
		nearest := "the other tools"
		if i := slices.IndexFunc(tried.trace.Scores, func(near matcher.Score) bool { return near.Candidate != c }); i >= 0 {
			nearest = toolNames(c, []matcher.Candidate{tried.trace.Scores[i].Candidate})
		}
		why = fmt.Sprintf("it is as near to %s; %s", nearest, ownWords)
	}
	return fmt.Sprintf("%s does not fire it without a model: %s", fault.Show(said), why)
}

// unread describes marked words of an example that give the fired tool no value: a parameter's format is only known to
// the matcher. It is empty if all give one.
func unread(c matcher.Candidate, said string, match *matcher.Match) string {
	if match == nil {
		return ""
	}
	for _, example := range c.Tool.Marked() {
		if example.Text != said {
			continue
		}
		for _, mark := range example.Marks {
			if match.Values[mark.Parameter] == nil && !c.Tool.Params().Hidden(mark.Parameter) {
				return fmt.Sprintf("%s fires it without %s: %s is marked as that, and gives no value; mark words that do", fault.Show(said), fault.Clip(mark.Parameter), fault.Show(example.Words(mark)))
			}
		}
	}
	return ""
}

// unintended describes an unintended effect of an example; empty for none.
func (s *Stage) unintended(c matcher.Candidate, said string, tried outcome) string {
	switch {
	case tried.fires:
		return fmt.Sprintf("%s fires %s as well without a model: say one thing in an example", fault.Show(said), toolNames(c, tried.others))
	case tried.incomplete != nil:
		return fmt.Sprintf("%s does not fire it without a model: %s", fault.Show(said), whatIsMissing(*tried.incomplete))
	case len(tried.others) > 0:
		why := ownWords
		if slices.Contains(s.toolsWith(said, c), tried.others[0]) {
			why = "both have this example; leave it with one of them"
		}
		return fmt.Sprintf("%s fires %s and not it without a model: %s", fault.Show(said), toolNames(c, tried.others), why)
	}
	return ""
}

// ownWords is the remedy for an example that is nearer to a similar tool.
const ownWords = "put it in words that only this tool has"

// toolsWith returns the other tools that also have the example.
func (s *Stage) toolsWith(said string, c matcher.Candidate) (found []matcher.Candidate) {
	for _, other := range s.Request.Candidates {
		if other != c && slices.ContainsFunc(other.Tool.Spoken(), func(one string) bool { return strings.EqualFold(one, said) }) {
			found = append(found, other)
		}
	}
	return found
}

// whatIsMissing returns the missing values of a call, and how an example can contain them.
func whatIsMissing(r matcher.Rejected) string {
	var parts []string
	for _, name := range r.Missing {
		if r.Tool.Params().Ask(name) == "" {
			parts = append(parts, fmt.Sprintf("it needs a value for %s: say and mark one, as in [%s](%s), or give the parameter an ask, so that the user is asked for it", fault.Clip(name), wordsFor(r.Tool, name), fault.Clip(name)))
		}
	}
	for _, one := range r.Errors {
		if !slices.Contains(r.Missing, one.Parameter) {
			parts = append(parts, strings.TrimPrefix(one.Parameter+": ", ": ")+one.Detail)
		}
	}
	return strings.Join(parts, "; ")
}

// wordsFor returns words for a value of a parameter, if the tool has some.
func wordsFor(tool *repositories.Tool, name string) string {
	for _, example := range tool.Marked() {
		for _, mark := range example.Marks {
			if mark.Parameter == name {
				return fault.Clip(example.Words(mark))
			}
		}
	}
	for _, parameter := range tool.Params().List() {
		if parameter.Name == name && len(parameter.Allowed) > 0 {
			return fault.Clip(fmt.Sprint(parameter.Allowed[0]))
		}
	}
	return "…"
}

// mostNamed bounds the other tools that a text names.
const mostNamed = 3

// toolNames lists other tools, each with its repository if that differs.
func toolNames(c matcher.Candidate, others []matcher.Candidate) string {
	var list []string
	for _, other := range others[:min(mostNamed, len(others))] {
		name := fmt.Sprintf("%q", other.Tool.Name)
		switch {
		case other.Repository.SessionID != c.Repository.SessionID:
			name += fmt.Sprintf(" of the app's repository %q", other.Repository.ID)
		case other.Repository != c.Repository:
			name += fmt.Sprintf(" of repository %q", other.Repository.ID)
		}
		list = append(list, name)
	}
	return strings.Join(list, " and ")
}
