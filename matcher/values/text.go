package values

import (
	"encoding/json"
	"regexp"
	"strings"

	"earshot/matcher/datetime"
	"earshot/matcher/text"
)

// form is a pattern that identifies a kind of value by the way it is written.
type form struct {
	names   map[string]bool // stems of parameter names that ask for it
	pattern *regexp.Regexp
}

var forms = []form{
	{text.EmailNames.Stems(), regexp.MustCompile(`[\pL\pN._%+-]+@[\pL\pN-]+(?:\.[\pL\pN-]+)+`)},
	{text.LinkNames.Stems(), regexp.MustCompile(`https?://[^\s<>"']+|\bwww\.[^\s<>"']+`)},
	{text.PhoneNames.Stems(), regexp.MustCompile(`\+?\(?\d[\d ()/.-]{5,}\d`)},
}

// form returns the pattern of the values of the slot, which is a string, or nil.
func (s *slot) form() *regexp.Regexp {
	for _, f := range forms {
		if s.namedBy(f.names) {
			return f.pattern
		}
	}
	return nil
}

// readPatterns fills e-mail addresses, URLs and telephone numbers where the text has
// one and one parameter asks for it.
func (r nameReader) readPatterns() {
	for _, f := range forms {
		wanted := r.slots(func(s *slot) bool { return s.pattern == f.pattern })
		if len(wanted) != 1 {
			continue
		}
		found := f.pattern.FindAllStringIndex(r.Said, 2)
		if len(found) != 1 {
			continue
		}
		value := strings.TrimRight(r.Said[found[0][0]:found[0][1]], ".,;:!?)")
		first, end := r.Within(found[0][0], found[0][0]+len(value))
		r.fill(wanted[0], value, first, end)
	}
}

// relation connects a kind of parameter with the prepositions that introduce its value: the
// destination of "to Paris", the origin of "from London".
type relation struct {
	names map[string]bool // stems of parameter names, or of descriptions
	cues  text.List
	// byName looks at the parameter's name alone.
	byName bool
	// proper accepts only capitalised names.
	proper bool
	// article accepts a phrase with an article, which is not a name: "in the kitchen".
	article bool
}

var relations = []relation{
	{names: text.OriginNames.Stems(), cues: text.OriginCues, byName: true},
	{names: text.DestinationNames.Stems(), cues: text.DestinationCues, byName: true},
	{names: placeNames, cues: text.PlaceCues},
	{names: placeNames, cues: text.NamedPlaceCues, proper: true},
	{names: text.RoomNames.Stems(), cues: text.RoomCues, byName: true, article: true},
	{names: text.PersonNames.Stems(), cues: text.PersonCues},
	{names: text.PersonNames.Stems(), cues: text.PersonVerbs, byName: true, proper: true},
	{names: text.AuthorNames.Stems(), cues: text.AuthorCues, byName: true},
}

var placeNames = text.PlaceNames.Stems()

// readPlaces fills free strings after a preposition, where one parameter and one name
// fit the preposition.
func (r nameReader) readPlaces() {
	for _, rel := range relations {
		slots := r.slots(func(s *slot) bool { return s.free && rel.fits(s) })
		if len(slots) > 1 {
			slots = r.required(slots)
		}
		if len(slots) != 1 {
			continue
		}
		if found := r.brought(rel); len(found) == 1 {
			r.fill(slots[0], found[0].value, found[0].first, found[0].end)
		}
	}
}

func (rel relation) fits(s *slot) bool {
	return s.namedBy(rel.names) || !rel.byName && s.describedBy(rel.names)
}

// brought finds the names that stand after one of the cues.
func (r nameReader) brought(rel relation) []mention {
	var found []mention
	for i := 0; i+1 < len(r.Words); i++ {
		if !rel.cues.Has(r.cueAt(i)) || strings.TrimSpace(r.Gap(i)) != "" {
			continue
		}
		first := i + 1
		if rel.article && r.Words[first].Is(text.Articles) && first+1 < len(r.Words) {
			first++
		}
		end := r.properName(first)
		if end == first && !rel.proper && (rel.article || r.Lowercase()) {
			end = r.plainName(first)
		}
		if end > first && r.free(first, end) {
			found = append(found, mention{r.Surface(first, end), first, end})
		}
	}
	return found
}

// cueAt is the word at i as one that brings a value: of "a" only the French à,
// and of "an" only the German.
func (r nameReader) cueAt(i int) string {
	if r.Norm(i) == "a" && !strings.EqualFold(r.Surface(i, i+1), "à") || r.Norm(i) == "an" && text.LanguageOf(r.Said) != "de" {
		return ""
	}
	return r.Norm(i)
}

// plainName ends after up to three words that a name without capitals can consist of.
func (r nameReader) plainName(first int) int {
	end := first
	for end < len(r.Words) && end < first+3 && r.Words[end].IsSubject() && !r.name[r.Words[end].Stem] && !r.taken[end] {
		end++
		if end < len(r.Words) && strings.TrimSpace(r.Gap(end-1)) != "" {
			break
		}
	}
	return end
}

// readQuoted fills the one free string that is left with the one quotation that is
// left.
func (r nameReader) readQuoted() {
	slots := r.slots(freeText)
	if len(slots) > 1 {
		slots = r.required(slots)
	}
	if len(slots) != 1 {
		return
	}
	if found := r.quotations(); len(found) == 1 {
		r.fill(slots[0], found[0].value, found[0].first, found[0].end)
	}
}

var (
	contents = text.ContentNames.Stems()
	noted    = text.NotedNames.Stems()
)

// readLists fills arrays: all allowed values that are said, all numbers, or all that
// is quoted.
func (r nameReader) readLists() {
	lists := r.slots(func(s *slot) bool { return s.Type == "array" && s.Items != nil })
	for _, s := range lists {
		item := &slot{Parameter: *s.Items, name: s.name, about: s.about}
		switch {
		case len(lists) > 1: // nothing tells whose the values are
		case len(item.Allowed) > 0 && !isNumeric(item):
			r.list(s, r.mentions(item, item.Allowed))
		case isNumeric(item) && len(r.slots(numberSlot)) == 0:
			r.list(s, asMentions(r.figures()))
		case isText(item) && len(r.slots(freeText)) == 0:
			r.list(s, r.quotations())
		}
	}
}

func (r nameReader) list(s *slot, found []mention) {
	if len(found) == 0 {
		return
	}
	values := make([]any, len(found))
	for i, m := range found {
		values[i] = m.value
	}
	r.fill(s, values, found[0].first, found[0].first)
	for _, m := range found {
		for i := m.first; i < m.end; i++ {
			r.taken[i] = true
		}
	}
}

func asMentions(figures []datetime.Reading) []mention {
	found := make([]mention, len(figures))
	for i, f := range figures {
		found[i] = mention{json.Number(f.Exact), f.First, f.End}
	}
	return found
}
