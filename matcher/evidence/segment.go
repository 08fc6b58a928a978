package evidence

import (
	"unicode/utf8"

	"earshot/matcher/moment"
	"earshot/matcher/text"
)

// amounts notes the numbers of the piece, in figures and in words. A number whose
// writing has two readings, as 1.000 has, is noted as both.
func (r segment) amounts(found spans) {
	for i := 0; i < len(r.Words); {
		values, end := r.Amount(i)
		for _, value := range values {
			switch {
			case r.At(i-1) == "minus":
				found.note(r, "-"+value, i-1, end)
			case r.Negative(i):
				found.noteSigned(r, "-"+value, i, end)
			default:
				found.note(r, value, i, end)
			}
		}
		if text.StartsWithDigit(r.Words[i].Norm) {
			end = i + 1 // the 2 of "room 2 300 guests" is a number too
		}
		i = max(end, i+1)
	}
}

// segment is a stretch of a message with a reader of numbers, dates and times for it.
type segment struct {
	*moment.Text
	offset int // of the stretch in the message
}

// spans are values in their canonical form with the first place that has them.
type spans map[string]span

// note records a value that stands in the words from first to before end.
func (p spans) note(r segment, value string, first, end int) {
	if _, known := p[value]; !known && first < end {
		p[value] = span{r.offset + r.Words[first].Start, r.offset + r.Words[end-1].End}
	}
}

// noteSigned records a number with the minus sign right before its words.
func (p spans) noteSigned(r segment, value string, first, end int) {
	if _, known := p[value]; known || first >= end {
		return
	}
	_, size := utf8.DecodeLastRuneInString(r.Source[:r.Words[first].Start])
	p[value] = span{r.offset + r.Words[first].Start - size, r.offset + r.Words[end-1].End}
}

// segments cuts the message into stretches that the readers of values take whole. They
// overlap by more words than any number, date or time has.
func (p *message) segments() []segment {
	if p.divided {
		return p.parts
	}
	p.divided = true
	const overlap = 16
	for at := 0; at < len(p.text); {
		r := segment{moment.NewText(p.text[at:], p.now), at}
		p.parts = append(p.parts, r)
		if len(r.Words) < text.MaxWords {
			break
		}
		at += r.Words[len(r.Words)-overlap].Start
	}
	return p.parts
}

// figures are the numbers of the message as plain decimals.
func (p *message) figures() spans {
	if p.numbers == nil {
		p.numbers = spans{}
		for _, r := range p.segments() {
			r.amounts(p.numbers)
		}
	}
	return p.numbers
}

// dates are the days that the message names, as 2006-01-02.
func (p *message) dates() spans {
	if p.days == nil {
		p.days = p.moments((*moment.Text).DateAt)
	}
	return p.days
}

// clocks are the times of day that the message names, as 15:04.
func (p *message) clocks() spans {
	if p.hours == nil {
		p.hours = p.moments((*moment.Text).ClockAt)
	}
	return p.hours
}

// moments collects what read finds. Where the words leave several readings open, any
// of them is evidence.
func (p *message) moments(read func(*moment.Text, int) ([]string, int)) spans {
	found := spans{}
	for _, r := range p.segments() {
		for i := 0; i < len(r.Words); {
			values, end := read(r.Text, i)
			for _, value := range values {
				found.note(r, value, i, end)
			}
			i = max(end, i+1)
		}
	}
	return found
}
