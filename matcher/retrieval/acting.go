package retrieval

import (
	"math"
	"slices"

	"earshot/matcher"
	"earshot/matcher/text"
	"earshot/repositories"
)

const (
	// Shares of a word that only the tool's parameters have, with the same root, or of the same topic.
	besideShare = 0.5
	rootShare   = 0.8
	topicShare  = 0.5
	holderShare = 0.5          // the weight of "account" in "a user account"
	markAct     = markWord + 4 // the kind of features that are acts

	// Among many tools, a feature of one in commonShare of them tells next to nothing, and comparing all its tools
	// would be most of the work.
	commonFrom  = 256
	commonShare = 8
)

// acting indexes the acts of tools and their objects as terms: words, topics and acts.
type acting struct {
	tools  map[uint64][]termTool // term → tools
	common map[uint64][]termTool // the same for common terms, which tell next to nothing
	acts   map[uint64]bool       // terms that are acts
	names  []float32             // tool → total weight of its name
}

// termTool is a tool with a term.
type termTool struct {
	tool   int32
	share  float32
	inName bool
}

func newActing(candidates []matcher.Candidate) acting {
	a := acting{map[uint64][]termTool{}, map[uint64][]termTool{}, map[uint64]bool{}, make([]float32, len(candidates))}
	var names [][]uint64
	for tool, candidate := range candidates {
		names = append(names, a.add(int32(tool), candidate.Tool))
	}
	for tool, terms := range names {
		for _, term := range terms {
			a.names[tool] += rarityOf(len(candidates), len(a.tools[term]))
		}
	}
	if len(a.names) < commonFrom {
		return a
	}
	most := len(a.names) / commonShare // acts are few, and a third of all tools may read
	for term, tools := range a.tools {
		if len(tools) > 4*most || len(tools) > most && !a.acts[term] {
			a.common[term] = tools
			delete(a.tools, term)
		}
	}
	return a
}

func rarityOf(all, tools int) float32 {
	return float32(math.Log1p(float64(all) / float64(max(tools, 1))))
}

func (a acting) add(tool int32, of *repositories.Tool) (name []uint64) {
	named, described := text.ActingIn(of.Name), text.ActingIn(of.Description)
	for _, acts := range named.Acts {
		name = append(name, hash(markAct, acts[0]))
	}
	for _, w := range named.Things {
		name = append(name, hash(markWord, w.Stem))
	}
	if acts := text.ActsOfMethod(of.Method); acts != nil && len(named.Acts) == 0 && len(described.Acts) == 0 {
		described.Acts = [][]string{acts}
	}
	for i, does := range []text.Acting{named, described} {
		for _, act := range slices.Concat(does.Acts...) {
			a.acts[hash(markAct, act)] = true
			a.record(hash(markAct, act), termTool{tool, 1, i == 0})
		}
		a.things(termTool{tool, 1, i == 0}, does.Things)
	}
	for _, sample := range of.Spoken()[:min(len(of.Spoken()), maxCompared)] {
		a.things(termTool{tool, 1, false}, text.ActingOf(text.Split(sample)).Things)
	}
	for _, said := range parameterTexts(of) {
		a.things(termTool{tool, besideShare, false}, text.Split(said))
	}
	return name
}

func (a acting) things(in termTool, words []text.Word) {
	for _, w := range words {
		for _, one := range senses(w) {
			a.record(one.term, termTool{in.tool, in.share * one.share, in.inName})
		}
	}
}

// record records that a tool has a term, with the largest share.
func (a acting) record(term uint64, one termTool) {
	list := a.tools[term]
	if n := len(list); n > 0 && list[n-1].tool == one.tool {
		list[n-1].share = max(list[n-1].share, one.share)
		list[n-1].inName = list[n-1].inName || one.inName
		return
	}
	a.tools[term] = append(list, one)
}

// of lists the tools with a term, or with a common term.
func (a acting) of(term uint64, common bool) []termTool {
	if common {
		return a.common[term]
	}
	return a.tools[term]
}

// sense is a possible term of a word.
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

// sought is one thing that a text asks for, by any of its senses; against are terms that undo it.
type sought struct {
	senses  []sense
	against []uint64
	share   float32 // of the weight by rarity
	weight  float32
	common  bool // whether common terms count
}

func soughtBy(words []text.Word) (acts, things []sought) {
	said := text.ActingOf(words)
	for _, verb := range said.Acts {
		one := sought{share: 1}
		for _, act := range verb {
			one.senses = append(one.senses, sense{hash(markAct, act), 1})
			for _, opposite := range text.OppositesOf(act) {
				one.against = append(one.against, hash(markAct, opposite))
			}
		}
		acts = append(acts, one)
	}
	for i, w := range said.Things {
		one := sought{senses: senses(w), share: 1}
		if i > 0 && w.Is(text.HolderWords) {
			one.share = holderShare
		}
		things = append(things, one)
	}
	return acts, things
}
