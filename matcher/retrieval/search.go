package retrieval

import (
	"math"
	"slices"

	"earshot/matcher"
	"earshot/matcher/text"
	"earshot/repositories"
)

// Weights of what makes a tool one that is looked for, which make at most 1.3 together. The words
// beside a verb outweigh it by themselves, as fewer tools know them.
const (
	likenessWeight = 0.3
	askedWeight    = 0.6    // for the share of what is asked for that the tool has
	namedWeight    = 2. / 3 // how much more that is for a tool whose name asks for nothing else
	// Shares of a word that only the tool's parameters have, that is derived from the same, or is of the same topic.
	besideShare = 0.5
	rootShare   = 0.8
	topicShare  = 0.5
	// holderShare is the weight of "account" in "a user account".
	holderShare = 0.5
	// undoingShare is what is left to a tool that undoes what is asked for, which is marked by undoes.
	undoingShare = 0.5
	undoes       = -1e6
)

// acting is what the tools of an index do, and to what: as terms, which are words, topics and acts.
type acting struct {
	tools  map[uint64][]has // term → the tools that have it
	common map[uint64][]has // the same of terms that so many have that they say next to nothing
	acts   map[uint64]bool  // those of the terms that are acts
	names  []float32        // tool → how much its name says
}

// has is a tool that has a term.
type has struct {
	tool   int32
	share  float32
	inName bool
}

// markAct is the kind of features that are acts.
const markAct = markWord + 4

func newActing(candidates []matcher.Candidate) acting {
	a := acting{map[uint64][]has{}, map[uint64][]has{}, map[uint64]bool{}, make([]float32, len(candidates))}
	var names [][]uint64
	for tool, candidate := range candidates {
		names = append(names, a.add(int32(tool), candidate.Tool))
	}
	for tool, terms := range names {
		for _, term := range terms {
			a.names[tool] += rarityOf(len(candidates), len(a.tools[term]))
		}
	}
	a.setCommonApart()
	return a
}

// add adds a tool, and returns the terms of its name.
func (a acting) add(tool int32, of *repositories.Tool) []uint64 {
	named := text.ActingIn(of.Name)
	var name []uint64
	a.does(tool, named.Acts, true)
	for _, acts := range named.Acts {
		name = append(name, hash(markAct, acts[0]))
	}
	for _, w := range named.Things {
		name = append(name, hash(markWord, w.Stem))
	}
	a.things(tool, named.Things, 1, true)
	described := text.ActingIn(of.Description)
	if acts := text.ActsOfMethod(of.Method); acts != nil && len(named.Acts) == 0 && len(described.Acts) == 0 {
		described.Acts = [][]string{acts}
	}
	a.does(tool, described.Acts, false)
	a.things(tool, described.Things, 1, false)
	for _, sample := range of.Spoken()[:min(len(of.Spoken()), maxCompared)] {
		a.things(tool, text.ActingOf(text.Split(sample)).Things, 1, false)
	}
	for _, said := range parameterTexts(of) {
		a.things(tool, text.Split(said), besideShare, false)
	}
	return name
}

func (a acting) does(tool int32, verbs [][]string, inName bool) {
	for _, act := range slices.Concat(verbs...) {
		a.acts[hash(markAct, act)] = true
		a.have(hash(markAct, act), has{tool, 1, inName})
	}
}

func (a acting) things(tool int32, words []text.Word, share float32, inName bool) {
	for _, w := range words {
		for _, one := range senses(w) {
			a.have(one.term, has{tool, share * one.share, inName})
		}
	}
}

// have notes that a tool has a term, where it has it best.
func (a acting) have(term uint64, one has) {
	list := a.tools[term]
	if n := len(list); n > 0 && list[n-1].tool == one.tool {
		list[n-1].share = max(list[n-1].share, one.share)
		list[n-1].inName = list[n-1].inName || one.inName
		return
	}
	a.tools[term] = append(list, one)
}

// setCommonApart sets apart, among many tools, what says next to nothing. Acts are few, and a
// third of all tools may read.
func (a acting) setCommonApart() {
	if len(a.names) < commonFrom {
		return
	}
	for term, tools := range a.tools {
		if most := len(a.names) / commonShare; len(tools) > 4*most || len(tools) > most && !a.acts[term] {
			a.common[term] = tools
			delete(a.tools, term)
		}
	}
}

// sense is a term that a word stands for.
type sense struct {
	term  uint64
	share float32
}

func senses(w text.Word) []sense {
	found := []sense{{hash(markWord, w.Stem), 1}}
	if root := text.Root(w.Stem); root != w.Stem {
		found = append(found, sense{hash(markWord, root), rootShare})
	}
	for _, topic := range text.Topics(w) {
		found = append(found, sense{mix(markTopic, topic), topicShare})
	}
	return found
}

