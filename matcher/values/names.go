package values

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"earshot/matcher/datetime"
	"earshot/matcher/text"
)

// readPatterns fills e-mail addresses, URLs and telephone numbers if one parameter takes them, and the text has one. Of
// several, one counts that is not excluded, or that follows a word before the examples' values: "from a@x.org to b@x.org".
func readPatterns(f *slotFiller) {
	for _, of := range forms {
		wanted := f.slots(func(s *slot) bool { return s.pattern == of.pattern && s.Type != "array" })
		if len(wanted) != 1 {
			continue
		}
		s, found := wanted[0], addressesIn(f, of.pattern)
		if len(found) > 1 {
			found = slices.DeleteFunc(found, func(m Mention) bool { return f.Excludes(m.First, m.End) })
		}
		if len(found) > 1 && s.taught != nil { // those where examples have one
			cued := slices.DeleteFunc(slices.Clone(found), func(m Mention) bool {
				left, _ := f.sentence().leftOf(m.First)
				return !s.taught.left[left]
			})
			if len(cued) > 0 {
				found = cued
			}
		}
		switch {
		case len(found) > 1:
			namesSeveral(f, s, found[0].First, found[len(found)-1].End)
		case len(found) == 1 && !oneOfTwo(f, s, found[0].First, found[0].End):
			f.fill(s, found[0].Value, found[0].First, found[0].End)
		}
	}
}

// addressesIn returns the texts of a form.
func addressesIn(f *slotFiller, pattern *regexp.Regexp) (found []Mention) {
	for _, at := range pattern.FindAllStringIndex(f.Said, -1) {
		value := strings.TrimRight(f.Said[at[0]:at[1]], ".,;:!?)")
		first, end := f.Within(at[0], at[0]+len(value))
		found = append(found, Mention{value, first, end})
	}
	return found
}

// readNamed fills free strings after the parameter's own name: "city Paris", "title: Weekly review", "desk B",
// `name "Alice"`.
func readNamed(f *slotFiller) {
	for _, s := range f.slots(func(s *slot) bool { return s.free || s.code }) {
		named := func(at int) bool { // all meaningful words of its name are there and right before
			for _, w := range slices.Backward(s.name) {
				if w.Is(text.PlaceholderWords) {
					continue
				}
				if at < 0 || f.Words[at].Stem != w.Stem {
					return false
				}
				at--
			}
			return true
		}
		for i, w := range f.Words {
			if !s.ends(w) && !namesThing(f, s, i) || !named(i) || s.code && (!text.StartsWithDigit(f.Norm(i+1)) || len(codeReader{f}.codes(s)) > 1) {
				continue
			}
			if first, end := f.after(s, i); first < end && f.free(first, end) && !oneOfTwo(f, s, first, end) {
				f.fill(s, f.Surface(first, end), first, end)
				break
			}
		}
	}
}

// after finds the value after the name at i: a quotation; after a colon or "is", all up to the next punctuation;
// else a name or a code. It is empty for none.
func (f *slotFiller) after(s *slot, i int) (first, end int) {
	if i+1 >= len(f.Words) {
		return 0, 0
	}
	for _, q := range f.quotations() {
		if q.First == i+1 || q.First == i+2 && f.Words[i+1].Is(text.Copulas) {
			return q.First, q.End
		}
	}
	if f.Words[i+1].Is(text.PlaceholderWords) && i+2 < len(f.Words) && f.Adjoins(i) {
		i++ // the "name" of "project name Blue Sky"
	}
	gap := strings.TrimSpace(f.Gap(i))
	labelled := gap == ":" || gap == "="
	if gap != "" && !labelled {
		return 0, 0
	}
	first = i + 1
	for f.At(first).Is(text.Copulas) { // "of" introduces a name, not a code
		labelled = labelled || f.Words[first].Norm != "of"
		first++
	}
	switch end = f.properName(s, min(first, len(f.Words))); {
	case first >= len(f.Words):
		return 0, 0
	case labelled, s.sentence() && end > first: // up to punctuation, a conjunction or a date
		for end = first + 1; end < len(f.Words) && (f.Adjoins(end-1) || inName(f.Gap(end-1))); end++ {
			if f.Words[end].Is(text.BoundaryWords) || isCalendar(f.Norm(end)) || f.trailing(s, end) > end {
				break
			}
		}
		return first, end
	case end > first:
		return first, end
	}
	w := f.Words[first]
	if first == i+1 && (isIdentifier(f, first) || onlyLabel(f, first)) {
		return first, f.tied(first)
	}
	digits := strings.IndexFunc(w.Norm, unicode.IsDigit) >= 0 && !datetime.Ordinal.MatchString(w.Norm)
	ordinary := w.Norm == "a" || w.Norm == "i" || w.Is(text.StopWords) && len(w.Norm) > 1
	unusual := !ordinary && (len(w.Norm) == 1 || digits) // B, 12a, X-7
	if first == i+1 && (unusual || f.alone(i, first)) {
		return first, f.tied(first)
	}
	return 0, 0
}

