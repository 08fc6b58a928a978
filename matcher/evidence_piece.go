package matcher

import "unicode/utf8"

// piece is a stretch of a message with a reader of numbers, dates and times for it.
type piece struct {
	*momentText
	offset int // of the stretch in the message
}

// places are values in their canonical form with the first place that has them.
type places map[string]place

// note records a value that stands in the words from first to before end.
func (p places) note(r piece, value string, first, end int) {
	if _, known := p[value]; !known && first < end {
		p[value] = place{r.offset + r.words[first].start, r.offset + r.words[end-1].end}
	}
}

// noteSigned records a number with the minus sign right before its words.
func (p places) noteSigned(r piece, value string, first, end int) {
	if _, known := p[value]; known || first >= end {
		return
	}
	_, size := utf8.DecodeLastRuneInString(r.text[:r.words[first].start])
	p[value] = place{r.offset + r.words[first].start - size, r.offset + r.words[end-1].end}
}

// pieces cuts the message into stretches that the readers of values take whole. They
// overlap by more words than any number, date or time has.
func (p *passage) pieces() []piece {
	if p.divided {
		return p.cut
	}
	p.divided = true
	const overlap = 16
	for at := 0; at < len(p.text); {
		r := piece{newMomentText(p.text[at:], p.now), at}
		p.cut = append(p.cut, r)
		if len(r.words) < mostWords {
			break
		}
		at += r.words[len(r.words)-overlap].start
	}
	return p.cut
}

// figures are the numbers of the message as plain decimals.
func (p *passage) figures() places {
	if p.numbers == nil {
		p.numbers = places{}
		for _, r := range p.pieces() {
			r.amounts(p.numbers)
		}
	}
	return p.numbers
}

// dates are the days that the message names, as 2006-01-02.
func (p *passage) dates() places {
	if p.days == nil {
		p.days = p.moments((*momentText).dateAt)
	}
	return p.days
}

// clocks are the times of day that the message names, as 15:04.
func (p *passage) clocks() places {
	if p.hours == nil {
		p.hours = p.moments((*momentText).clockAt)
	}
	return p.hours
}

// moments collects what read finds. Where the words leave several readings open, any
// of them is evidence.
func (p *passage) moments(read func(*momentText, int) ([]string, int)) places {
	found := places{}
	for _, r := range p.pieces() {
		for i := 0; i < len(r.words); {
			values, end := read(r.momentText, i)
			for _, value := range values {
				found.note(r, value, i, end)
			}
			i = max(end, i+1)
		}
	}
	return found
}
