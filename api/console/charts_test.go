package console_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// figure is a chart with its table for pages without scripts.
const figure = `<figure class="chart" data-chart='{"at":[1000000000,1000000060,1000000120],"unit":"messages","series":[
	{"name":"matched","values":[3,null,5],"href":"/console/apps/clinic/triggers?since={from}&until={to}"},{"name":"rejected","values":[1,2,0]}]}'>
	<figcaption>Messages</figcaption><table><thead><tr><th>At</th><th>matched</th></tr></thead><tbody><tr><td>10:00</td><td>3</td></tr></tbody></table></figure>`

// charted inserts the figure into the page.
func (b *tab) charted() {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.querySelector("main").insertAdjacentHTML("beforeend", %q);
		import(document.querySelector("script[data-charts]").dataset.charts).then(({draw}) => draw(document.querySelector("figure")));0`, figure)))
	b.until("the chart is there", `document.querySelector("figure canvas")`)
}

func TestChartIsReadByKeysAndLeadsToWhatItCounts(t *testing.T) {
	s := keyless(t)
	b := s.open(t)
	b.visit("/console/apps/clinic/settings")
	b.charted()
	require.False(t, evaluated[bool](b, `document.querySelector("figure table").checkVisibility()`), "the table is folded")
	b.reads(".legend", "matched 8", "rejected 3")
	b.accessible("a chart")

	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".plot").focus()`))
	b.press("ArrowRight")
	b.reads(".legend", "matched 3", "rejected 1")
	b.press("End")
	b.reads(".legend", "matched 5", "rejected 0")
	b.press("ArrowDown")
	b.press("Enter") // rejections have no link
	b.press("ArrowUp")
	b.press("Enter")
	b.until("Enter opens what the last point counts", `location.search === "?since=1000000120&until=1000000180"`)

	b.visit("/console/apps/clinic/settings")
	b.charted()
	at := evaluated[[]float64](b, `(r => [r.left + 5, r.top + r.height / 3])((o => (o.scrollIntoView({block: "center"}), o.getBoundingClientRect()))(document.querySelector(".u-over")))`)
	b.do(chromedp.MouseClickXY(at[0], at[1]))
	b.until("a click opens what the first point counts", `location.search === "?since=1000000000&until=1000000060"`)
}

func TestChartFollowsTheWidthAndTheTheme(t *testing.T) {
	s := keyless(t)
	b := s.open(t)
	b.prefers("light")
	b.visit("/console/apps/clinic/settings")
	b.charted()
	drawn := `document.querySelector("figure canvas").toDataURL()`
	light := evaluated[string](b, drawn)
	b.click("[data-theme-switch] button")
	b.until("it has the colours of the theme", fmt.Sprintf("%s !== %q", drawn, light))
	b.sized(390, 844)
	b.until("it has the width of the page", `document.querySelector("figure canvas").getBoundingClientRect().width < 390`)
}

// press presses a key.
func (b *tab) press(key string) {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: %q, bubbles: true, cancelable: true}))`, key)))
}