// namesThing reports whether the word at i is the thing of the tool's name, and the slot its name: the "contact" of "delete the
// contact Greg Holt". A name is written with capitals.
func namesThing(f *slotFiller, s *slot, i int) bool {
	named := len(s.name) == 1 && s.name[0].Is(text.PlaceholderWords) && !s.code
	return named && i > 0 && i+1 < len(f.Words) && f.name[f.Words[i].Stem] && !acts(f, f.Words[i]) && f.Capital(i+1) && !f.Capital(i) && f.Adjoins(i)
}

// isIdentifier reports whether the word at i is of a name as programs have it: "high-latency", "search_api".
func isIdentifier(f *slotFiller, i int) bool {
	end := f.tied(i)
	return end > i+1 && !text.StartsWithDigit(f.Norm(i)) && (end == len(f.Words) || !f.Words[end].IsSubject()) && f.free(i, end)
}

// onlyLabel reports whether the word at i is the name of a day or a month, written as a name at the end of a sentence, for a tool
// that takes no day: "with the reference December".
func onlyLabel(f *slotFiller, i int) bool {
	dated := func(s *slot) bool { return s.isMoment() || s.Format != "" }
	return f.Capital(i) && isCalendar(f.Norm(i)) && f.Pause(i+1) && !slices.ContainsFunc(f.all, dated)
}

// inName reports whether the gap is possible inside a name: O'Hara, A&B, St. John's.
func inName(gap string) bool { return joiners[gap] || gap == "&" || gap == " & " || gap == "'" }

// particles returns the place after the particles of a name that begin at i, if a capitalised word follows: the "von der"
// of "Karl von der Lippe". It is i for none.
func particles(t text.Text, i int) (end int) {
	for end = i; t.At(end).Is(text.NameParticles) && t.Adjoins(end); end++ {
	}
	if end == len(t.Words) || !t.Capital(end) || t.Words[end].Is(text.StopWords) {
		return i
	}
	return end
}

// oneOfTwo reports whether the words from first to before end are one of two names for the slot, of which nobody knows
// which is meant, "to Anna or to Tom", or which cannot both be its value: "for Anna and Ben".
func oneOfTwo(f *slotFiller, s *slot, first, end int) bool {
	joins := func(i int) bool { return f.At(i).Is(text.OrWords, text.JoinWords) }
	from, to := first, end
	for from > 0 && f.At(from-1).Is(text.StopWords) && !joins(from-1) && f.Adjoins(from-1) {
		from--
	}
	before, after := from-1, end+text.JoiningPhrases.PhraseAt(f.Words, end)
	either := f.At(end).Is(text.OrWords) && f.Adjoins(end-1) || f.At(before).Is(text.OrWords) && f.Adjoins(before)
	if cue := f.At(first - 1); after > end && cue.Is(text.StopWords) && f.Norm(after) == cue.Norm {
		after++ // "to Anna and to Ben"
	}
	same := from == first || f.Norm(before-2) == f.Norm(from)
	switch {
	case either:
	case after > end && f.Adjoins(end-1) && isName(f, after):
		to = after + 1
	case joins(before) && same && f.Adjoins(before) && before > 0 && isName(f, before-1):
		from = before - 1
	default:
		return false
	}
	namesSeveral(f, s, from, to)
	return true
}

