package evidence

var Ungrounded = ungrounded
