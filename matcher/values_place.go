package matcher

import "strings"

// relation ties a kind of parameter to the prepositions that bring its value: the
// destination of "to Paris", the origin of "from London".
type relation struct {
	names map[string]bool // stems of parameter names, or of descriptions
	cues  map[string]bool
	// byName looks at the parameter's name alone.
	byName bool
	// proper takes names with a capital alone.
	proper bool
	// article takes what is no name: "in the kitchen".
	article bool
}

var relations = []relation{
	{names: stems("from origin departure source sender"), cues: set(`from von aus depuis desde da dal dalla`), byName: true},
	{names: stems("to destination target recipient receiver arrival"), cues: set(`to nach zu zum zur towards into fino hacia`), byName: true},
	{names: placeNames, cues: set(`in at near around bei en`)},
	{names: placeNames, cues: set(`for of`), proper: true},
	{names: stems("room zone floor ward department"), cues: set(`in at im`), byName: true, article: true},
	{names: stems("recipient person contact guest doctor dentist attendee participant"), cues: set(`with for to mit avec con`)},
	{names: stems("author artist director by"), cues: set(`by von par di de`), byName: true},
}

var placeNames = stems("city location place town country area venue region state ort stadt ville lieu citta luogo ciudad lugar")

// readPlaces fills free strings after a preposition, where one parameter and one name
// fit the preposition.
func (r *valueReader) readPlaces() {
	for _, relation := range relations {
		slots := r.slots(func(s *slot) bool { return freeText(s) && relation.fits(s) })
		if len(slots) > 1 {
			slots = r.required(slots)
		}
		found := r.brought(relation)
		if len(slots) == 1 && len(found) == 1 {
			r.fill(slots[0], found[0].value, found[0].first, found[0].end)
		}
	}
}

func (rel relation) fits(s *slot) bool {
	return s.called(rel.names) || !rel.byName && s.says(rel.names)
}

// brought finds the names that stand after one of the cues.
func (r *valueReader) brought(rel relation) []mention {
	var found []mention
	for i := 0; i+1 < len(r.words); i++ {
		if !rel.cues[r.words[i].norm] || strings.TrimSpace(r.gap(i)) != "" {
			continue
		}
		first := i + 1
		if rel.article && articles[r.words[first].norm] && first+1 < len(r.words) {
			first++
		}
		end := r.properName(first)
		if end == first && !rel.proper && (rel.article || r.lowercase()) {
			end = r.plainName(first)
		}
		if end > first && r.free(first, end) {
			found = append(found, mention{r.surface(first, end), first, end})
		}
	}
	return found
}

// plainName ends after up to three words that a name without capitals can consist of.
func (r *valueReader) plainName(first int) int {
	end := first
	for end < len(r.words) && end < first+3 && subject(r.words[end]) && !r.name[r.words[end].stem] && !r.taken[end] {
		end++
		if end < len(r.words) && strings.TrimSpace(r.gap(end-1)) != "" {
			break
		}
	}
	return end
}

// readQuoted fills the one free string that is left with the one quotation that is
// left.
func (r *valueReader) readQuoted() {
	found := r.quotations()
	slots := r.slots(freeText)
	if len(slots) > 1 {
		slots = r.required(slots)
	}
	if len(found) == 1 && len(slots) == 1 {
		r.fill(slots[0], found[0].value, found[0].first, found[0].end)
	}
}