// namesSeveral records that the words from first to before end are several values for one slot.
func namesSeveral(f *slotFiller, s *slot, first, end int) {
	why := fmt.Sprintf("%q names more than one", f.Surface(first, end))
	f.reasons[s.Name], f.unusable[s.Name] = why, why
}

// isName reports whether the word at i is written like a name that no value has. A writer without capitals is not known to
// write names.
func isName(f *slotFiller, i int) bool {
	return i < len(f.Words) && !f.taken[i] && f.Capital(i) && f.Words[i].IsSubject() && !f.own[f.Words[i].Stem]
}

// trailing returns the place after the words from i on that end a name before them, i for none. A sentence and a search
// have words of time of their own.
func (f *slotFiller) trailing(s *slot, i int) int {
	if s.sentence() {
		return i
	}
	return f.Trailing(i)
}

// properName returns the end of the run of capitalised words, initials and numbers, with the particles between a person's.
func (f *slotFiller) properName(s *slot, first int) int {
	end := first
	for end < len(f.Words) {
		if past := particles(f.Text.Text, end); end > first && f.Adjoins(end-1) && s.describedFor(text.PersonNames) {
			end = past
		}
		w := f.Words[end]
		if !f.Capital(end) || isCalendar(w.Norm) || w.Norm == "i" || end > first && (w.Is(text.StopWords) || f.Trailing(end) > end) {
			break
		}
		end = f.tied(end)
		if gap := f.Gap(end - 1); end < len(f.Words) && strings.TrimSpace(gap) != "" && !inName(gap) && (gap != ". " || len(f.Norm(end-1)) > 2) {
			break // but the point of "St. John" ends no sentence
		}
		if f.Norm(end) == "of" && end+1 < len(f.Words) && f.Capital(end+1) {
			end++
		}
	}
	return end
}

// alone reports whether the word at i, in a text without capitals, is the single word after the parameter's name:
// "city paris for tomorrow". After an article the parameter's name is an ordinary word: "a desk lamp".
func (f *slotFiller) alone(name, i int) bool {
	before, w := f.At(name-1), f.Words[i]
	if name > 0 && before.IsSubject() && !f.name[before.Stem] || before.Is(text.Articles) {
		return false
	}
	if !f.Lowercase() || !w.IsSubject() || f.name[w.Stem] || w.Begins(text.InexactPhrases, text.BeforeCues, text.AfterCues, text.ClockCues, text.BoundaryWords) {
		return false
	}
	return i+1 == len(f.Words) || !f.Adjoins(i) || !f.Words[i+1].IsSubject()
}

var quotes = regexp.MustCompile(`"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|‘([^’]+)’|(?:^|\s)'([^']+)'(?:\W|$)`)

// quotations finds the quoted texts that are not taken.
func (f *slotFiller) quotations() []Mention {
	if !strings.ContainsAny(f.Said, `"“„«‘'`) {
		return nil
	}
	var found []Mention
	for _, at := range quotes.FindAllStringSubmatchIndex(f.Said, -1) {
		for group := 2; group < len(at); group += 2 {
			if at[group] < 0 {
				continue
			}
			first, end := f.Within(at[group], at[group+1])
			if end > first && f.free(first, end) {
				found = append(found, Mention{strings.TrimSpace(f.Said[at[group]:at[group+1]]), first, end})
			}
		}
	}
	return found
}

// relation connects a kind of parameter with the prepositions that introduce its value: the destination of "to
// Paris", the origin of "from London".
type relation struct {
	names text.List // in names of parameters, or in their descriptions
	cues  text.List
	// byName considers only the parameter's name.
	byName bool
	// proper accepts only capitalised names.
	proper bool
	// article accepts a phrase with an article, which is not a name: "in the kitchen".
	article bool
}

