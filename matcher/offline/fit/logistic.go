package main

import (
	"math"

	"earshot/matcher/offline"
)

const (
	// ridge keeps weights small that the samples say little of.
	ridge = 1
	// steps of Newton's method are more than enough: the likelihood has one top.
	steps = 25
)

// fitted finds the weights under which what was right is likeliest (logistic regression).
func fitted(samples []sample) (base float64, weights []float64) {
	all := make([]float64, 1+len(offline.Signs{}))
	for range steps {
		slope, bend := curve(samples, all)
		for i, step := range solve(bend, slope) {
			all[i] += step
		}
	}
	return all[0], all[1:]
}

// curve is the slope of the likelihood at the weights, and how it bends.
func curve(samples []sample, weights []float64) (slope []float64, bend [][]float64) {
	n := len(weights)
	slope, bend = make([]float64, n), make([][]float64, n)
	for i := range n {
		bend[i] = make([]float64, n)
		if i > 0 {
			slope[i], bend[i][i] = -ridge*weights[i], ridge
		}
	}
	for _, s := range samples {
		row := append([]float64{1}, s.signs[:]...)
		is := probability(weights, row)
		missed := -is
		if s.right {
			missed++
		}
		for i := range n {
			slope[i] += s.weight * missed * row[i]
			for j := range n {
				bend[i][j] += s.weight * is * (1 - is) * row[i] * row[j]
			}
		}
	}
	return slope, bend
}

func probability(weights, row []float64) float64 {
	z := 0.0
	for i, weight := range weights {
		z += weight * row[i]
	}
	return 1 / (1 + math.Exp(-z))
}

// solve solves linear equations by elimination. They are overwritten.
func solve(a [][]float64, b []float64) []float64 {
	for i := range b {
		for below := i + 1; below < len(b); below++ {
			factor := a[below][i] / a[i][i] // no row need be exchanged: a bend is positive definite
			for j := i; j < len(b); j++ {
				a[below][j] -= factor * a[i][j]
			}
			b[below] -= factor * b[i]
		}
	}
	for i := len(b) - 1; i >= 0; i-- {
		for j := i + 1; j < len(b); j++ {
			b[i] -= a[i][j] * b[j]
		}
		b[i] /= a[i][i]
	}
	return b
}
