package ledger

import (
	"strconv"
	"strings"
)

// historyLua defines readHistory(turns, order, id, left, floor, earlier, most, epoch, cached, run). It reads at most so many
// messages before id, of a session with earlier messages in all, of which left have left its history, and those
// before floor are about to. matcher.HistoryStart defines where the history begins. epoch names the
// generations of app and session and the last late result (see TurnLua). cached is what the caller has (see
// CachedMessages.text).
//
// It returns the place of the first message read, and lines: the number of messages, then for each that the caller
// lacks its index and the place of the first of its texts among run.common: mark and id, message, decision, results,
// reply.
//
// A message is closed once it is answered: only a late result changes it then. So a caller that has the messages up
// to one is sent those that were open, if they have changed, and those that came after it. That costs the same
// however long the history is. The arrival of the last message that the caller has covers a Redis that lost its last
// writes in a failover.
//
// run, as newRun() makes it, is for all calls of one run of a script. So each message is read and returned once
// for all messages that follow it, of which a busy session has many. No message may leave the history meanwhile.
// define(run, app, repos) adds the revision, the record and the own repositories of an app to the common texts, and
// returns the places of the first and the last one.
//
// A mark is the arrival of a message and the lengths of its results and reply, then '~' if it is decided and open,
// and '?' if it is not decided.
//
// It needs TurnLua.
const historyLua = `
local function newRun() return {common = {}, read = {}} end
local function define(run, app, repos)
  local own, common, at = redis.call('HVALS', repos), run.common, #run.common
  common[at + 1], common[at + 2] = redis.call('HGET', app, 'rev') or '', redis.call('HGET', app, 'record') or ''
  for i, repository in ipairs(own) do common[at + 2 + i] = repository end
  return at + 1 .. ' ' .. #common
end
local function usable(cached, epoch, from, earlier)
  local of, first, last, arrived, open = string.match(cached, '^([^\n]*)\n(%d+) (%d+) (%d+)(.*)$')
  first, last = tonumber(first), tonumber(last)
  if of ~= epoch or first > from or last < from or last >= earlier then return end
  local has = {last = last, arrived = arrived, next = last, open = {}}
  for place, mark in string.gmatch(open, ' (%d+)=(%S+)') do
    place = tonumber(place)
    has.open[place], has.next = mark, math.min(has.next, place)
  end
  has.next = math.max(has.next, from)
  return has
end
local function idsBefore(order, from, id)
  local ids, count = redis.call('LRANGE', order, from, -1), 0
  while ids[count + 1] and ids[count + 1] ~= id do count = count + 1 end
  return ids, count
end
local function arrivalOf(arrived) return string.match(arrived or '', '^%d*') end
local historyFields = {turn.message, turn.decision, turn.results, turn.reply, turn.arrived, turn.lease, turn.answer}
local function readMessages(turns, ids, read)
  for i = 1, #ids, 700 do -- the embedded store unpacks some 5,000 values
    local names, most = {}, math.min(i + 699, #ids)
    for j = i, most do
      for _, field in ipairs(historyFields) do names[#names + 1] = field .. ids[j] end
    end
    local values = redis.call('HMGET', turns, unpack(names))
    for j = i, most do
      local at, one = #historyFields * (j - i), {}
      for n = 1, 4 do one[n] = values[at + n] or '' end
      local open = ''
      if one[2] ~= '' then
        open = leaseOf(values[at + 6]) and '~' or ''
      elseif not values[at + 7] then
        open = '?'
      end
      one.mark = arrivalOf(values[at + 5]) .. ':' .. #one[3] .. ':' .. #one[4] .. open
      read[ids[j]] = one
    end
  end
end
local function readHistory(turns, order, id, left, floor, earlier, most, epoch, cached, run)
  local from = floor
  if earlier > most then
    local step = math.max(1, math.floor(most / 4))
    from = math.max(floor, math.min(earlier, math.ceil((earlier - most) / step) * step))
  end
  if earlier <= from then return tostring(from), '0' end
  local has = cached ~= '' and usable(cached, epoch, from, earlier)
  local start = has and has.next or from
  local ids, count = idsBefore(order, start - left, id)
  if has and (count <= has.last - start or not ids[count + 1] or arrivalOf(redis.call('HGET', turns, turn.arrived .. ids[has.last - start + 1])) ~= has.arrived) then
    has, start = nil, from
    ids, count = idsBefore(order, start - left, id)
  end
  local read, wanted, unread = run.read[turns] or {}, {}, {}
  run.read[turns] = read
  for i = 1, count do
    local place = start + i - 1
    if not has or place > has.last or has.open[place] then
      wanted[#wanted + 1] = i
      if not read[ids[i]] then unread[#unread + 1] = ids[i] end
    end
  end
  readMessages(turns, unread, read)
  local common, history = run.common, {tostring(start - from + count)}
  for _, i in ipairs(wanted) do
    local one = read[ids[i]]
    if not has or one.mark ~= has.open[start + i - 1] then
      if not one.at then
        one.at = #common + 1
        common[one.at] = one.mark .. ' ' .. ids[i]
        for n = 1, 4 do common[one.at + n] = one[n] end
      end
      history[#history + 1] = start - from + i .. ' ' .. one.at
    end
  end
  return tostring(from), table.concat(history, '\n')
end
`