var relations = []relation{
	{names: text.OriginNames, cues: text.OriginCues, byName: true},
	{names: text.DestinationNames, cues: text.DestinationCues, byName: true},
	{names: text.PlaceNames, cues: text.PlaceCues},
	{names: text.PlaceNames, cues: text.NamedPlaceCues, proper: true},
	{names: text.RoomNames, cues: text.RoomCues, byName: true, article: true},
	{names: text.DestinationNames, cues: text.GoalCues, byName: true, proper: true},
	{names: text.PlaceNames, cues: text.GoalCues, proper: true},
	{names: text.PersonNames, cues: text.GoalCues, byName: true, proper: true},
	{names: text.PersonNames, cues: text.PersonCues},
	{names: text.PersonNames, cues: text.PersonVerbs, byName: true, proper: true},
	{names: text.PersonNames, cues: text.OfWords, byName: true, proper: true},
	{names: text.AuthorNames, cues: text.AuthorCues, byName: true},
}

func (rel relation) fits(s *slot) bool {
	return s.namedFor(rel.names) || !rel.byName && s.describedFor(rel.names)
}

// spoken reports whether the word at i can be a cue in the language of the text: "an" only in German, "a" as the French à,
// or before a goal in languages where it is no article.
func (rel relation) spoken(f *slotFiller, i int) bool {
	if rel.cues == text.OfWords {
		return f.name[f.At(i-1).Stem] // "l'absence de Paul", but not "l'hôpital de Lyon"
	}
	switch f.Norm(i) {
	case "an":
		return text.LanguageOf(f.Said) == "de"
	case "a":
		accented := strings.EqualFold(f.Surface(i, i+1), "à")
		if accented || rel.cues != text.GoalCues {
			return accented
		}
		language := cmp.Or(text.LanguageOf(f.Said), f.language) // "a Marta" is of several
		return language != "en" && language != "de" && language != ""
	}
	return true
}

// readJourney fills an origin and a destination that only together are told by prepositions with other uses: "de Madrid a
// Roma".
func readJourney(f *slotFiller) {
	from := f.lone(func(s *slot) bool { return s.free && s.namedFor(text.OriginNames) })
	to := f.lone(func(s *slot) bool { return s.free && s.namedFor(text.DestinationNames) })
	if from == nil || to == nil || from == to {
		return
	}
	name := func(first int) (end int) {
		for end = first; f.Lowercase() && end < min(len(f.Words), first+2) && f.Words[end].IsSubject() && !f.name[f.Words[end].Stem]; end++ {
		}
		if end == first && first < len(f.Words) {
			end = f.properName(to, first)
		}
		return end
	}
	var found [][2]Mention
	for i, w := range f.Words {
		first := i + 1
		middle := name(first)
		if !w.Is(text.JourneyOrigins) || middle == first || !f.At(middle).Is(text.JourneyEnds) {
			continue
		}
		end := name(middle + 1)
		if past := particles(f.Text.Text, end); end > middle+1 && past > end {
			end = f.properName(to, past) // "Palma de Mallorca"
		}
		if end > middle+1 && f.free(first, end) {
			found = append(found, [2]Mention{{f.Surface(first, middle), first, middle}, {f.Surface(middle+1, end), middle + 1, end}})
		}
	}
	if len(found) == 1 {
		for n, s := range []*slot{from, to} {
			m := found[0][n]
			f.fill(s, m.Value, m.First, m.End)
		}
	}
}

