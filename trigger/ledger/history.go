package ledger

import (
	"strconv"
	"strings"
)

// historyLua defines past(turns, order, id, left, floor, earlier, most, lives, kept, run). It reads at most so many
// messages before id, of a session with earlier messages in all, of which left have left its history, and those
// before floor are about to. matcher.HistoryStart defines where the history begins. lives names the life of the
// session. kept is what the caller has: the life, a line break, the place of the first message among all of the
// session, and a mark of each from there, or '-'.
//
// It returns the place of the first message read, and lines: the number of messages, then for each that differs
// from the caller's its index and the place of the first of its texts among run.common: mark and id, message,
// decision, results, reply.
//
// run, as newRun() makes it, is for all calls of one run of a script. So each message is read and returned once
// for all messages that follow it, of which a busy session has many. No message may leave the history meanwhile.
// define(run, app, repos) adds the revision, the record and the own repositories of an app to the common texts, and
// returns the places of the first and the last one.
//
// A mark tells whether a message has changed: its arrival, the lengths of its results and reply, and '?' if it
// was undecided. This suffices: results are only appended, decision and reply are written once, and a place in
// one life of a session holds one message. The arrival covers a Redis that lost its last writes in a failover.
//
// It needs TurnLua.
const historyLua = `
local function newRun() return {common = {}, read = {}, kept = {}} end
local function define(run, app, repos)
  local own, common, at = redis.call('HVALS', repos), run.common, #run.common
  common[at + 1], common[at + 2] = redis.call('HGET', app, 'rev') or '', redis.call('HGET', app, 'record') or ''
  for i, repository in ipairs(own) do common[at + 2 + i] = repository end
  return at + 1 .. ' ' .. #common
end
local function marksOf(run, kept)
  local had = run.kept[kept]
  if not had then
    local lives, list = string.match(kept, '^([^\n]*)\n(.*)$')
    had = {lives = lives}
    for mark in string.gmatch(list or '', '%S+') do had[#had + 1] = mark end
    run.kept[kept] = had
  end
  return had
end
local decidedFields, openFields = {turn.arrived, turn.results, turn.reply}, {turn.arrived, turn.results, turn.reply, turn.decision}
local wholeFields = {turn.message, turn.decision, turn.results, turn.reply, turn.arrived}
local function undecided(mark) return string.sub(mark, -1) == '?' end
local function markOf(arrived, results, reply, open)
  return string.match(arrived, '^%d*') .. ':' .. #results .. ':' .. #reply .. (open and '?' or '')
end
local function fetch(turns, ids, these, fieldsOf)
  local values = {}
  for i = 1, #these, 1000 do -- unpack takes no more than 8,000 values
    local names = {}
    for j = i, math.min(i + 999, #these) do
      for _, name in ipairs(fieldsOf[these[j]] or wholeFields) do names[#names + 1] = name .. ids[these[j]] end
    end
    for _, value in ipairs(redis.call('HMGET', turns, unpack(names))) do values[#values + 1] = value or '' end
  end
  return values
end
local function past(turns, order, id, left, floor, earlier, most, lives, kept, run)
  local from = floor
  if earlier > most then
    local step = math.max(1, math.floor(most / 4))
    from = math.max(floor, math.min(earlier, math.ceil((earlier - most) / step) * step))
  end
  local ids, count, common = {}, 0, run.common
  if earlier > from then ids = redis.call('LRANGE', order, from - left, -1) end
  while ids[count + 1] and ids[count + 1] ~= id do count = count + 1 end
  local marks = marksOf(run, kept)
  if marks.lives ~= lives then marks = {} end
  local before = from - (tonumber(marks[1]) or 0) + 1
  local read = run.read[turns] or {} -- by id: the mark and, once it is among the common texts, its place
  run.read[turns] = read
  local known, new, fieldsOf, history = {}, {}, {}, {tostring(count)}
  for i = 1, count do
    local mark, seen = marks[before + i], read[ids[i]]
    if seen then
      if seen.mark ~= mark and not seen.at then new[#new + 1] = i end
    else
      if (mark or '-') == '-' then
        new[#new + 1] = i
      else
        known[#known + 1] = i
        fieldsOf[i] = undecided(mark) and openFields or decidedFields
      end
    end
  end
  local values, at = fetch(turns, ids, known, fieldsOf), 0
  for _, i in ipairs(known) do
    local mark = marks[before + i]
    local open = fieldsOf[i] == openFields
    local now = markOf(values[at + 1], values[at + 2], values[at + 3], open and values[at + 4] == '')
    if now ~= mark then new[#new + 1] = i end
    read[ids[i]] = {mark = now}
    at = at + (open and 4 or 3)
  end
  values = fetch(turns, ids, new, {})
  for n, i in ipairs(new) do
    local first, at = 5 * n - 4, #common
    local mark = markOf(values[first + 4], values[first + 2], values[first + 3], values[first + 1] == '')
    read[ids[i]] = {mark = mark, at = at + 1}
    common[at + 1] = mark .. ' ' .. ids[i]
    for j = 0, 3 do common[at + 2 + j] = values[first + j] end
  end
  for i = 1, count do
    local seen = read[ids[i]]
    if seen.mark ~= marks[before + i] then
      if seen.i ~= i then seen.i, seen.place = i, i .. ' ' .. seen.at end
      history[#history + 1] = seen.place
    end
  end
  return tostring(from), table.concat(history, '\n')
end
`

