package evidence

import (
	"earshot/matcher/moment"
	"earshot/matcher/text"
)

// segment is a stretch of a message with a reader of numbers, dates and times for it.
type segment struct {
	*moment.Text
	offset int // of the stretch in the message
}

// spans map values in canonical form to the first place where they occur.
type spans map[string]span

// note records what words of a segment may mean.
func (p spans) note(r segment, read moment.Reading) {
	for _, value := range read.Values {
		if _, known := p[value]; !known {
			p[value] = span{r.offset + read.From, r.offset + read.To}
		}
	}
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
		p.numbers = p.readings((*moment.Text).AllNumbers)
	}
	return p.numbers
}

// dates are the days that the message names, as 2006-01-02.
func (p *message) dates() spans {
	if p.days == nil {
		p.days = p.readings((*moment.Text).Dates)
	}
	return p.days
}

// clocks are the times of day that the message names, as 15:04.
func (p *message) clocks() spans {
	if p.hours == nil {
		p.hours = p.readings((*moment.Text).Clocks)
	}
	return p.hours
}

// readings notes what read finds. Where the words leave several values open, any of them
// is evidence.
func (p *message) readings(read func(*moment.Text) []moment.Reading) spans {
	found := spans{}
	for _, r := range p.segments() {
		for _, one := range read(r.Text) {
			found.note(r, one)
		}
	}
	return found
}