// readPlaces fills free strings after a preposition that fits one parameter and one name.
func readPlaces(f *slotFiller) {
	for _, rel := range relations {
		s := f.lone(func(s *slot) bool { return s.free && rel.fits(s) })
		if s == nil {
			continue
		}
		var found []Mention
		for i, w := range f.Words[:max(0, len(f.Words)-1)] {
			own := rel.cues == text.PersonVerbs && acts(f, w) // "inscrivez Hugo"
			if !w.Is(rel.cues) && !own || !f.Adjoins(i) || !rel.spoken(f, i) {
				continue
			}
			first := i + 1
			if rel.article && f.Words[first].Is(text.Articles) && first+1 < len(f.Words) {
				first++
			}
			first = text.AfterKin(f.Text.Text, first)
			end := f.properName(s, first)
			if end == first && !rel.proper && (rel.article || f.Lowercase()) && !acts(f, f.At(first)) { // up to three words without capitals
				for end < min(len(f.Words), first+3) && f.Words[end].IsSubject() && !f.name[f.Words[end].Stem] && !f.taken[end] && (end == first || f.Adjoins(end-1) && f.Trailing(end) == end) {
					end++
				}
			}
			if rel.cues == text.GoalCues && particles(f.Text.Text, end) > end {
				continue // "a Palma de Mallorca", but "a Roma de Madrid"
			}
			if end > first && f.free(first, end) {
				found = append(found, Mention{f.Surface(first, end), first, end})
			}
		}
		if len(found) == 1 && !oneOfTwo(f, s, found[0].First, found[0].End) {
			f.fill(s, found[0].Value, found[0].First, found[0].End)
		}
	}
}

// anyName is a slot for names without words of its own.
var anyName = &slot{}

// readTitled fills the one free string for a name with the one name that has a title: "Frau Kern", "Mr Brown".
func readTitled(f *slotFiller) {
	first, end := 0, 0
	for i := range f.Words {
		if i < end || !text.TitledAt(f.Text.Text, i) {
			continue
		}
		if end > 0 {
			return // two names
		}
		first, end = i, f.properName(anyName, i+1)
	}
	if end == 0 || !f.free(first, end) {
		return
	}
	if s := soleName(f); s != nil && len(f.slots(freeText)) == 1 && !oneOfTwo(f, s, first, end) {
		f.fill(s, f.Surface(first, end), first, end)
	}
}

// readIdentifiers fills the one free string for a name with the identifier after the tool's verb: "scale search-api to 12".
func readIdentifiers(f *slotFiller) {
	for i := 1; i < len(f.Words); i++ {
		if !isIdentifier(f, i) || !f.Adjoins(i-1) || f.Norm(i-1) != f.verb && !acts(f, f.Words[i-1]) {
			continue
		}
		if s := soleName(f); s != nil {
			f.fill(s, f.Surface(i, f.tied(i)), i, f.tied(i))
		}
		return
	}
}

// soleName returns the one open slot for a name, or the one required among several; else nil.
func soleName(f *slotFiller) *slot {
	return f.lone(func(s *slot) bool { return s.free && !s.sentence() })
}

// readQuoted fills the one free string that is left with the one quotation that is left.
func readQuoted(f *slotFiller) {
	if s := f.lone(freeText); s != nil {
		if found := f.quotations(); len(found) == 1 {
			f.fill(s, found[0].Value, found[0].First, found[0].End)
		}
	}
}

// readLists fills arrays: with all allowed values, all numbers, or all quotations in the text.
func readLists(f *slotFiller) {
	lists := f.slots(func(s *slot) bool { return s.Type == "array" && s.Items != nil })
	if len(lists) != 1 {
		return // ambiguous
	}
	s, item := lists[0], lists[0].item
	var found []Mention
	switch {
	case len(item.Allowed) > 0 && !item.Numeric():
		found = f.mentions(item)
	case item.Numeric() && len(f.slots((*slot).counts)) == 0:
		for _, n := range f.figures() {
			found = append(found, Mention{json.Number(n.Exact), n.First, n.End})
		}
	case s.pattern != nil:
		for _, m := range addressesIn(f, s.pattern) {
			if f.free(m.First, m.End) && !f.Excludes(m.First, m.End) {
				found = append(found, m)
			}
		}
	case isText(item) && len(f.slots(freeText)) == 0:
		found = f.quotations()
	}
	var values []any
	for _, m := range found {
		values = append(values, m.Value)
		f.take(m.First, m.End)
	}
	if len(values) > 0 {
		f.fill(s, values, 0, 0)
	}
}