// Recalled are consecutive messages of a session's history that a caller has already read. The zero value has
// none.
type Recalled struct {
	lives string
	first int // place of the first one among all messages of the session
	marks []string
}

// Drop removes a message, counted from 0, from those that the caller has.
func (k Recalled) Drop(i int) { k.marks[i] = noMark }

const noMark = "-"

// Same returns the index among k's messages of the i-th of other, counted from 0, if k has it unchanged; else -1.
func (k Recalled) Same(other Recalled, i int) int {
	at := other.first + i - k.first
	if k.lives != other.lives || at < 0 || at >= len(k.marks) || k.marks[at] != other.marks[i] {
		return -1
	}
	return at
}

// Later reports whether k reaches further than other in the same life of a session.
func (k Recalled) Later(other Recalled) bool {
	return k.lives == other.lives && k.first+len(k.marks) > other.first+len(other.marks)
}

func (k Recalled) text() string {
	if len(k.marks) == 0 {
		return ""
	}
	return k.lives + "\n" + strconv.Itoa(k.first) + " " + strings.Join(k.marks, " ")
}

// Conversation is the history of a session before a message, oldest first, and what the caller has once it has
// read it.
type Conversation struct {
	Messages []Past
	Recalled Recalled
}

// Past is an earlier message of a session. If the caller has it unchanged, Had is its index among the Recalled
// messages, counted from 1, and all else is empty. Else the decision is as committed, and the other fields but
// the id are JSON, possibly empty.
type Past struct {
	Had                                   int
	ID, Message, Decision, Results, Reply string
}

// Size returns its length in bytes.
func (p Past) Size() int {
	return len(p.ID) + len(p.Message) + len(p.Decision) + len(p.Results) + len(p.Reply)
}

// readConversation reads the reply of past to a caller that had kept some.
func readConversation(r reply, kept Recalled) (c Conversation) {
	count, places, _ := strings.Cut(r.text("history"), "\n")
	if number(count) == 0 {
		return c
	}
	c.Messages = make([]Past, number(count))
	c.Recalled = Recalled{r.text("lives"), r.number("first"), make([]string, len(c.Messages))}
	for place := range strings.Lines(places) {
		index, at, _ := strings.Cut(strings.TrimSuffix(place, "\n"), " ")
		past := r.common[number(at)-1:]
		mark, id, _ := strings.Cut(strings.Clone(past[0]), " ") // they are kept, and must not keep the texts of the whole run
		i := number(index) - 1
		c.Messages[i], c.Recalled.marks[i] = Past{ID: id, Message: past[1], Decision: past[2], Results: past[3], Reply: past[4]}, mark
	}
	for i := range c.Messages {
		if c.Recalled.marks[i] == "" {
			at := c.Recalled.first + i - kept.first
			c.Messages[i].Had, c.Recalled.marks[i] = at+1, kept.marks[at]
		}
	}
	return c
}
