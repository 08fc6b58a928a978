package matcher

import (
	"regexp"
	"strings"
	"unicode"
)

// readNamed fills free strings after the parameter's own name: "city Paris", "title:
// Weekly review", "desk B", `name "Alice"`.
func (r *valueReader) readNamed() {
	for _, s := range r.slots(freeText) {
		for i := range r.words {
			if !s.ends(r.words[i]) || !r.namedAt(s, i) {
				continue
			}
			if first, end, ok := r.after(i); ok && r.free(first, end) {
				r.fill(s, r.surface(first, end), first, end)
				break
			}
		}
	}
}

// namedAt reports whether all the words of the slot's name that say something stand
// at i and right before.
func (r *valueReader) namedAt(s *slot, i int) bool {
	for j := len(s.name) - 1; j >= 0; j-- {
		if hollow[s.name[j].norm] {
			continue
		}
		if i < 0 || r.words[i].stem != s.name[j].stem {
			return false
		}
		i--
	}
	return true
}

// after finds the value after the name at i: what is quoted; after a colon or "is",
// all up to the next mark; else a name or a code.
func (r *valueReader) after(i int) (first, end int, ok bool) {
	if i+1 >= len(r.words) {
		return 0, 0, false
	}
	if first, end, ok := r.quoteAfter(i); ok {
		return first, end, true
	}
	if hollow[r.at(i+1)] && i+2 < len(r.words) && strings.TrimSpace(r.gap(i)) == "" {
		i++ // the "name" of "project name Blue Sky"
	}
	first = i + 1
	loose := true // "of" brings a name, not a code
	gap := strings.TrimSpace(r.gap(i))
	told := gap == ":" || gap == "="
	if gap != "" && !told {
		return 0, 0, false
	}
	for first < len(r.words) && copulas[r.words[first].norm] {
		told = told || r.words[first].norm != "of"
		loose = false
		first++
	}
	if first >= len(r.words) {
		return 0, 0, false
	}
	if told {
		return first, r.clause(first), true
	}
	if end := r.properName(first); end > first {
		return first, end, true
	}
	return first, r.joined(first), loose && (r.code(first) || r.lone(i, first))
}

var copulas = set(`is are named called titled of ist heisst est e es`)

// clause ends before the next mark, conjunction or date.
func (r *valueReader) clause(first int) int {
	end := first + 1
	for end < len(r.words) && strings.TrimSpace(r.gap(end-1)) == "" || end < len(r.words) && inName(r.gap(end-1)) {
		if w := r.words[end].norm; boundary[w] || isCalendar(w) {
			break
		}
		end++
	}
	return end
}

// inName reports whether the gap can stand inside a name: O'Hara, A&B, St. John's.
func inName(gap string) bool { return tight[gap] || gap == "&" || gap == " & " || gap == "'" }

// tight are the signs that hold the parts of one name or code together.
var tight = map[string]bool{"-": true, "_": true, "/": true, ".": true}

var boundary = set(`and or but with for on at in to from by und oder mit fur am um et ou avec pour y o con para e per
	please bitte`)

// properName ends after the run of capitalised words, initials and numbers included.
func (r *valueReader) properName(first int) int {
	end := first
	for end < len(r.words) && r.inProperName(first, end) {
		end = r.joined(end)
		if end < len(r.words) && strings.TrimSpace(r.gap(end-1)) != "" && !inName(r.gap(end-1)) && !r.titled(end-1) {
			break
		}
		if r.at(end) == "of" && end+1 < len(r.words) && r.capital(end+1) {
			end++
		}
	}
	return end
}

func (r *valueReader) inProperName(first, i int) bool {
	w := r.words[i].norm
	return r.capital(i) && !isCalendar(w) && w != "i" && (i == first || !functionWords[w])
}

// titled reports whether the point after the word at i ends no sentence: St. John.
func (r *valueReader) titled(i int) bool { return r.gap(i) == ". " && len(r.words[i].norm) <= 2 }

// joined ends after the word at i and all that is tied to it: Chi-town, ef9-893.
func (r *valueReader) joined(i int) int {
	for i+1 < len(r.words) && tight[r.gap(i)] {
		i++
	}
	return i + 1
}

// code reports whether the word is no ordinary one: B, 12a, X-7.
func (r *valueReader) code(i int) bool {
	w := r.words[i].norm
	if w == "a" || w == "i" || functionWords[w] && len(w) > 1 {
		return false
	}
	return len(w) == 1 || strings.IndexFunc(w, unicode.IsDigit) >= 0 && !ordinal.MatchString(w)
}

// lone reports whether the word at i, of a writer who sets no capitals, stands between
// the name and the end of what can belong to it: "city paris for tomorrow". After an
// article the name is an ordinary word: "a desk lamp".
func (r *valueReader) lone(name, i int) bool {
	if name > 0 && subject(r.words[name-1]) && !r.name[r.words[name-1].stem] {
		return false
	}
	if !r.lowercase() || !subject(r.words[i]) || articles[r.at(name-1)] || r.name[r.words[i].stem] {
		return false
	}
	if i+1 == len(r.words) || strings.TrimSpace(r.gap(i)) != "" {
		return true
	}
	return !subject(r.words[i+1])
}

var articles = set(`a an the my your his her our their this that any some what which every each no`)

var quotes = regexp.MustCompile(`"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|‘([^’]+)’|(?:^|\s)'([^']+)'(?:\W|$)`)

// quoteAfter finds a quotation that begins right after the word at i.
func (r *valueReader) quoteAfter(i int) (first, end int, ok bool) {
	for _, q := range r.quotations() {
		if q.first == i+1 || q.first == i+2 && copulas[r.words[i+1].norm] {
			return q.first, q.end, true
		}
	}
	return 0, 0, false
}

// quotations finds what stands in quotation marks and is not taken.
func (r *valueReader) quotations() []mention {
	var found []mention
	for _, at := range quotes.FindAllStringSubmatchIndex(r.text, -1) {
		for group := 2; group < len(at); group += 2 {
			if at[group] < 0 {
				continue
			}
			first, end := r.within(at[group], at[group+1])
			if end > first && r.free(first, end) {
				found = append(found, mention{r.text[at[group]:at[group+1]], first, end})
			}
		}
	}
	return found
}
