package retrieval

import (
	"context"
	"hash/maphash"
	"slices"
	"strings"

	"earshot/matcher"
	"earshot/matcher/text"
)

// Providers charge less for a known beginning of a request, and tools are at the beginning. So a conversation's
// offer does not follow each message: it begins with a base, and grows behind it when a message is about something
// else.
const (
	// baseShare and moreShare are the eighths of the capacity that the first message fills, and that a later one
	// adds at most. With little capacity these are leastBase and leastMore tools.
	baseShare, moreShare, eighths = 5, 1, 8
	leastBase, leastMore          = 32, 4
	// leastScore is the minimum score of a message with a subject: "yes, please" is a little similar to many tools.
	// firstOfBest and aboutAsNear define its tools.
	leastScore  = 0.2
	firstOfBest = 3
	aboutAsNear = 0.8
	alsoScore   = 0.3 // the minimum score of tools added together with the best, as a share of its score
	// coverageWeight is the weight of the share of the text's subjects that the tool knows, including parameters:
	// "for four people" finds the tool with a party size.
	coverageWeight = 0.3
	historyWeight  = 0.4 // the weight of earlier messages, to which "and tomorrow?" refers
	recent         = 6   // how many earlier messages count, and recentWords how many of their words
	recentWords    = 128
	remembered     = 8 // how many messages identify a place in a conversation
)

// Offer returns at most limit of the candidates, in the order for a model. If all fit, or the limit is below one,
// it returns all in their order. Tools of a session's own repositories and of exclusive ones are pinned: they are
// first, and are cut last. Of the others it offers those that the messages of the conversation are about, oldest
// first; those for the last message follow the earlier offer, and no tool that the conversation fired is cut. When
// there is no room for more, all but the fired ones and the base are removed at once.
//
// The offer follows from the request's history, and is the same on all replicas while the history shows the whole
// conversation. Later a replica continues from its last offer.
func (r *Retriever) Offer(ctx context.Context, request matcher.Request, limit int) []matcher.Candidate {
	offered, _ := r.Scored(ctx, request, limit)
	return offered
}

// Scored is Offer, with the scores of the candidates for the last message, the best first.
func (r *Retriever) Scored(ctx context.Context, request matcher.Request, limit int) ([]matcher.Candidate, []matcher.Score) {
	if limit < 1 || len(request.Candidates) <= limit {
		return request.Candidates, nil
	}
	o := newOffer(r.indexes.Of(request), limit)
	list := o.list(r.alike(ctx, request, request.Text, limit))
	return o.candidates(list, limit), o.scope.Scores(o.best)
}

// offer is the offer of one conversation beside the pinned tools.
type offer struct {
	scope      Scope
	pinned     []ref
	alone      [][]int32 // the pinned ones by part if they alone exceed the limit; else nil
	capacity   int
	base, more int
	alike      []matcher.Score // ranks of the followed message by meaning
	best       []Near          // candidates for the last followed message
}

func newOffer(scope Scope, limit int) *offer {
	o := &offer{scope: scope, capacity: limit}
	for i, p := range scope.parts {
		for _, tool := range p.index.pinned {
			if _, in := scope.place(p, int(tool)); in {
				o.pinned = append(o.pinned, ref{int32(i), tool})
			}
		}
	}
	slices.SortFunc(o.pinned, func(a, b ref) int { return strings.Compare(scope.tool(a).Name, scope.tool(b).Name) })
	if len(o.pinned) < limit {
		o.capacity -= len(o.pinned)
	} else {
		o.alone = make([][]int32, len(scope.parts))
		for _, one := range o.pinned {
			o.alone[one.part] = append(o.alone[one.part], one.tool)
		}
		for _, tools := range o.alone {
			slices.Sort(tools)
		}
		o.pinned = nil
	}
	o.base = max(min(o.capacity, leastBase), o.capacity*baseShare/eighths)
	o.more = min(o.capacity, max(leastMore, o.capacity*moreShare/eighths))
	return o
}

// list follows the conversation from the newest message with a remembered offer. The last message is also followed
// by meaning.
func (o *offer) list(alike []matcher.Score) (list []ref) {
	history, next := o.scope.request.History, 0
	for i, said := range slices.Backward(history) {
		if said.Actor == matcher.ActorAgent {
			continue
		}
		if known, ok := o.remembered(o.key(history[:i], said.Text)); ok {
			list, next = o.fired(known, history[:i+1]), i+1
			break
		}
	}
	for ; next < len(history); next++ {
		if history[next].Actor != matcher.ActorAgent {
			list = o.fired(o.follow(list, history[:next], history[next].Text), history[:next+1])
		}
	}
	o.alike = alike
	list = o.follow(list, history, o.scope.request.Text)
	if o.scope.offered != nil {
		o.scope.offered.Add(o.key(history, o.scope.request.Text), list)
	}
	return list
}

func (o *offer) remembered(key uint64) ([]ref, bool) {
	if o.scope.offered == nil {
		return nil, false
	}
	return o.scope.offered.Get(key)
}

// key identifies a message after a history, for these tools and this capacity.
func (o *offer) key(history []matcher.Utterance, said string) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	maphash.WriteComparable(&h, [2]uint64{o.scope.identity, uint64(o.capacity)})
	for _, utterance := range history[max(0, len(history)-remembered):] {
		maphash.WriteComparable(&h, [3]string{utterance.ID, utterance.Actor, utterance.Text})
	}
	maphash.WriteComparable(&h, said)
	return h.Sum64()
}

