package quantity

import (
	"math/big"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// token is a word, a number in figures or a sign of a text.
type token struct {
	norm     string     // of a word: lower case, no accents
	figures  []*big.Rat // what figures may mean: 1.500 is one and a half, or fifteen hundred
	from, to int        // in bytes
	tight    bool       // nothing stands between it and the token before
}

// maxTokens bounds how much of a text is read: no amount is longer, and the work for a
// message stays bounded whatever is sent.
const maxTokens = 512

var lexemes = regexp.MustCompile(`[0-9]+(?:[.,][0-9]+)*|°[cCfF]\b|[\pL\pM]+|[^\s\pL\pM0-9'’]`)

// tokensOf reads the first tokens of a text.
func tokensOf(text string) []token {
	var list []token
	for _, at := range lexemes.FindAllStringIndex(text, maxTokens) {
		one := token{from: at[0], to: at[1]}
		if n := len(list); n > 0 {
			one.tight = list[n-1].to == at[0]
		}
		if text[at[0]] >= '0' && text[at[0]] <= '9' {
			one.figures = figuresOf(text[at[0]:at[1]])
		} else {
			one.norm = fold(text[at[0]:at[1]])
		}
		list = append(list, one)
	}
	return list
}

var dashes = strings.NewReplacer("–", "-", "—", "-", "−", "-", "‐", "-", "‑", "-")

// fold removes case and accents. A sign stays what it is: ½ must not become 1, 2.
func fold(word string) string {
	if first, _ := utf8.DecodeRuneInString(word); !unicode.IsLetter(first) {
		return dashes.Replace(strings.ToLower(word))
	}
	var folded strings.Builder
	for _, r := range norm.NFKD.String(strings.ToLower(word)) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r == 'ß':
			folded.WriteString("ss")
		default:
			folded.WriteRune(r)
		}
	}
	return folded.String()
}

// Limits of a number in figures.
const maxFigures = 40

// one group of three after a point may be a fraction as well; after a comma it is not.
var (
	grouped = regexp.MustCompile(`^[1-9][0-9]{0,2}(?:(?:,[0-9]{3})+|(?:\.[0-9]{3})+)$`)
	plain   = strings.NewReplacer(".", "", ",", "")
)

// figuresOf lists what figures may mean; nothing where they are no number.
func figuresOf(figures string) []*big.Rat {
	points, commas := strings.Count(figures, "."), strings.Count(figures, ",")
	switch {
	case len(figures) > maxFigures:
		return nil
	case points+commas == 0:
		return rats(figures)
	case grouped.MatchString(figures) && points == 1:
		return append(rats(plain.Replace(figures)), rats(figures)...)
	case grouped.MatchString(figures):
		return rats(plain.Replace(figures))
	case points+commas == 1:
		return rats(strings.Replace(figures, ",", ".", 1))
	case points == 1 || commas == 1:
		last := strings.LastIndexAny(figures, ".,")
		return rats(plain.Replace(figures[:last]) + "." + figures[last+1:])
	}
	return nil
}

func rats(written string) []*big.Rat {
	number, ok := new(big.Rat).SetString(written)
	if !ok {
		return nil
	}
	return []*big.Rat{number}
}
