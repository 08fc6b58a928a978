// Package console is the console at /console: pages for people who want to see what a
// service does, and why it did something or nothing.
//
// It is a client of the REST API in the same process. Whatever a page shows or does is a
// request to the handler of REST with the key of the person who is signed in, so rights,
// limits, checks and masks are those of REST, and there is no other way to the stores.
//
// A page is a line in the table of console.pages, a handler in the file of its topic, and
// a template of the name that the handler renders:
//
//   - The line is a pattern of http.ServeMux and the handler, func(*visit) error.
//   - The handler asks REST by visit.get and visit.call, with paths from v1, which
//     escapes what stands in them. It returns errors as they are: what REST refuses becomes
//     a page that says so, and 401 leads to the sign-in. It ends with visit.render.
//   - The template, templates/NAME.html, defines "main" and gets a frame, with what the
//     handler gave as .Body. Parts that several pages share are in templates/parts.html.
//
// Everything works without a script; static/console.js adds life by attributes. An element
// with an id and data-poll="5" is fetched anew every five seconds with its page and put in
// its place; a form with data-swap="#id #other" is sent in the background, and those parts
// of the answer replace their like; data-key="n" on a link is the letter that follows g,
// data-search marks what / goes to. Neither scripts nor styles stand in a page: its
// Content-Security-Policy runs none.
//
// TestEveryPageIsForEverybody looks at each page of its table in a browser, dark and light, in
// two widths: add yours there. With EARSHOT_PICTURES=DIR it leaves pictures of them.
package console