// follow adds the message's tools to the list, unless the offer covers them already.
func (o *offer) follow(list []ref, history []matcher.Utterance, said string) []ref {
	n := o.more
	if len(list) < o.base {
		n = o.base + len(o.pinned)
	}
	o.best = o.ranked(text.Split(said), history, n)
	if o.alone == nil {
		o.best = o.scope.fused(o.best, o.alike, n)
	}
	if o.covers(list, o.best) {
		return list
	}
	var added []ref
	for _, one := range o.best {
		named := o.scope.ref(one)
		weak := len(list) >= o.base && one.Score < alsoScore*o.best[0].Score
		if !weak && !o.offers(list, named) && len(added) < max(o.more, o.base-len(list)) {
			added = append(added, named)
		}
	}
	return o.add(list, added, history)
}

// ranked lists at most n of the candidates by their similarity to the words and to the last messages, without those
// of score 0. If the pinned ones alone exceed the limit, it ranks all of these and no others.
func (o *offer) ranked(words []text.Word, history []matcher.Utterance, n int) []Near {
	var before []text.Word
	for _, utterance := range slices.Backward(history[max(0, len(history)-recent):]) {
		if len(before) >= recentWords {
			break
		}
		before = append(text.Split(utterance.Text), before...)
	}
	before = before[max(0, len(before)-recentWords):]
	best := top{most: n}
	for i, p := range o.scope.parts {
		scores := borrow(len(p.candidates))
		p.similar(words, 1, scores.of)
		p.covers(words, coverageWeight, scores.of)
		p.similar(before, historyWeight, scores.of)
		if o.alone != nil {
			for tool := range scores.of {
				if _, ok := slices.BinarySearch(o.alone[i], int32(tool)); ok {
					scores.of[tool] += 1e-6
				} else {
					scores.of[tool] = 0
				}
			}
		}
		o.scope.choose(&best, p, scores.of)
		scores.giveBack()
	}
	return withCommon(best.list)
}

// covers reports whether the list suffices for a message: none of its first best tools is missing that is about as
// near as the nearest offered one.
func (o *offer) covers(list []ref, best []Near) bool {
	weak := len(list) > 0 && o.alone == nil && len(best) > 0 && best[0].Score < leastScore
	if len(best) == 0 || weak {
		return true
	}
	nearest := float32(0)
	for _, one := range best {
		if o.offers(list, o.scope.ref(one)) {
			nearest = one.Score
			break
		}
	}
	return !slices.ContainsFunc(best[:min(len(best), firstOfBest)], func(one Near) bool {
		return one.Score >= aboutAsNear*nearest && !o.offers(list, o.scope.ref(one))
	})
}

func (o *offer) offers(list []ref, one ref) bool {
	return slices.Contains(list, one) || slices.Contains(o.pinned, one)
}

// fired adds the tools that the last message of the history fired: users correct and repeat.
func (o *offer) fired(list []ref, history []matcher.Utterance) []ref {
	for _, call := range history[len(history)-1].Fired {
		if one, _, in := o.scope.named(call.Name); in && !o.offers(list, one) {
			list = o.add(list, []ref{one}, history)
		}
	}
	return list
}

// add returns the list with more appended. It does not modify the given list.
func (o *offer) add(list, more []ref, history []matcher.Utterance) []ref {
	if len(list)+len(more) > o.capacity {
		fired := map[ref]bool{} // tools that the history fired
		for _, utterance := range history {
			for _, call := range utterance.Fired {
				if one, _, in := o.scope.named(call.Name); in && !slices.Contains(o.pinned, one) {
					fired[one] = true
				}
			}
		}
		more = more[:min(len(more), max(1, o.capacity-len(fired)))]
		list = o.evicted(list, o.capacity-len(more), fired)
	}
	return append(slices.Clip(list), more...)
}

// evicted returns at most n of the list: the base and the fired tools; the oldest of these stay longest.
func (o *offer) evicted(list []ref, n int, fired map[ref]bool) []ref {
	var kept []ref
	for i, one := range list {
		if i < o.base || fired[one] {
			kept = append(kept, one)
		}
	}
	for i := len(kept) - 1; i >= 0 && len(kept) > n; i-- {
		if !fired[kept[i]] {
			kept = slices.Delete(kept, i, i+1)
		}
	}
	return kept[max(0, len(kept)-n):]
}

// candidates returns the pinned tools, then the list, then the tools of unfinished calls, which displace the end of
// the list.
func (o *offer) candidates(list []ref, limit int) []matcher.Candidate {
	offered := make([]matcher.Candidate, 0, limit)
	for _, one := range slices.Concat(o.pinned, list) {
		if place, in := o.scope.place(o.scope.parts[one.part], int(one.tool)); in {
			offered = append(offered, o.scope.request.Candidates[place])
		}
	}
	var begun []matcher.Candidate
	for _, unfinished := range o.scope.request.Unfinished {
		one, in := o.scope.request.Named(unfinished.Tool.Name)
		if in && len(begun) < limit && !slices.Contains(offered, one) {
			begun = append(begun, one)
		}
	}
	return append(offered[:min(len(offered), limit-len(begun))], begun...)
}
