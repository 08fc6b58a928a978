package values

import (
	"regexp"
	"strings"
	"unicode"

	"earshot/matcher/datetime"
	"earshot/matcher/text"
)

// readNamed fills free strings after the parameter's own name: "city Paris", "title:
// Weekly review", "desk B", `name "Alice"`.
func (r nameReader) readNamed() {
	for _, s := range r.slots(func(s *slot) bool { return s.free || s.code }) {
		for i := range r.Words {
			if !s.ends(r.Words[i]) || !r.namedAt(s, i) || s.code && (i+1 >= len(r.Words) || !text.StartsWithDigit(r.Norm(i+1)) || len(r.codes(s)) > 1) {
				continue
			}
			if first, end, ok := r.after(i); ok && r.free(first, end) {
				r.fill(s, r.Surface(first, end), first, end)
				break
			}
		}
	}
}

// namedAt reports whether all the words of the slot's name that say something stand
// at i and right before.
func (r nameReader) namedAt(s *slot, i int) bool {
	for j := len(s.name) - 1; j >= 0; j-- {
		if s.name[j].Is(text.PlaceholderWords) {
			continue
		}
		if i < 0 || r.Words[i].Stem != s.name[j].Stem {
			return false
		}
		i--
	}
	return true
}

// after finds the value after the name at i: what is quoted; after a colon or "is",
// all up to the next mark; else a name or a code.
func (r nameReader) after(i int) (first, end int, ok bool) {
	if i+1 >= len(r.Words) {
		return 0, 0, false
	}
	if first, end, ok := r.quoteAfter(i); ok {
		return first, end, true
	}
	if text.PlaceholderWords.Has(r.Norm(i+1)) && i+2 < len(r.Words) && strings.TrimSpace(r.Gap(i)) == "" {
		i++ // the "name" of "project name Blue Sky"
	}
	first = i + 1
	loose := true // "of" brings a name, not a code
	gap := strings.TrimSpace(r.Gap(i))
	told := gap == ":" || gap == "="
	if gap != "" && !told {
		return 0, 0, false
	}
	for first < len(r.Words) && r.Words[first].Is(text.Copulas) {
		told = told || r.Words[first].Norm != "of"
		loose = false
		first++
	}
	if first >= len(r.Words) {
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

// clause ends before the next mark, conjunction or date.
func (r nameReader) clause(first int) int {
	end := first + 1
	for end < len(r.Words) && strings.TrimSpace(r.Gap(end-1)) == "" || end < len(r.Words) && inName(r.Gap(end-1)) {
		if w := r.Words[end].Norm; text.BoundaryWords.Has(w) || isCalendar(w) {
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

// properName ends after the run of capitalised words, initials and numbers included.
func (r nameReader) properName(first int) int {
	end := first
	for end < len(r.Words) && r.inProperName(first, end) {
		end = r.joined(end)
		if end < len(r.Words) && strings.TrimSpace(r.Gap(end-1)) != "" && !inName(r.Gap(end-1)) && !r.titled(end-1) {
			break
		}
		if r.Norm(end) == "of" && end+1 < len(r.Words) && r.Capital(end+1) {
			end++
		}
	}
	return end
}

func (r nameReader) inProperName(first, i int) bool {
	w := r.Words[i].Norm
	return r.Capital(i) && !isCalendar(w) && w != "i" && (i == first || !text.StopWords.Has(w))
}

// titled reports whether the point after the word at i ends no sentence: St. John.
func (r nameReader) titled(i int) bool { return r.Gap(i) == ". " && len(r.Words[i].Norm) <= 2 }

// joined ends after the word at i and all that is tied to it: Chi-town, ef9-893.
func (r *filler) joined(i int) int {
	for i+1 < len(r.Words) && tight[r.Gap(i)] {
		i++
	}
	return i + 1
}

// code reports whether the word is no ordinary one: B, 12a, X-7.
func (r nameReader) code(i int) bool {
	w := r.Words[i].Norm
	if w == "a" || w == "i" || text.StopWords.Has(w) && len(w) > 1 {
		return false
	}
	return len(w) == 1 || strings.IndexFunc(w, unicode.IsDigit) >= 0 && !datetime.Ordinal.MatchString(w)
}

// lone reports whether the word at i, of a writer who sets no capitals, stands between
// the name and the end of what can belong to it: "city paris for tomorrow". After an
// article the name is an ordinary word: "a desk lamp".
func (r *filler) lone(name, i int) bool {
	if name > 0 && r.Words[name-1].IsSubject() && !r.name[r.Words[name-1].Stem] {
		return false
	}
	if !r.Lowercase() || !r.Words[i].IsSubject() || text.Articles.Has(r.Norm(name-1)) || r.name[r.Words[i].Stem] {
		return false
	}
	if i+1 == len(r.Words) || strings.TrimSpace(r.Gap(i)) != "" {
		return true
	}
	return !r.Words[i+1].IsSubject()
}

var quotes = regexp.MustCompile(`"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|‘([^’]+)’|(?:^|\s)'([^']+)'(?:\W|$)`)

const openingQuotes = `"“„«‘'`

// quoteAfter finds a quotation that begins right after the word at i.
func (r nameReader) quoteAfter(i int) (first, end int, ok bool) {
	for _, q := range r.quotations() {
		if q.first == i+1 || q.first == i+2 && r.Words[i+1].Is(text.Copulas) {
			return q.first, q.end, true
		}
	}
	return 0, 0, false
}

// quotations finds what stands in quotation marks and is not taken.
func (r *filler) quotations() []mention {
	if !strings.ContainsAny(r.Said, openingQuotes) {
		return nil
	}
	var found []mention
	for _, at := range quotes.FindAllStringSubmatchIndex(r.Said, -1) {
		for group := 2; group < len(at); group += 2 {
			if at[group] < 0 {
				continue
			}
			first, end := r.Within(at[group], at[group+1])
			if end > first && r.free(first, end) {
				found = append(found, mention{r.Said[at[group]:at[group+1]], first, end})
			}
		}
	}
	return found
}