// CachedMessages are consecutive messages of a session's history that a caller has already read. The zero value has
// none.
type CachedMessages struct {
	epoch string
	first int // place of the first one among all messages of the session
	marks []string
}

// Drop removes a message, counted from 0, from those that the caller has.
func (k CachedMessages) Drop(i int) { k.marks[i] = noMark }

const noMark = "-"

// Same returns the index among k's messages of the i-th of other, counted from 0, if k has it unchanged; else -1.
func (k CachedMessages) Same(other CachedMessages, i int) int {
	at := other.first + i - k.first
	if k.epoch != other.epoch || at < 0 || at >= len(k.marks) || k.marks[at] != other.marks[i] {
		return -1
	}
	return at
}

// Later reports whether k reaches further than other in the same epoch.
func (k CachedMessages) Later(other CachedMessages) bool {
	return k.epoch == other.epoch && k.first+len(k.marks) > other.first+len(other.marks)
}

// text returns what readHistory reads: the epoch, a line break, the places of the first and last message, the arrival of the
// last one, and place and mark of each that is open or was dropped.
func (k CachedMessages) text() string {
	marks := k.marks
	for len(marks) > 0 && marks[len(marks)-1] == noMark {
		marks = marks[:len(marks)-1]
	}
	if len(marks) == 0 {
		return ""
	}
	last := len(marks) - 1
	arrived, _, _ := strings.Cut(marks[last], ":")
	text := append(make([]byte, 0, 160), k.epoch...)
	text = strconv.AppendInt(append(text, '\n'), int64(k.first), 10)
	text = strconv.AppendInt(append(text, ' '), int64(k.first+last), 10)
	text = append(append(text, ' '), arrived...)
	for i, mark := range marks {
		if strings.HasSuffix(mark, "?") || strings.HasSuffix(mark, "~") || mark == noMark {
			text = strconv.AppendInt(append(text, ' '), int64(k.first+i), 10)
			text = append(append(text, '='), mark...)
		}
	}
	return string(text)
}

// Conversation is the history of a session before a message, oldest first, and what the caller has once it has
// read it.
type Conversation struct {
	Messages []PastMessage
	Cached   CachedMessages
}

// PastMessage is an earlier message of a session. If the caller has it unchanged, CachedIndex is its index among the
// CachedMessages, counted from 1, and all else is empty. Else the decision is as committed, and the other fields but
// the id are JSON, possibly empty.
type PastMessage struct {
	CachedIndex                           int
	ID, Message, Decision, Results, Reply string
}

// Size returns its length in bytes.
func (p PastMessage) Size() int {
	return len(p.ID) + len(p.Message) + len(p.Decision) + len(p.Results) + len(p.Reply)
}

// readConversation reads the reply of readHistory to a caller that had cached some.
func readConversation(r reply, cached CachedMessages) (c Conversation) {
	count, places, _ := strings.Cut(r.text("history"), "\n")
	if number(count) == 0 {
		return c
	}
	c.Messages = make([]PastMessage, number(count))
	c.Cached = CachedMessages{r.text("epoch"), r.number("first"), make([]string, len(c.Messages))}
	for place := range strings.Lines(places) {
		index, at, _ := strings.Cut(strings.TrimSuffix(place, "\n"), " ")
		past := r.common[number(at)-1:]
		mark, id, _ := strings.Cut(strings.Clone(past[0]), " ") // they are kept, and must not keep the texts of the whole run
		i := number(index) - 1
		c.Messages[i], c.Cached.marks[i] = PastMessage{ID: id, Message: past[1], Decision: past[2], Results: past[3], Reply: past[4]}, mark
	}
	for i := range c.Messages {
		if c.Cached.marks[i] == "" {
			at := c.Cached.first + i - cached.first
			c.Messages[i].CachedIndex, c.Cached.marks[i] = at+1, cached.marks[at]
		}
	}
	return c
}
