package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// point is a value at a time.
type point struct{ at, value float64 }

// trend is the line through points with the least squares between.
type trend struct {
	slope float64 // of the value, for one unit of time
	sure  float64 // standard error of the slope
	mean  float64
	span  float64 // time from the first point to the last
}

// enoughPoints are the fewest whose scatter says how sure a slope is.
const enoughPoints = 8

func trendOf(points []point) (t trend, err error) {
	n := float64(len(points))
	if len(points) < enoughPoints {
		return t, fmt.Errorf("%d samples after the warm-up, %d are the fewest that have a trend", len(points), enoughPoints)
	}
	var middle, varies, goesWith, off float64
	for _, p := range points {
		middle, t.mean = middle+p.at/n, t.mean+p.value/n
	}
	for _, p := range points {
		varies += (p.at - middle) * (p.at - middle)
		goesWith += (p.at - middle) * (p.value - t.mean)
	}
	t.slope, t.span = goesWith/varies, points[len(points)-1].at-points[0].at
	for _, p := range points {
		rest := p.value - t.mean - t.slope*(p.at-middle)
		off += rest * rest
	}
	t.sure = math.Sqrt(off / (n - 2) / varies)
	return t, nil
}

// windows are the parts of the time of which a sawtooth is judged by its least value.
const windows = 24

// lows has the least of the points of each window.
func lows(points []point) (found []point) {
	for some := range slices.Chunk(points, max(1, len(points)/windows)) {
		found = append(found, slices.MinFunc(some, func(a, b point) int { return cmp.Compare(a.value, b.value) }))
	}
	return found
}

// What a trend can be.
const (
	flat    = "flat"
	grows   = "grows"
	falls   = "falls"
	unclear = "unclear: hold it longer"
)

// tolerance is the share of its mean by which something may grow or fall and is still
// flat: heaps, buffers and hash tables breathe.
const tolerance = 0.05

// change is the share of its mean by which the value has grown from the first point to
// the last, as the line has it, with the least and the most that its scatter allows for:
// two standard errors.
func (t trend) change() (least, likely, most float64) {
	if t.mean == 0 {
		return 0, 0, 0
	}
	scale := t.span / t.mean
	return (t.slope - 2*t.sure) * scale, t.slope * scale, (t.slope + 2*t.sure) * scale
}

// verdict says whether the value is the same at the end as at the beginning.
func (t trend) verdict() string {
	switch least, _, most := t.change(); {
	case least > tolerance:
		return grows
	case most < -tolerance:
		return falls
	case least >= -tolerance && most <= tolerance:
		return flat
	}
	return unclear
}
