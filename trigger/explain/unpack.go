package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/parameters"
)

const maxCandidates = 1000

// Fetch reads shared parts by name. Missing ones are skipped.
type Fetch func(names []string) (map[string]string, error)

// Unpack reads the explanation of a message. It fetches shared parts at most twice, and at most maxSteps earlier
// explanations.
func Unpack(messageID, body string, fetch Fetch, earlier FetchEarlier) (Explanation, error) {
	steps := 0
	packed, err := read(body, func(messageID string) (string, error) {
		if steps++; steps > maxSteps || earlier == nil {
			return "", nil
		}
		return earlier(messageID)
	})
	if err != nil {
		return Explanation{}, err
	}
	parts := partTexts{}
	var names, lists []string // parts named by the explanation, and the lists among them
	if packed.Offered != "" {
		names = append(names, packed.Offered)
	}
	pieces := slices.Clone(packed.Scope)
	for _, request := range packed.Requests {
		pieces = append(pieces, request.Pieces...)
	}
	for _, piece := range pieces {
		kind, name := piece[:1], piece[1:]
		if kind == shared || kind == listed {
			names = append(names, name)
		}
		if kind == listed {
			lists = append(lists, name)
		}
	}
	if err := parts.fill(fetch, names); err != nil {
		return Explanation{}, err
	}
	var inner []string // parts named by the lists
	for _, list := range lists {
		for _, piece := range parts.pieces(list) {
			if name, is := strings.CutPrefix(piece, shared); is {
				inner = append(inner, name)
			}
		}
	}
	if err := parts.fill(fetch, inner); err != nil {
		return Explanation{}, err
	}
	return packed.explanation(messageID, parts), nil
}

func read(body string, earlier FetchEarlier) (packed packedExplanation, err error) {
	text, err := decompress(body)
	if err == nil {
		err = exactjson.Unmarshal(text, &packed)
	}
	if err == nil {
		err = packed.restore(earlier)
	}
	return packed, err
}

// Unmatched returns the explanation of a message that is not matched.
func Unmatched(messageID string, at time.Time) Explanation {
	return Explanation{
		MessageID: messageID, Time: at, Stage: matcher.StageNone, Why: "Nothing fired: what an agent says is matched against nothing.",
		Candidates: []Candidate{}, NotInScope: []OutOfScope{}, Requests: []Request{}, Calls: []Call{},
	}
}

type partTexts map[string][]byte

func (s partTexts) fill(fetch Fetch, names []string) error {
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return s[name] != nil })
	if len(names) == 0 {
		return nil
	}
	found, err := fetch(names)
	if err != nil {
		return err
	}
	for name, packed := range found {
		text, err := decompress(packed)
		if err != nil {
			return err
		}
		s[name] = text
	}
	return nil
}

func (s partTexts) pieces(name string) (list []string) {
	_ = json.Unmarshal(s[name], &list) // written by this package; a missing one is empty
	return list
}

func (s partTexts) texts(pieces []string) (texts []string, missing bool) {
	for _, piece := range pieces {
		kind, rest := piece[:1], piece[1:]
		if kind == literal {
			texts = append(texts, rest)
			continue
		}
		if s[rest] == nil {
			missing = true
			continue
		}
		if kind == shared {
			texts = append(texts, string(s[rest]))
			continue
		}
		inner, lost := s.texts(s.pieces(rest))
		texts, missing = append(texts, inner...), missing || lost
	}
	return texts, missing
}

func (k packedExplanation) explanation(messageID string, parts partTexts) Explanation {
	e := Explanation{
		MessageID: messageID, Time: time.UnixMilli(k.Time).UTC(), Stage: k.Stage, Why: k.Why,
		Candidates: []Candidate{}, NotInScope: []OutOfScope{}, Requests: []Request{}, Calls: []Call{}, Notes: k.Notes, Cut: k.Cut,
	}
	k.scope(&e, parts)
	for _, request := range k.Requests {
		texts, missing := parts.texts(request.Pieces)
		if missing {
			e.Cut = append(e.Cut, "parts of the request are lost")
		}
		e.Requests = append(e.Requests, Request{
			Model: request.Model, Request: jsonOrText(strings.Join(texts, "")), LeftOut: request.LeftOut, Response: jsonOrText(request.Answer),
			Error: request.Error, Millis: request.Millis, Tokens: request.Tokens,
		})
	}
	for _, call := range k.Calls {
		if call.Coerced == nil {
			call.Coerced = []string{}
		}
		if call.Errors == nil {
			call.Errors = []parameters.ValueFault{}
		}
		e.Calls = append(e.Calls, call)
	}
	return e
}

func jsonOrText(text string) json.RawMessage {
	if exactjson.Embeddable([]byte(text)) {
		return json.RawMessage(text)
	}
	return exactjson.EncodeOrNull(text)
}

func (k packedExplanation) scope(e *Explanation, parts partTexts) {
	texts, missing := parts.texts(k.Scope)
	if missing {
		e.Cut = append(e.Cut, "candidates are lost")
	}
	var listings []repositoryListing
	for _, text := range texts {
		var tool repositoryListing
		if json.Unmarshal([]byte(text), &tool) == nil {
			listings = append(listings, tool)
		}
	}
	in, out := divide(listings, k.Verified, k.Barred)
	var offered []string // to the model, if not all were shown
	_ = json.Unmarshal(parts[k.Offered], &offered)
	for _, tool := range in {
		c := Candidate{RepositoryID: tool.ID, Session: tool.Session, Name: tool.Name}
		if at := slices.IndexFunc(k.Scores, func(s packedScore) bool { return s.Name == tool.Name }); at >= 0 {
			c.Score = &k.Scores[at].Score
		}
		switch {
		case tool.Name == repositories.CatchAll:
			c.Cut, c.Why = true, "It takes what nothing else matches, and is shown to no model."
		case k.Offered != "" && !slices.Contains(offered, tool.Name):
			c.Cut = true
			c.Why = fmt.Sprintf("A request has %d tools at most and more are in scope: others are nearer to what the conversation is about.", k.Limit)
		}
		e.Candidates = append(e.Candidates, c)
	}
	// Those with scores come first, then the shown ones, in the order of their scope.
	slices.SortStableFunc(e.Candidates, func(a, b Candidate) int {
		score := func(c Candidate) float32 {
			if c.Score == nil {
				return -1
			}
			return *c.Score
		}
		shown := map[bool]int{true: 1}
		return cmp.Or(cmp.Compare(score(b), score(a)), cmp.Compare(shown[a.Cut], shown[b.Cut]))
	})
	if excess := len(e.Candidates) - maxCandidates; excess > 0 {
		e.Candidates, e.More = e.Candidates[:maxCandidates], excess
	}
	e.NotInScope = append(e.NotInScope, out[:min(len(out), maxCandidates)]...)
}