// asked is one thing that a text asks for, by any of its senses; against are terms that undo it.
type asked struct {
	senses  []sense
	against []uint64
	share   float32 // of the weight that its rarity gives it
	weight  float32
	common  bool // whether it counts what says next to nothing
}

func askedBy(words []text.Word) (acts, things []asked) {
	said := text.ActingOf(words)
	for _, verb := range said.Acts {
		one := asked{share: 1}
		for _, act := range verb {
			one.senses = append(one.senses, sense{hash(markAct, act), 1})
			for _, opposite := range text.OppositesOf(act) {
				one.against = append(one.against, hash(markAct, opposite))
			}
		}
		acts = append(acts, one)
	}
	for i, w := range said.Things {
		one := asked{senses: senses(w), share: 1}
		if i > 0 && w.Is(text.HolderWords) {
			one.share = holderShare
		}
		things = append(things, one)
	}
	return acts, things
}

func rarityOf(all, tools int) float32 {
	return float32(math.Log1p(float64(all) / float64(max(tools, 1))))
}

// of lists the tools that have a term, of those that say next to nothing where that is asked for.
func (a acting) of(term uint64, common bool) []has {
	if common {
		return a.common[term]
	}
	return a.tools[term]
}

// weigh gives each thing its weight, and returns their sum.
func (s Scope) weigh(common bool, everything ...[]asked) (total float32) {
	for _, list := range everything {
		for i := range list {
			list[i].common = common
			list[i].weight = list[i].share * s.rarity(list[i])
			total += list[i].weight
		}
	}
	return total
}

// rarity is how much it says that something is asked for: the more, the fewer tools have it. It is
// 0 where no tool has it.
func (s Scope) rarity(one asked) float32 {
	most, all := 0, 0
	for _, p := range s.parts {
		all += len(p.candidates)
	}
	for _, meant := range one.senses {
		tools := 0
		for _, p := range s.parts {
			tools += len(p.acting().of(meant.term, one.common))
		}
		most = max(most, tools)
	}
	if most == 0 {
		return 0
	}
	return rarityOf(all, most)
}

// sought lists at most n of the candidates, those first that do what the words ask for, to what
// they name.
func (s Scope) sought(words []text.Word, n int) []Near {
	acts, things := askedBy(words)
	total := s.weigh(false, acts, things)
	if total == 0 {
		total = s.weigh(true, acts, things)
	}
	best := top{most: n}
	for _, p := range s.parts {
		scores, named := borrow(len(p.candidates)), borrow(len(p.candidates))
		for _, one := range acts {
			p.seek(one, total, scores.of, named.of)
		}
		for _, one := range acts {
			p.oppose(one, scores.of, named.of)
		}
		for _, one := range things {
			p.seek(one, total, scores.of, named.of)
		}
		for tool, share := range named.of {
			switch {
			case share > 0:
				scores.of[tool] *= 1 + namedWeight*min(share, 1)
			case share < 0:
				scores.of[tool] *= undoingShare
			}
		}
		p.similar(words, likenessWeight, scores.of)
		s.choose(&best, p, scores.of)
		named.giveBack()
		scores.giveBack()
	}
	return withCommon(best.list)
}

// seek adds to the scores what each tool has of one thing that is asked for, and to named how
// much of its name that is.
func (l *index) seek(one asked, total float32, scores, named []float32) {
	if one.weight == 0 {
		return
	}
	a := l.acting()
	seen := borrow(len(scores))
	defer seen.giveBack()
	for _, meant := range one.senses {
		for _, in := range a.of(meant.term, one.common) {
			share := one.weight * in.share * meant.share
			if seen.of[in.tool] >= share {
				continue
			}
			gain := share - seen.of[in.tool]
			seen.of[in.tool] = share
			scores[in.tool] += askedWeight * gain / total
			if in.inName {
				named[in.tool] += gain / a.names[in.tool]
			}
		}
	}
}

// oppose marks the tools that undo what is asked for, and do none of it.
func (l *index) oppose(one asked, scores, named []float32) {
	a := l.acting()
	for _, term := range one.against {
		for _, in := range a.of(term, one.common) {
			if scores[in.tool] == 0 {
				named[in.tool] = undoes
			}
		}
	}
}

// withCommon leaves out what has nothing in common with the words.
func withCommon(best []Near) []Near {
	if common := slices.IndexFunc(best, func(one Near) bool { return one.Score <= 0 }); common >= 0 {
		return best[:common]
	}
	return best
}
